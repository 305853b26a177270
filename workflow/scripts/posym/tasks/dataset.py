"""Splits and long inputs of a task, as arrays: who gets which sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posym.errors import InputError
from posym.tasks.base import Array, Sequences, Task


def split_sequences(task: Task, sizes: dict[str, int], seed: int) -> dict[str, Sequences]:
    """Disjoint splits of `sizes` rows; every split has each hop class in an equal share (paper section 2).

    All sequences differ, so none stands in two splits. Cells are balanced over the whole set. Same arguments, same rows,
    on any machine. Raises `InputError` where a size is no multiple of the number of hop classes.
    """
    for name, size in sizes.items():
        if size % task.hops:
            raise InputError(
                f"datasets.{name}: {size} is no multiple of hops: {task.hops}, so the classes cannot be equal"
            )
    random = np.random.default_rng([seed, 0])
    everything = task.sample(random, sum(sizes.values()))
    by_class = [np.flatnonzero(everything.hops == hops) for hops in range(1, task.hops + 1)]
    splits, start = {}, 0
    for name, size in sizes.items():
        stop = start + size // task.hops
        rows = np.concatenate([rows[start:stop] for rows in by_class])
        splits[name] = everything[random.permutation(rows)]
        start = stop
    return splits


@dataclass(frozen=True)
class LongInputs:
    """Cores and the prefix each belongs to; `Task.extend` turns them into sequences of any length."""

    cores: Sequences
    prefix: Array


def long_input_cores(task: Task, test: Sequences, *, items: int, prefixes: int, seed: int) -> LongInputs:
    """Choose `items` test sequences, hops in equal shares, in `prefixes` groups that can share their extra tokens.

    A group has one hop class and one set of tokens that may be prepended (for the letter task: one set of chain letters),
    chosen as often as a random test sequence has it, so that sharing does not change what a single item looks like. Answer
    slots come in turn.
    The same cores serve every length: a curve over lengths compares an item with itself.
    """
    if items % prefixes or prefixes % task.hops:
        raise InputError(
            f"extrapolation.items: {items} must be a multiple of extrapolation.prefixes: {prefixes}, and that of hops: {task.hops}"
        )
    size = items // prefixes
    random = np.random.default_rng([seed, 1])
    _, kind = np.unique(np.packbits(task.fillers(test), axis=1), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    chosen = []
    for hops in range(1, task.hops + 1):
        order = _slots_in_turn(test, random.permutation(np.flatnonzero(test.hops == hops)))
        waiting: dict[int, list[int]] = {}
        groups: list[list[int]] = []
        for row in order:  # a group is complete as soon as `size` rows of its kind have come by
            group = waiting.setdefault(int(kind[row]), [])
            group.append(int(row))
            if len(group) == size:
                groups.append(waiting.pop(int(kind[row])))
                if len(groups) == prefixes // task.hops:
                    break
        else:
            raise InputError(
                f"task {task.name}: the test split has too few sequences of {hops} hops for {prefixes} prefixes of {size} items:"
                " raise datasets.test, or extrapolation.prefixes, or lower extrapolation.items"
            )
        chosen += groups
    rows = np.array(chosen).reshape(-1)
    return LongInputs(test[rows], np.repeat(np.arange(prefixes), size))


def balanced_slice(sequences: Sequences, items: int) -> Sequences:
    """`items` sequences, hop classes in equal shares and answer slots in turn, in their order: the same for every checkpoint."""
    classes = np.unique(sequences.hops)
    share, rest = divmod(items, len(classes))
    if rest:
        raise InputError(f"scores.items: {items} is no multiple of the {len(classes)} hop classes")
    rows = [_slots_in_turn(sequences, np.flatnonzero(sequences.hops == hops))[:share] for hops in classes]
    if min(len(part) for part in rows) < share:
        raise InputError(f"scores.items: {items} is more than the test split has: raise datasets.test or lower it")
    return sequences[np.sort(np.concatenate(rows))]


def _slots_in_turn(sequences: Sequences, rows: Array) -> Array:
    """The same rows, reordered so that each answer slot comes as often as every other in any first part of them.

    A small sample drawn blindly can hold one slot twice as often as another, and slots differ in difficulty: for the number
    task the farthest one is only ever the first token in training.
    """
    turn = np.empty(len(rows), dtype=np.int64)
    for slot in np.unique(sequences.answer_slot[rows]):
        holding = sequences.answer_slot[rows] == slot
        turn[holding] = np.arange(holding.sum())
    return rows[np.argsort(turn, kind="stable")]
