"""What a purely symbolic or a purely positional head cannot do, as facts that run (paper section 4).

A symbolic head's logits depend on the contents of the two slots only, a positional one's on the two slots only. For each
there is a pair of inputs on which the function asked for differs, while what such a head makes of them does not. The pairs
are made for any layer of the kind, and run on random ones.

- **Symbolic, Index**: two letters of the target window change places, one of them the answer. The layer sums over the same
  contents with the same weights, so that nothing after it (residual, MLP, any readout) can tell the two apart.
- **Positional, Retrieval, hard attention**: the answer's integer is changed at a slot that the head does not look at. What
  leaves the layer is the same, whatever values, residual and MLP are.
- **Positional, Retrieval, softmax**: the same window is asked for one letter and for another. What the head reads from the
  window is the same. This one is about the head, not the layer: with softmax the query's own value or the residual can carry the
  letter past the head, and `positional_retriever` is a layer that does Retrieval so. The statement "no purely positional
  layer does Retrieval" needs hard attention.
"""

from __future__ import annotations

from math import inf, pi

import numpy as np
import torch
from torch import Tensor, nn

from posym.errors import InputError
from posym.tasks.base import Array
from posym.tasks.letter import LetterTask
from posym.tasks.number import NumberTask
from posym.theory.constructions import AttentionLayer, pair_letters

PLANES = 4  # RoPE planes of a random layer
WIDTH = 24  # coordinates of its embedding, the last one the constant 1
KINDS = ("symbolic", "positional")


class RandomLayer(nn.Module):
    """A random attention layer with residual and MLP whose head is purely `symbolic` or purely `positional`.

    Symbolic: random queries and keys, no RoPE (all angles 0). Positional: queries and keys of the constant coordinate
    alone, random angles. Embedding, values and MLP are random in both. `vocabulary` is the number of tokens.
    """

    def __init__(self, kind: str, vocabulary: int, beta: float, generator: torch.Generator) -> None:
        super().__init__()
        if kind not in KINDS:
            raise InputError(f"layer kind {kind!r} is unknown: write one of {', '.join(KINDS)}")

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        embedding, query, key = normal(vocabulary, WIDTH), normal(2 * PLANES, WIDTH), normal(2 * PLANES, WIDTH)
        embedding[:, -1] = 1
        angles = torch.rand(PLANES, generator=generator, dtype=torch.float64) * pi
        if kind == "symbolic":
            angles.zero_()
            # Logits of a few units, as the other kind has: a sharper head would miss most slots, whatever they hold.
            query, key = query / WIDTH**0.5, key / WIDTH**0.5
        else:
            query[:, :-1] = 0
            key[:, :-1] = 0
        self.attention = AttentionLayer(
            embedding=embedding,
            query=query,
            key=key,
            value=normal(WIDTH, WIDTH),
            unembedding=embedding,
            angles=angles,
            beta=beta,
            residual=True,
        )
        self.into, self.out = normal(WIDTH, 2 * WIDTH) / WIDTH**0.5, normal(2 * WIDTH, WIDTH) / WIDTH**0.5

    def forward(self, tokens: Tensor) -> Tensor:
        """What leaves the layer at the last slot [batch, width] for tokens [batch, slot]."""
        hidden = self.attention.hidden(tokens, last=1)[:, 0]
        return hidden + torch.tanh(hidden @ self.into) @ self.out

    def read(self, tokens: Tensor) -> Tensor:
        """What the head alone takes from the earlier slots at the last one [batch, width]."""
        return read_from_earlier(self.attention, tokens)


def read_from_earlier(layer: AttentionLayer, tokens: Tensor) -> Tensor:
    """Sum of weight times value over the slots before the last one [batch, width], for tokens [batch, slot]."""
    weights = layer.attention(tokens, last=1)[:, 0, :-1]
    values = (layer.embedding @ layer.value.T)[tokens[:, :-1]]
    return (weights[:, None] @ values)[:, 0]


def index_pair(task: NumberTask, random: np.random.Generator) -> tuple[Array, Array]:
    """Two one-hop sequences that differ in the order of two letters, one being the answer: tokens [2, slot], answers [2]."""
    if task.letters < 2:
        raise InputError("alphabets.number.letters: the pair for Index needs two letters or more")
    slot, other = random.permutation(task.target_window)[:2]
    answer, letter = random.permutation(task.letters)[:2]
    path = np.array([[task.query_slot, slot]])
    first = task.fill(random, 1, np.array([answer]), path)[0]
    first[other] = letter
    second = first.copy()
    second[[slot, other]] = first[[other, slot]]
    return np.stack([first, second]), np.array([answer, letter])


def retrieval_query_pair(task: LetterTask, random: np.random.Generator) -> tuple[Array, Array]:
    """Two one-hop sequences that differ in the query's right letter only: tokens [2, slot], answers [2].

    Both letters are the left letter of one token of the target window and of no other one.
    """
    slots = random.permutation(task.target_window)[:2]
    letters = _distinct(task, random, 3)
    tokens = _window(task, random, letters[:2])
    answers = letters[:2] * task.integers + random.integers(0, task.integers, 2)
    tokens[slots] = answers
    pair = np.stack([tokens, tokens])
    pair[:, -1] = task.first_link + letters[2] * task.letters + letters[:2]
    return pair, answers


def retrieval_target_pair(task: LetterTask, random: np.random.Generator, seen: Array) -> tuple[Array, Array]:
    """Two one-hop sequences that differ in the answer's integer only, at a slot not in `seen`: tokens [2, slot], answers [2].

    Raises `InputError` where `seen` covers the target window: a head that spreads over all of it (uniform attention) sees any
    change.
    """
    if task.integers < 2:
        raise InputError("alphabets.letter.integers: the pair for Retrieval needs two integers or more")
    free = np.setdiff1d(np.arange(task.target_window), seen)
    if not len(free):
        raise InputError("the head looks at every slot of the target window: there is no pair for it")
    letters = _distinct(task, random, 2)
    pair = np.stack([_window(task, random, letters[:1])] * 2)
    answers = letters[0] * task.integers + random.permutation(task.integers)[:2]
    pair[:, random.choice(free)] = answers
    pair[:, -1] = task.first_link + letters[1] * task.letters + letters[0]
    return pair, answers


def _distinct(task: LetterTask, random: np.random.Generator, count: int) -> Array:
    if task.letters < count:
        raise InputError(f"alphabets.letter.letters: {task.letters} should be at least {count} for Retrieval's pair")
    return random.permutation(task.letters)[:count]


def _window(task: LetterTask, random: np.random.Generator, without: Array) -> Array:
    """A random sequence in which no left letter is in `without`; its query is still to be set."""
    left = random.choice(np.setdiff1d(np.arange(task.letters), without), task.slots)
    targets = left * task.integers + random.integers(0, task.integers, task.slots)
    links = task.first_link + left * task.letters + random.integers(0, task.letters, task.slots)
    return np.where(np.arange(task.slots) < task.target_window, targets, links)


def relative_distance(outputs: Tensor) -> float:
    """Euclidean distance of two outputs [2, width] over their mean length; 0 for equal ones."""
    first, second = outputs
    scale = float(first.norm() + second.norm()) / 2
    return float((first - second).norm()) / scale if scale else 0.0


def positional_retriever(task: LetterTask, theta: float) -> AttentionLayer:
    """A layer with softmax and a purely positional head that does one hop of Retrieval: what the paper's statement leaves out.

    Every query and key is the same vector, so the logit is cos((n - j) theta), whatever the tokens are. The embedding and value
    are one-hot, with residual, so that the sum counts the tokens present, the query's own once more. The unembedding gives a token its own
    count and a large multiple of the counts of all pairs whose right letter is its left one: the query's extra count lifts
    its letter above the others, and among those tokens the one that is present leads.
    """
    left, right = pair_letters(task)
    identity = torch.eye(len(left), dtype=torch.float64)
    same = torch.zeros(2, len(left), dtype=torch.float64)
    same[0] = 1
    # The query counts 1 + w against at most 1 - w for all others together, w > exp(-2) / slots being its own weight.
    lift = 4 * task.slots * np.exp(2.0)
    return AttentionLayer(
        embedding=identity,
        query=same,
        key=same,
        value=identity,
        unembedding=identity + lift * (left[:, None] == right[None, :]),
        angles=torch.tensor([theta], dtype=torch.float64),
        beta=1.0,
        residual=True,
    )


@torch.inference_mode()
def impossibility_rows(number: NumberTask, letter: LetterTask, trials: int, seed: int) -> list[dict[str, object]]:
    """impossibility.parquet: `output_distance` of each random layer on the pair made for it.

    `impossible` marks the layers that cannot tell the pair apart; the others are the same pairs given to layers of the
    right kind, which can. `attention` is `hard` or `softmax`; `compared` is `layer` (all that leaves it) or `head` (what it reads from
    the earlier slots).
    """
    rows: list[dict[str, object]] = []

    def add(kind: str, function: str, attention: str, compared: str, trial: int, outputs: Tensor) -> None:
        rows.append(
            {
                "layer_kind": kind,
                "function": function,
                "trial": trial,
                "output_distance": relative_distance(outputs),
                "attention": attention,
                "compared": compared,
                "impossible": (kind, function) in {("symbolic", "index"), ("positional", "retrieval")},
            }
        )

    for trial in range(trials):
        random = np.random.default_rng([seed, trial])
        generator = torch.Generator().manual_seed(int(random.integers(2**62)))
        swapped = torch.from_numpy(index_pair(number, random)[0])
        asked = torch.from_numpy(retrieval_query_pair(letter, random)[0])
        beta = float(random.uniform(0.1, 3))
        for kind in KINDS:
            layer = RandomLayer(kind, len(number.vocabulary.tokens), beta, generator)
            add(kind, "index", "softmax", "layer", trial, layer(swapped))
            layer = RandomLayer(kind, len(letter.vocabulary.tokens), beta, generator)
            add(kind, "retrieval", "softmax", "head", trial, layer.read(asked))
        hard = RandomLayer("positional", len(letter.vocabulary.tokens), inf, generator)
        seen = hard.attention.attention(asked[:1], last=1)[0, 0].nonzero()[:, 0].numpy()
        changed = torch.from_numpy(retrieval_target_pair(letter, random, seen)[0])
        add("positional", "retrieval", "hard", "layer", trial, hard(changed))
    return rows
