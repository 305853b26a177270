"""Prompts: right by an independent walk, balanced, unique where they must be, the same on any machine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posym.errors import InputError
from posym.llm import onehop

TASKS = st.sampled_from(["number", "letter"])


@settings(max_examples=60, deadline=None)
@given(task=TASKS, run=st.integers(0, 50), length=st.integers(4, 120), items=st.integers(1, 60))
def test_every_prompt_has_its_answer(task: str, run: int, length: int, items: int) -> None:
    made = onehop.make_items(task, run, length, items, 4)
    assert len(made) == items
    for item in made:
        tokens = item.window.split()
        assert len(tokens) == length + 1
        assert onehop.solve(task, item.window) == (item.answer, item.answer_slot)
        assert tokens[item.answer_slot] == item.answer
        assert item.offset == length - item.answer_slot
        assert 1 <= item.slot_band <= 4
        if task == "number":
            assert all(token.isalpha() and len(token) == 1 for token in tokens[:-1])
            assert int(tokens[-1]) == item.offset
        else:
            assert sum(token[0] == item.answer[0] for token in tokens[:-1]) == 1
            assert tokens[-1][1] == item.answer[0]
            assert tokens[-1][0] != item.answer[0]
        assert onehop.prompt(task, item.window).endswith(f'Input: "{item.window}"\nOutput:')


@settings(max_examples=60, deadline=None)
@given(task=TASKS, length=st.integers(4, 120), items=st.integers(1, 300))
def test_answer_slots_and_bands_are_balanced(task: str, length: int, items: int) -> None:
    made = onehop.make_items(task, 0, length, items, 4)
    slots = Counter(item.answer_slot for item in made)
    counts = [slots[slot] for slot in range(length)]
    assert max(counts) - min(counts) <= 1
    if length % 4 == 0:
        bands = Counter(item.slot_band for item in made)
        counts = [bands[band] for band in range(1, 5)]
        assert max(counts) - min(counts) <= 1
    letters = Counter(item.answer[0] for item in made)
    assert max(letters.values()) - (min(letters.values()) if len(letters) == 26 else 0) <= 1


def test_number_offsets_cover_the_window() -> None:
    assert {item.offset for item in onehop.make_items("number", 3, 30, 30, 4)} == set(range(1, 31))


def test_runs_differ_and_repeat() -> None:
    one, same, other = (onehop.make_items("letter", run, 24, 20, 4) for run in (0, 0, 1))
    assert one == same
    assert not {item.window for item in one} & {item.window for item in other}


def test_worked_examples_are_right() -> None:
    for task, examples in onehop.EXAMPLES.items():
        assert len(examples) == 3
        for window, answer in examples:
            assert onehop.solve(task, window)[0] == answer


def test_the_papers_pairs() -> None:
    assert onehop.solve("number", "a z b y c x d w 5") == ("y", 3)
    assert onehop.solve("letter", "a4 b3 c2 d1 fc") == ("c2", 2)


@pytest.mark.parametrize("window", ["a b 3", "a b 0"])
def test_windows_without_an_answer_are_refused(window: str) -> None:
    with pytest.raises(InputError, match="no single answer"):
        onehop.solve("number", window)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InputError, match="'words' has no one-hop version: write number or letter"):
        onehop.make_items("words", 0, 12, 1, 4)
    with pytest.raises(InputError, match="lengths: 3 is shorter"):
        onehop.make_items("number", 0, 3, 1, 4)


def test_files_come_back_and_are_the_same_everywhere(tmp_path: Path) -> None:
    wanted = {"lengths": [12, 16], "runs": 2, "items": 10, "slot_bands": 4}
    assert onehop.write_items(tmp_path, "letter", wanted) == 40
    items = onehop.read_items(tmp_path, "letter")
    assert items[:10] == onehop.make_items("letter", 0, 12, 10, 4)
    table = pq.read_table(tmp_path / "letter.parquet")
    assert {"run", "length", "prompt", "answer", "answer_slot", "offset"} <= set(table.column_names)
    assert table["prompt"][0].as_py() == onehop.prompt("letter", items[0].window)
    digest = (tmp_path / "letter.manifest.json").read_text().split('"digest": "')[1][:16]
    assert digest == "65fcd8d500d1a19d"
    np.testing.assert_array_equal(table["offset"], [item.offset for item in items])


def test_changed_prompts_are_noticed(tmp_path: Path) -> None:
    wanted = {"lengths": [12], "runs": 1, "items": 10, "slot_bands": 4}
    onehop.write_items(tmp_path, "number", wanted)
    manifest = tmp_path / "number.manifest.json"
    text = manifest.read_text()
    onehop.write_items(tmp_path, "number", wanted | {"items": 11})
    manifest.write_text(text)
    with pytest.raises(InputError, match="holds other content"):
        onehop.read_items(tmp_path, "number")
    manifest.write_text("{}")
    with pytest.raises(InputError, match="is no manifest of prompts"):
        onehop.read_items(tmp_path, "number")
