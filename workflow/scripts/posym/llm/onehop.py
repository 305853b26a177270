"""One-hop versions of the two games as prompts for language models (paper section 1, its Table 3).

A window of target tokens is followed by one query. Number: letters, then an integer k that says "k places to the left".
Letter: letter-digit pairs, then two letters of which the second names the pair that starts with it. The answer is the one
token of the window that the query points to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from posym.contracts.llm import ONEHOP
from posym.errors import InputError
from posym.files import read_json, write_json
from posym.tables import read_table, write_table

DIGITS = "123456789"
ALL_BANDS = 0  # in tables: the whole window
TASK_NUMBERS = {"number": 0, "letter": 1}

INSTRUCTIONS = {
    "number": """You are given tokens separated by spaces. All but the last are letters; the last is a whole number n.
Follow these steps:
1. Start at the number, which is the last token.
2. Count n tokens to the left. Counting 1 to the left means the token directly before the number.
3. The token you arrive at is the answer.
Reply with that one token and nothing else: no explanation, no quotes, no punctuation.""",
    "letter": """You are given tokens separated by spaces. All but the last are a letter followed by a digit; the last is two letters.
Follow these steps:
1. Take the second letter of the last token.
2. Look for the token that is made of this letter and a digit. There is exactly one.
3. That whole token, letter and digit, is the answer.
Reply with that one token and nothing else: no explanation, no quotes, no punctuation.""",
}
EXAMPLES = {
    "number": (("k r d d w p j b 3", "p"), ("f m q a s f t h 8", "f"), ("z c g y e x n v 1", "v")),
    "letter": (
        ("k7 r2 d4 d9 w1 p5 j8 b3 ap", "p5"),
        ("f6 m1 q3 a2 s8 a9 t4 h7 cf", "f6"),
        ("z5 c8 g2 g7 e9 x1 n3 v6 gv", "v6"),
    ),
}


@dataclass(frozen=True)
class Item:
    """One prompt: `window` holds the target tokens and, last, the query; `slot_band` counts from 1, at the window's start.

    `answer_slot` counts from 0; `offset` is the distance from the query to the answer, 1 for the token before it.
    """

    run: int
    length: int
    slot_band: int
    window: str
    answer: str
    answer_slot: int

    @property
    def offset(self) -> int:
        """Places from the query back to the answer."""
        return self.length - self.answer_slot


def instructions(task: str) -> str:
    """What stands before the input in every prompt of a task: steps, then worked examples."""
    examples = "\n\n".join(f'Input: "{window}"\nOutput: {answer}' for window, answer in EXAMPLES[task])
    return f"{INSTRUCTIONS[task]}\n\n{examples}\n\n"


def prompt(task: str, window: str) -> str:
    """The whole prompt for one window (target tokens and query, separated by spaces)."""
    return f'{instructions(task)}Input: "{window}"\nOutput:'


def solve(task: str, window: str) -> tuple[str, int]:
    """Answer and its slot, found by walking; a window without exactly one answer raises `InputError`."""
    *targets, query = window.split()
    slots = (
        [len(targets) - int(query)]
        if task == "number"
        else [s for s, pair in enumerate(targets) if pair[0] == query[1]]
    )
    if len(slots) != 1 or not 0 <= slots[0] < len(targets):
        raise InputError(f"{window!r} has no single answer in the {task} game")
    return targets[slots[0]], slots[0]


def slot_bands(slots: NDArray[np.int64], length: int, bands: int) -> NDArray[np.int64]:
    """Band 1 .. `bands` of each slot: equal shares of the window, the first at its start."""
    return slots * bands // length + 1


def balanced_slots(random: np.random.Generator, length: int, items: int) -> NDArray[np.int64]:
    """Answer slots [item] in random order: each slot equally often, within one.

    What does not divide is spread evenly over the window from a random start, so that bands are balanced as well.
    """
    rest = items % length
    spread = ((np.arange(rest) + random.random()) * length / max(rest, 1)).astype(np.int64)
    slots = np.concatenate([np.tile(np.arange(length), items // length), np.minimum(spread, length - 1)])
    return random.permutation(slots)


def make_items(task: str, run: int, length: int, items: int, bands: int) -> list[Item]:
    """`items` prompts of one task, run and window length; same arguments, same prompts, on any machine.

    The run is the seed. Number: every offset 1 .. `length` equally often within one, letters uniform. Letter: the answer's
    letter stands nowhere else in the window, other letters repeat; digits are uniform. Raises `InputError` for a task
    without a one-hop version and for a window with fewer slots than bands.
    """
    if task not in TASK_NUMBERS:
        raise InputError(f"tasks: {task!r} has no one-hop version: write {' or '.join(TASK_NUMBERS)}")
    if length < bands:
        raise InputError(f"llm.lengths: {length} is shorter than llm.slot_bands: {bands}")
    random = np.random.default_rng([run, length, TASK_NUMBERS[task]])
    slots = balanced_slots(random, length, items)
    rows = np.arange(items)
    letters = len(ascii_lowercase)
    target = random.permutation(np.arange(items) % letters)
    made = []
    if task == "number":
        first = random.integers(0, letters, (items, length))
        first[rows, slots] = target
        windows = [" ".join(ascii_lowercase[x] for x in row) for row in first]
        queries = [str(length - slot) for slot in slots]
    else:
        first = (target[:, None] + random.integers(1, letters, (items, length))) % letters  # never the target's letter
        first[rows, slots] = target
        second = random.integers(0, len(DIGITS), (items, length))
        windows = [
            " ".join(ascii_lowercase[x] + DIGITS[y] for x, y in zip(*row, strict=True))
            for row in zip(first, second, strict=True)
        ]
        left = (target + random.integers(1, letters, items)) % letters
        queries = [ascii_lowercase[x] + ascii_lowercase[y] for x, y in zip(left, target, strict=True)]
    for window, query, slot, band in zip(windows, queries, slots, slot_bands(slots, length, bands), strict=True):
        answer = window.split()[slot]
        made.append(Item(run, length, int(band), f"{window} {query}", answer, int(slot)))
    return made


def write_items(folder: Path, task: str, settings: dict[str, Any]) -> int:
    """Write `{task}.parquet` and, last, `{task}.manifest.json`; returns the number of prompts.

    `settings` has `lengths`, `runs` (runs 0 .. runs - 1), `items` (a run, length and task) and `slot_bands`.
    """
    items = [
        item
        for run in range(settings["runs"])
        for length in settings["lengths"]
        for item in make_items(task, run, length, settings["items"], settings["slot_bands"])
    ]
    columns = {name: [getattr(item, name) for item in items] for name in ONEHOP.columns if name != "prompt"}
    columns["prompt"] = [prompt(task, item.window) for item in items]
    provenance = {"task": task, "parameters": settings, "seed": "the run number"}
    file = f"{task}.parquet"
    digest = write_table(folder / file, ONEHOP, columns, provenance)
    files = {file: {"rows": len(items), "digest": digest}}
    write_json(folder / f"{task}.manifest.json", {**provenance, "files": files})
    return len(items)


def read_items(folder: Path, task: str) -> list[Item]:
    """The prompts that `write_items` wrote, checked against their manifest (`InputError` otherwise)."""
    file = f"{task}.parquet"
    manifest = read_json(folder / f"{task}.manifest.json")
    if not isinstance(manifest, dict) or file not in manifest.get("files", {}):
        raise InputError(
            f"{folder / task}.manifest.json is no manifest of prompts: delete it and run the rule `onehop`"
        )
    table: pa.Table = read_table(folder / file, ONEHOP, manifest["files"][file]["digest"])
    return list(_rows(table))


def _rows(table: pa.Table) -> Iterator[Item]:
    for row in table.select(list(Item.__dataclass_fields__)).to_pylist():
        yield Item(**row)
