"""Number task (positional): an integer k says "go back k slots"; the letter where that ends is the answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posym.errors import InputError
from posym.tasks.base import NO_SLOT, Array, Sequences, Solution, Task, Vocabulary, letter_names


class NumberTask(Task):
    """Slots of the target window hold letters, all others integers (paper section 2, "Number").

    Ids: the letters, then the integers 1 .. slots - 1.
    """

    name = "number"
    alphabet = ("letters",)

    def __init__(self, *, target_window: int, pre_target_window: int, hops: int, letters: int) -> None:
        super().__init__(target_window=target_window, pre_target_window=pre_target_window, hops=hops)
        self.letters = letters
        names = letter_names(letters) + tuple(str(k) for k in range(1, self.slots))
        self.vocabulary = Vocabulary(names, {"letters": range(letters), "integers": range(letters, len(names))})
        self.answers = np.arange(letters)

    def _integer(self, value: Array) -> Array:
        return self.letters - 1 + value

    def fill(self, random: np.random.Generator, hops: int, answer: Array, path: Array) -> Array:
        """See `Task.fill`. Off the chain: letters uniform, the integer at slot p uniform in 1 .. p."""
        rows = np.arange(len(answer))
        letters = random.integers(0, self.letters, (len(answer), self.target_window))
        slots = np.arange(self.target_window, self.slots)
        integers = random.integers(1, slots + 1, (len(answer), len(slots)))
        tokens = np.concatenate([letters, self._integer(integers)], axis=1)
        for hop in range(hops):
            tokens[rows, path[:, hop]] = self._integer(path[:, hop] - path[:, hop + 1])
        tokens[rows, path[:, hops]] = answer
        return tokens

    def solve(self, tokens: Array | list[int]) -> Solution:
        """See `Task.solve`."""
        slot = len(tokens) - 1
        path = [slot]
        while tokens[slot] >= self.letters:
            slot -= int(tokens[slot]) - (self.letters - 1)
            if slot < 0:
                raise InputError(f"the chain leaves the sequence: {self.vocabulary.decode(list(tokens))}")
            path.append(slot)
        return Solution(int(tokens[slot]), slot, len(path) - 1, tuple(path))

    def named_slots(self, tokens: Array) -> dict[str, Array]:
        """See `Task.named_slots`. Index: an integer i names the slot i before it, letter or not; a letter names none."""
        slot = np.arange(tokens.shape[1]) - (tokens - (self.letters - 1))
        index = np.where((tokens >= self.letters) & (slot >= 0), slot, NO_SLOT)
        return super().named_slots(tokens) | {"index": index}

    def fillers(self, sequences: Sequences) -> NDArray[np.bool_]:
        """See `Task.fillers`: any letter."""
        allowed = np.zeros((len(sequences), len(self.vocabulary.tokens)), dtype=bool)
        allowed[:, : self.letters] = True
        return allowed


TASK = NumberTask
