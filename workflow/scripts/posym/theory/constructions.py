"""T_Index and T_Retrieval: one attention head with explicit matrices and one RoPE plane that does one hop (paper section 4).

Conventions: slots count from 0; the logit from slot n to slot j <= n is the dot product of the query rotated by n theta and the
key rotated by j theta, so it depends on n - j; angles are in radians. Everything is float64, because the gaps that decide
shrink like 1 / length^2. Several hops are several layers; between two layers every slot's output is read as a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, pi
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posym.errors import InputError
from posym.tasks.base import Array, Sequences, Task
from posym.tasks.letter import LetterTask
from posym.tasks.number import NumberTask

TIE = 1e-10  # numbers nearer than this are equal: cosines of equal angles differ by rounding, other gaps here are above 1e-8
BATCH_ENTRIES = 2_000_000  # attention entries computed at once: 16 MB


class AttentionLayer(nn.Module):
    """One causal attention head on tokens with RoPE, without LayerNorm or MLP.

    embedding [token, width]; query and key [2 * planes, width], two rows a RoPE plane; value [width, width];
    unembedding [token, width]; angles [plane], radians a slot. `beta` is the inverse temperature of the softmax; infinite
    is hard attention, shared equally by tied slots. `residual` adds the embedding to what the head reads.
    """

    embedding: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    unembedding: Tensor
    angles: Tensor

    def __init__(
        self,
        *,
        embedding: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        unembedding: Tensor,
        angles: Tensor,
        beta: float,
        residual: bool,
    ) -> None:
        super().__init__()
        if not beta > 0:
            raise InputError(f"beta: {beta} should be above 0")
        for name, matrix in (("embedding", embedding), ("query", query), ("key", key), ("value", value)):
            self.register_buffer(name, matrix.double())
        self.register_buffer("unembedding", unembedding.double())
        self.register_buffer("angles", angles.double())
        self.beta = beta
        self.residual = residual

    def logits(self, tokens: Tensor, last: int | None = None) -> Tensor:
        """Attention logits [batch, query, slot] of tokens [batch, slot], before `beta`; -inf where the slot is later.

        Queries are the `last` slots, all of them by default.
        """
        slots = tokens.shape[1]
        first = 0 if last is None else slots - last
        position = torch.arange(slots, dtype=torch.float64)
        # A lookup in the projected embedding is the projection of the embedded tokens.
        query = _turned((self.embedding @ self.query.T)[tokens[:, first:]], position[first:], self.angles)
        key = _turned((self.embedding @ self.key.T)[tokens], position, self.angles)
        later = position[None, :] > position[first:, None]
        return (query @ key.transpose(1, 2)).masked_fill(later, -inf)

    def attention(self, tokens: Tensor, last: int | None = None) -> Tensor:
        """Attention weights [batch, query, slot]; each row sums to 1."""
        logits = self.logits(tokens, last)
        largest = logits.amax(-1, keepdim=True)
        if self.beta == inf:
            chosen = (logits >= largest - TIE).double()
            return chosen / chosen.sum(-1, keepdim=True)
        return torch.softmax(self.beta * (logits - largest), dim=-1)

    def hidden(self, tokens: Tensor, last: int | None = None) -> Tensor:
        """What leaves the layer [batch, query, width]."""
        read = self.attention(tokens, last) @ (self.embedding @ self.value.T)[tokens]
        if not self.residual:
            return read
        return read + self.embedding[tokens if last is None else tokens[:, -last:]]

    def forward(self, tokens: Tensor, last: int | None = None) -> Tensor:
        """A score for every token [batch, query, token]."""
        return self.hidden(tokens, last) @ self.unembedding.T


class HopStack(nn.Module):
    """As many layers as hops. A slot's output is read as the best token, ties as the lowest id, and embedded again."""

    def __init__(self, layers: list[AttentionLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores [batch, token] that the last layer gives at the last slot of tokens [batch, slot]."""
        *before, final = self.layers
        for layer in before:
            scores = layer(tokens)
            tokens = (scores >= scores.amax(-1, keepdim=True) - TIE).to(torch.uint8).argmax(-1)
        return final(tokens, last=1)[:, 0]


def _turned(vectors: Tensor, position: Tensor, angles: Tensor) -> Tensor:
    """RoPE: pair p of the coordinates of vectors [batch, slot, 2 * planes] turned by position [slot] times angles[p]."""
    phase = position[:, None] * angles
    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    cosine, sine = phase.cos(), phase.sin()
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)


def _unit(angle: Tensor) -> Tensor:
    """Unit vectors [2, n] at angles [n]."""
    return torch.stack([angle.cos(), angle.sin()])


def index_layer(task: NumberTask, theta: float, beta: float = inf) -> AttentionLayer:
    """T_Index: an integer s outputs the token s slots back if that is a letter, else itself; a letter outputs itself.

    Embedding: one-hot and a constant 1. Every key is v = (1, 0); a letter's query is v, integer s has rot(-s theta) v: the
    number turns back what RoPE adds on the way to the right slot. Logit cos((n - j) theta) for a letter, cos((n - j - s)
    theta) for an integer. The value is 2 on letters (so that a letter read beats the integer kept) and 0 on integers.
    Correct at every length n with t theta no multiple of 2 pi for 0 < |t| < n.
    """
    tokens = len(task.vocabulary.tokens)
    letters, integers = task.vocabulary.kinds["letters"], task.vocabulary.kinds["integers"]
    offset = torch.zeros(tokens, dtype=torch.float64)
    offset[integers.start : integers.stop] = torch.arange(1, len(integers) + 1, dtype=torch.float64)
    constant = torch.ones(tokens, 1, dtype=torch.float64)
    key = torch.zeros(2, tokens + 1, dtype=torch.float64)
    key[0, -1] = 1
    value = torch.zeros(tokens + 1, tokens + 1, dtype=torch.float64)
    value.diagonal()[letters.start : letters.stop] = 2
    return AttentionLayer(
        embedding=torch.cat([torch.eye(tokens, dtype=torch.float64), constant], 1),
        query=torch.cat([_unit(-offset * theta), torch.zeros(2, 1, dtype=torch.float64)], 1),
        key=key,
        value=value,
        unembedding=torch.eye(tokens, tokens + 1, dtype=torch.float64),
        angles=torch.tensor([theta], dtype=torch.float64),
        beta=beta,
        residual=True,
    )


def pair_letters(task: LetterTask) -> tuple[Tensor, Tensor]:
    """Left letter of every token, and its right letter or -1 where an integer stands there; both [token], from 0."""
    targets = torch.arange(task.letters * task.integers)
    links = torch.arange(task.letters * task.letters)
    left = torch.cat([targets // task.integers, links // task.letters])
    return left, torch.cat([torch.full_like(targets, -1), links % task.letters])


def retrieval_layer(task: LetterTask, theta: float, beta: float = inf) -> AttentionLayer:
    """T_Retrieval: a (letter, letter) token outputs the token whose left letter is its right one; others output themselves.

    Embedding one-hot, omega = 2 pi / letters, letters numbered from 0 by phi. Keys rot(-phi(left) omega) v; queries rot(-phi(right) omega)
    v, with the left letter where the right one is no letter. Logit cos((phi(left_j) - phi(right_n)) omega + (n - j) theta).
    Value identity, no residual. Correct at every length n <= n0 if 0 <= theta < omega / (2 n0): see `retrieval_reach`.
    """
    left, right = pair_letters(task)
    omega = 2 * pi / task.letters
    identity = torch.eye(len(left), dtype=torch.float64)
    wanted = torch.where(right >= 0, right, left)
    return AttentionLayer(
        embedding=identity,
        query=_unit(-wanted.double() * omega),
        key=_unit(-left.double() * omega),
        value=identity,
        unembedding=identity,
        angles=torch.tensor([theta], dtype=torch.float64),
        beta=beta,
        residual=False,
    )


def construction(task: Task, theta: float, beta: float = inf) -> AttentionLayer:
    """The layer that does one hop of a task; a task without one raises `InputError`."""
    if isinstance(task, NumberTask):
        return index_layer(task, theta, beta)
    if isinstance(task, LetterTask):
        return retrieval_layer(task, theta, beta)
    raise InputError(f"task {task.name} has no construction")


def sufficient_beta(length: int, gap: float) -> float:
    """Inverse temperature above which softmax puts more than half of its mass on a slot that leads the others by `gap`.

    More than half is enough for both constructions. `gap` is D_min of `posym.theory.discrepancy`; 0 or less gives infinity.
    """
    return log(length - 1) / gap if gap > 0 else inf


@torch.inference_mode()
def right_answers(task: Task, sequences: Sequences, tokens: Array, theta: float, beta: float) -> Array:
    """1 where h layers of the construction give an h-hop sequence's answer ahead of every other token, else 0; [row].

    tokens [row, slot] are the sequences themselves or the longer ones that `Task.extend` made of them.
    """
    correct = np.zeros(len(sequences), dtype=np.int64)
    at_once = max(1, BATCH_ENTRIES // tokens.shape[1] ** 2)
    for hops in np.unique(sequences.hops):
        stack = HopStack([construction(task, theta, beta) for _ in range(hops)])
        rows = np.flatnonzero(sequences.hops == hops)
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            scores = stack(torch.from_numpy(tokens[some]))
            answer = torch.from_numpy(sequences.answer[some])[:, None]
            own = scores.gather(1, answer)[:, 0]
            best_other = scores.scatter(1, answer, -inf).amax(-1)
            correct[some] = (own > best_other + TIE).numpy()
    return correct


@dataclass(frozen=True)
class Case:
    """One construction on one set of sequences of one length: tokens [row, slot] are `sequences` with extra tokens in front."""

    task: NumberTask | LetterTask
    sequences: Sequences
    tokens: Array
    theta: float
    beta: float

    @property
    def work(self) -> int:
        """Attention entries to compute, about."""
        return int(self.tokens.shape[1] ** 2 * self.sequences.hops.sum())


def construction_cases(task: NumberTask | LetterTask, settings: dict[str, Any], seed: int) -> list[Case]:
    """Every theta, beta and length of `settings` (configuration `theory.construction`) for one task; hard attention first.

    All cases have the same sequences, and each length the same extra tokens.
    """
    random = np.random.default_rng([seed, task.letters])
    sequences = task.sample(random, settings["items"])
    own = np.arange(len(sequences))  # every sequence has its own extra tokens
    lengths = [task.extend(random, sequences, extra, own) for extra in sorted(settings["extra"])]
    thetas = settings["index_thetas" if isinstance(task, NumberTask) else "retrieval_thetas"]
    return [
        Case(task, sequences, tokens, theta, beta)
        for theta in thetas
        for beta in (inf, *settings["betas"])
        for tokens in lengths
    ]


def construction_rows(case: Case) -> list[dict[str, object]]:
    """Rows of construction.parquet for one case: every hop class, and 0 for all items."""
    task, hops = case.task, case.sequences.hops
    correct = right_answers(task, case.sequences, case.tokens, case.theta, case.beta)
    rows: list[dict[str, object]] = []
    for wanted in (0, *np.unique(hops)):
        chosen = (hops == wanted) | (wanted == 0)
        rows.append(
            {
                "construction": "index" if isinstance(task, NumberTask) else "retrieval",
                "theta": float(case.theta),
                "alphabet": task.letters,
                "beta": float(case.beta),
                "length": case.tokens.shape[1],
                "hops": int(wanted),
                "accuracy": float(correct[chosen].mean()),
                "items": int(chosen.sum()),
            }
        )
    return rows
