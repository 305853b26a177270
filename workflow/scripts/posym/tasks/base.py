"""What every task is: a vocabulary, a generator of balanced sequences, an independent solver, and longer inputs.

A third task is one new file beside `number.py` that subclasses `Task`, and its name in `tasks/__init__.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from posym.errors import InputError

Array = NDArray[np.int64]
NO_SLOT = -1  # pads the paths of sequences with fewer hops


@dataclass(frozen=True)
class Vocabulary:
    """Token strings, a token's id being its place, and the ids of each kind of token (`letters`, `integers`, `pairs`)."""

    tokens: tuple[str, ...]
    kinds: dict[str, range]

    def encode(self, text: str) -> list[int]:
        """Ids of space-separated tokens; an unknown token raises `InputError`."""
        ids = {token: number for number, token in enumerate(self.tokens)}
        unknown = [token for token in text.split() if token not in ids]
        if unknown:
            raise InputError(
                f"{unknown[0]!r} is not a token of this task: its tokens are {self.tokens[0]} to {self.tokens[-1]}"
            )
        return [ids[token] for token in text.split()]

    def decode(self, ids: Array | list[int]) -> str:
        """Space-separated tokens of ids."""
        return " ".join(self.tokens[number] for number in ids)


@dataclass(frozen=True)
class Sequences:
    """Sequences of one task; row r of every array is one sequence.

    tokens [row, slot] ids; answer [row] id; hops [row]; answer_slot [row]; path [row, hops + 1] slots from the query to
    the answer, both included, padded with `NO_SLOT`.
    """

    tokens: Array
    answer: Array
    hops: Array
    answer_slot: Array
    path: Array

    def __len__(self) -> int:
        return len(self.answer)

    def __getitem__(self, rows: Array | slice) -> Sequences:
        return Sequences(self.tokens[rows], self.answer[rows], self.hops[rows], self.answer_slot[rows], self.path[rows])

    @staticmethod
    def concatenated(parts: list[Sequences]) -> Sequences:
        """The parts one after the other."""
        names = ("tokens", "answer", "hops", "answer_slot", "path")
        return Sequences(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Solution:
    """What walking a sequence finds: the answer's id, its slot, the number of hops and the slots passed."""

    answer: int
    answer_slot: int
    hops: int
    path: tuple[int, ...]


class Task(ABC):
    """One multi-hop task. Slots: the target window, then the pre-target window, then the query (paper section 2)."""

    name: ClassVar[str]
    alphabet: ClassVar[tuple[str, ...]]  # its own settings, as the configuration names them under `alphabets`
    vocabulary: Vocabulary
    answers: Array  # the ids that an answer is drawn from, all equally often

    def __init__(self, *, target_window: int, pre_target_window: int, hops: int) -> None:
        if hops > pre_target_window + 1:
            raise InputError(
                f"sequences.hops: {hops} is too many for sequences.pre_target_window: {pre_target_window}:"
                " a chain of h hops needs h - 1 slots there"
            )
        self.target_window = target_window
        self.pre_target_window = pre_target_window
        self.hops = hops

    @property
    def slots(self) -> int:
        """Length of a sequence of the training distribution."""
        return self.target_window + self.pre_target_window + 1

    @property
    def query_slot(self) -> int:
        """Slot of the query, the last one."""
        return self.slots - 1

    @abstractmethod
    def fill(self, random: np.random.Generator, hops: int, answer: Array, path: Array) -> Array:
        """Tokens [row, slot] of sequences whose `hops`-hop chain runs along `path` [row, hops + 1] to `answer` [row]."""

    @abstractmethod
    def solve(self, tokens: Array | list[int]) -> Solution:
        """Walk one sequence of any length from its last token; a sequence without a unique answer raises `InputError`."""

    @abstractmethod
    def fillers(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Which tokens may be prepended to each sequence without touching its chain: boolean [row, vocabulary]."""

    def named_slots(self, tokens: Array) -> dict[str, Array]:
        """Slot [row, slot] that each function of paper section 4 names at every slot of tokens [row, slot].

        `NO_SLOT` where it names none. Reflexive, the slot itself, is defined for every task; a task adds its own function.
        """
        return {"reflexive": np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)}

    def paths(self, random: np.random.Generator, hops: int, answer_slot: Array) -> Array:
        """Chains [row, hops + 1]: the query, hops - 1 distinct slots of the pre-target window going left, the answer."""
        keys = random.random((len(answer_slot), self.pre_target_window))
        between = self.target_window + keys.argsort(axis=1, kind="stable")[:, : hops - 1]
        query = np.full((len(answer_slot), 1), self.query_slot)
        return np.concatenate([query, -np.sort(-between, axis=1), answer_slot[:, None]], axis=1)

    def sample(self, random: np.random.Generator, count: int) -> Sequences:
        """`count` different sequences: hops in equal shares, each (answer, slot) cell of a hop class within one of equal.

        Rows are in random order. Raises `InputError` where `count` is no multiple of the number of hop classes or the
        alphabet is too small for that many different sequences.
        """
        if count % self.hops:
            raise InputError(f"{count} sequences cannot be shared equally by {self.hops} hop classes: use a multiple")
        classes = [self._sample_class(random, hops, count // self.hops) for hops in range(1, self.hops + 1)]
        return Sequences.concatenated(classes)[random.permutation(count)]

    def _sample_class(self, random: np.random.Generator, hops: int, count: int) -> Sequences:
        cells = len(self.answers) * self.target_window
        repeated = np.concatenate(
            [np.tile(np.arange(cells), count // cells), random.permutation(cells)[: count % cells]]
        )
        answer, answer_slot = self.answers[repeated // self.target_window], repeated % self.target_window
        path = self.paths(random, hops, answer_slot)
        tokens = self.fill(random, hops, answer, path)
        for _ in range(100):
            again = _repeats(tokens)
            if not again.size:
                break
            path[again] = self.paths(random, hops, answer_slot[again])
            tokens[again] = self.fill(random, hops, answer[again], path[again])
        else:
            raise InputError(
                f"task {self.name}: fewer than {count} different sequences of {hops} hops: lower the split sizes or enlarge the alphabet"
            )
        padded = np.full((count, self.hops + 1), NO_SLOT)
        padded[:, : hops + 1] = path
        return Sequences(tokens, answer, np.full(count, hops), answer_slot, padded)

    def extend(
        self,
        random: np.random.Generator,
        sequences: Sequences,
        extra: int,
        prefix: Array,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Array:
        """Prepend `extra` target-type tokens: tokens [row, extra + slot], the core untouched at the end (paper section 5).

        Rows with the same number in `prefix` [row] get the same extra tokens, drawn from what all of them allow: `allowed`
        [row, vocabulary], or `fillers` where it is not given. Generators in the same state give a shorter prefix that is
        the beginning of a longer one.
        """
        groups, row_group = np.unique(prefix, return_inverse=True)
        by_row = self.fillers(sequences) if allowed is None else allowed
        by_group = np.ones((len(groups), len(self.vocabulary.tokens)), dtype=bool)
        np.logical_and.at(by_group, row_group, by_row)
        if not by_group.any(axis=1).all():
            raise InputError(f"task {self.name}: sequences that share a prefix leave no token free for it")
        drawn = random.random(
            (extra, len(groups))
        ).T  # token by token, so that fewer extra tokens are the first of more
        choice = (drawn * by_group.sum(axis=1, keepdims=True)).astype(np.int64)
        ranked = np.argsort(~by_group, axis=1, kind="stable")  # the allowed ids first, in order
        extra_tokens = np.take_along_axis(ranked, choice, axis=1)
        return np.concatenate([extra_tokens[row_group], sequences.tokens], axis=1)


def _repeats(tokens: Array) -> Array:
    """Rows that stand earlier in `tokens` already."""
    rows = np.ascontiguousarray(tokens.astype(np.uint16))
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    _, first = np.unique(keys, return_index=True)
    seen = np.zeros(len(tokens), dtype=bool)
    seen[first] = True
    return np.flatnonzero(~seen)


def letter_names(count: int) -> tuple[str, ...]:
    """a..z, then aa, ab, ..: as spreadsheets name columns, in lower case."""
    names = []
    for number in range(1, count + 1):
        name = ""
        while number:
            number, digit = divmod(number - 1, 26)
            name = chr(ord("a") + digit) + name
        names.append(name)
    return tuple(names)
