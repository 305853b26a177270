"""Letter task (symbolic): go to the earlier pair whose left letter is this pair's right letter, until a pair ends in an integer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posym.errors import InputError
from posym.tasks.base import Array, Sequences, Solution, Task, Vocabulary, letter_names


class LetterTask(Task):
    """Every token is one pair: (letter, integer) in the target window, (letter, letter) elsewhere (paper section 2, "Letter").

    Ids: (letter, integer) pairs by letter, then (letter, letter) pairs by left letter.
    """

    name = "letter"
    alphabet = ("letters", "integers")

    def __init__(self, *, target_window: int, pre_target_window: int, hops: int, letters: int, integers: int) -> None:
        super().__init__(target_window=target_window, pre_target_window=pre_target_window, hops=hops)
        if letters <= hops:
            raise InputError(
                f"alphabets.letter.letters: {letters} is too few for sequences.hops: {hops}: write at least {hops + 1}"
            )
        if letters > 26:
            raise InputError(
                f"alphabets.letter.letters: {letters} is too many: pairs are written with single letters, write 26 or fewer"
            )
        self.letters = letters
        self.integers = integers
        names = letter_names(letters)
        ends = [str(k) for k in range(1, integers + 1)]
        pairs = tuple(left + end for left in names for end in ends) + tuple(
            left + right for left in names for right in names
        )
        self.first_link = letters * integers
        self.vocabulary = Vocabulary(pairs, {"pairs": range(len(pairs)), "targets": range(self.first_link)})
        self.answers = np.arange(self.first_link)

    def _target(self, left: Array, integer: Array) -> Array:
        return left * self.integers + integer

    def _link(self, left: Array, right: Array) -> Array:
        return self.first_link + left * self.letters + right

    def fill(self, random: np.random.Generator, hops: int, answer: Array, path: Array) -> Array:
        """See `Task.fill`. Letters off the chain are uniform over those that are not on it, integers uniform over all."""
        count, rows = len(answer), np.arange(len(answer))
        last = answer // self.integers
        keys = random.random((count, self.letters))
        keys[rows, last] = 2.0  # the answer's letter ends the order
        order = keys.argsort(axis=1, kind="stable")
        chain = np.concatenate([order[:, : hops - 1], last[:, None]], axis=1)
        others = order[:, hops - 1 : self.letters - 1]

        def off_chain(width: int) -> Array:
            return np.take_along_axis(others, random.integers(0, others.shape[1], (count, width)), axis=1)

        integers = random.integers(0, self.integers, (count, self.target_window))
        targets = self._target(off_chain(self.target_window), integers)
        after = self.pre_target_window + 1
        tokens = np.concatenate([targets, self._link(off_chain(after), off_chain(after))], axis=1)
        left = off_chain(1)[:, 0]  # the query's own left letter is off the chain
        for hop in range(hops):
            tokens[rows, path[:, hop]] = self._link(left, chain[:, hop])
            left = chain[:, hop]
        tokens[rows, path[:, hops]] = answer
        return tokens

    def solve(self, tokens: Array | list[int]) -> Solution:
        """See `Task.solve`."""
        pairs = [self._split(int(token)) for token in tokens]
        slot = len(pairs) - 1
        path = [slot]
        while pairs[slot][2]:
            matches = [earlier for earlier in range(slot) if pairs[earlier][0] == pairs[slot][1]]
            if len(matches) != 1:
                raise InputError(
                    f"{len(matches)} pairs answer {self.vocabulary.tokens[tokens[slot]]} at slot {slot}, need exactly one:"
                    f" {self.vocabulary.decode(list(tokens))}"
                )
            slot = matches[0]
            path.append(slot)
        return Solution(int(tokens[slot]), slot, len(path) - 1, tuple(path))

    def _split(self, token: int) -> tuple[int, int, bool]:
        """Left, right, and whether right is a letter."""
        if token < self.first_link:
            return *divmod(token, self.integers), False
        return *divmod(token - self.first_link, self.letters), True

    def fillers(self, sequences: Sequences) -> NDArray[np.bool_]:
        """See `Task.fillers`: (letter, integer) pairs whose letter is not on the chain."""
        on_chain = np.zeros((len(sequences), self.letters), dtype=bool)
        for hop in range(1, self.hops + 1):
            rows = np.flatnonzero(sequences.hops >= hop)
            token = sequences.tokens[rows, sequences.path[rows, hop]]
            link = token >= self.first_link
            left = np.where(link, (token - self.first_link) // self.letters, token // self.integers)
            on_chain[rows, left] = True
        allowed = np.zeros((len(sequences), len(self.vocabulary.tokens)), dtype=bool)
        allowed[:, : self.first_link] = np.repeat(~on_chain, self.integers, axis=1)
        return allowed


TASK = LetterTask
