"""Generation held against an independent solver, the paper's examples and counts, and brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posym.errors import InputError
from posym.tasks import make_task, task_names
from posym.tasks.base import NO_SLOT, Sequences, Task, letter_names
from posym.tasks.dataset import balanced_slice, long_input_cores, split_sequences
from small import ALPHABETS, SIZES

TASKS = sorted(ALPHABETS)


def check_sequences(task: Task, sequences: Sequences) -> None:
    """Every row's answer, hops, slot and path are what walking it finds."""
    for row in range(len(sequences)):
        found = task.solve(sequences.tokens[row])
        assert found.answer == sequences.answer[row]
        assert found.answer_slot == sequences.answer_slot[row] < task.target_window
        assert found.hops == sequences.hops[row]
        assert found.path == tuple(slot for slot in sequences.path[row] if slot != NO_SLOT)


def test_the_papers_examples() -> None:
    number = make_task("number", SIZES, ALPHABETS["number"])
    found = number.solve(number.vocabulary.encode("n h n v h y r s 6 3 2 7 7 8 4 7 2"))
    assert (number.vocabulary.decode([found.answer]), found.hops) == ("n", 4)
    letter = make_task("letter", SIZES, ALPHABETS["letter"])
    found = letter.solve(letter.vocabulary.encode("e1 b2 e1 g6 a2 b2 e1 g6 be db ca ge eb hc dg fh eh"))
    assert (letter.vocabulary.decode([found.answer]), found.hops, found.path) == ("a2", 3, (16, 13, 10, 4))


def test_vocabularies() -> None:
    assert len(make_task("number", SIZES, ALPHABETS["number"]).vocabulary.tokens) == 136
    assert len(make_task("letter", SIZES, ALPHABETS["letter"]).vocabulary.tokens) == 128
    names = letter_names(120)
    assert (names[0], names[25], names[26], names[-1]) == ("a", "z", "aa", "dp")
    assert len(set(letter_names(800))) == 800


@settings(max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(TASKS), seed=st.integers(0, 2**31))
def test_generated_sequences_are_what_the_solver_finds(data: st.DataObject, name: str, seed: int) -> None:
    hops = data.draw(st.integers(1, 5))
    sizes = {
        "target_window": data.draw(st.integers(2, 9)),
        "pre_target_window": data.draw(st.integers(max(1, hops - 1), 9)),
        "hops": hops,
    }
    alphabet = {"letters": data.draw(st.integers(hops + 2, 12))} | ({"integers": 5} if name == "letter" else {})
    task = make_task(name, sizes, alphabet)
    sequences = task.sample(np.random.default_rng(seed), 12 * hops)
    assert sequences.tokens.shape == (12 * hops, task.slots)
    check_sequences(task, sequences)
    prefix = np.arange(len(sequences))
    extra = data.draw(st.integers(0, 30))
    tokens = task.extend(np.random.default_rng(seed), sequences, extra, prefix)
    assert (tokens[:, extra:] == sequences.tokens).all()
    for row in range(len(sequences)):
        found = task.solve(tokens[row])
        assert (found.answer, found.hops) == (sequences.answer[row], sequences.hops[row])
        assert found.answer_slot == sequences.answer_slot[row] + extra


@pytest.mark.parametrize("name", TASKS)
def test_the_papers_data(name: str) -> None:
    """Section 2: 480,000 sequences, hops and cells balanced, no sequence twice, so none in two splits."""
    task = make_task(name, SIZES, ALPHABETS[name])
    sizes = {"train": 432_000, "validation": 2_400, "test": 45_600}
    splits = split_sequences(task, sizes, seed=0)
    for split, size in sizes.items():
        assert Counter(splits[split].hops.tolist()) == dict.fromkeys((1, 2, 3, 4), size // 4)
    whole = Sequences.concatenated(list(splits.values()))
    assert len(np.unique(whole.tokens.astype(np.uint16), axis=0)) == 480_000
    for hops in (1, 2, 3, 4):
        chosen = whole[np.flatnonzero(whole.hops == hops)]
        cells = np.zeros((len(task.vocabulary.tokens), 8), dtype=int)
        np.add.at(cells, (chosen.answer, chosen.answer_slot), 1)
        used = cells[task.answers]
        assert used.sum() == 120_000
        assert used.max() - used.min() <= 1
    check_sequences(task, splits["test"][slice(0, 2000)])
    # Chains use every slot of the pre-target window equally often.
    four = whole.path[whole.hops == 4][:, 1:4]
    assert np.bincount(four.ravel(), minlength=16)[8:] == pytest.approx(45_000, rel=0.03)


def test_number_off_the_chain_is_uniform_and_legal() -> None:
    task = make_task("number", SIZES, ALPHABETS["number"])
    sequences = task.sample(np.random.default_rng(0), 40_000)
    for slot in (8, 12, 15):
        off = np.flatnonzero(~(sequences.path == slot).any(axis=1))
        values = sequences.tokens[off, slot] - 119
        assert values.min() == 1
        assert values.max() == slot
        assert np.bincount(values)[1:] / len(off) == pytest.approx(1 / slot, abs=0.01)


def test_letter_off_the_chain_never_shows_a_letter_of_the_chain() -> None:
    task = make_task("letter", SIZES, ALPHABETS["letter"])
    sequences = task.sample(np.random.default_rng(0), 400)
    for row in range(len(sequences)):
        names = task.vocabulary.decode(sequences.tokens[row]).split()
        path = [slot for slot in sequences.path[row] if slot != NO_SLOT]
        chain = {names[slot][0] for slot in path[1:]}
        assert len(chain) == sequences.hops[row]
        off = [names[slot] for slot in range(17) if slot not in path] + [names[16][0]]
        assert not {letter for name in off for letter in name if letter.isalpha()} & chain


@pytest.mark.parametrize("name", TASKS)
def test_same_seed_same_rows_other_seed_other_rows(name: str) -> None:
    task = make_task(name, SIZES, ALPHABETS[name])
    first, again, other = (split_sequences(task, {"train": 400}, seed)["train"].tokens for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_too_small_alphabets_are_refused() -> None:
    with pytest.raises(InputError, match="letters: 4"):
        make_task("letter", SIZES, {"letters": 4, "integers": 8})
    task = make_task("letter", {"target_window": 2, "pre_target_window": 1, "hops": 1}, {"letters": 2, "integers": 1})
    with pytest.raises(InputError, match="fewer than 5000 different"):
        task.sample(np.random.default_rng(0), 5000)
    with pytest.raises(InputError, match="multiple"):
        make_task("number", SIZES, ALPHABETS["number"]).sample(np.random.default_rng(0), 5)


def test_names_of_tasks() -> None:
    assert task_names() == ["letter", "number"]
    with pytest.raises(InputError, match="'word' is unknown"):
        make_task("word", SIZES, {})
    with pytest.raises(InputError, match="exactly letters"):
        make_task("number", SIZES, {"letter": 3})


def test_long_input_cores_share_what_they_may(task: Task) -> None:
    test = split_sequences(task, {"test": 4800}, seed=0)["test"]
    inputs = long_input_cores(task, test, items=200, prefixes=40, seed=0)
    assert Counter(inputs.cores.hops.tolist()) == dict.fromkeys((1, 2, 3, 4), 50)
    assert set(Counter(inputs.prefix.tolist()).values()) == {5}
    assert len(np.unique(inputs.cores.tokens, axis=0)) == 200
    by_slot = np.bincount(inputs.cores.answer_slot[inputs.cores.hops == 1], minlength=8)
    assert by_slot.max() - by_slot.min() <= (1 if task.name == "number" else 8)
    tokens = task.extend(np.random.default_rng(0), inputs.cores, 833, inputs.prefix)
    assert tokens.shape == (200, 850)
    for group in range(40):
        rows = tokens[inputs.prefix == group]
        assert (rows[:, :833] == rows[0, :833]).all()
        # a prefix is drawn evenly from everything that its group may see, and nothing else
        allowed = np.flatnonzero(task.fillers(inputs.cores)[inputs.prefix == group][0])
        counts = np.bincount(rows[0, :833], minlength=len(task.vocabulary.tokens))
        assert counts[allowed].sum() == 833
        assert ((counts[allowed] - 833 / len(allowed)) ** 2).sum() / (833 / len(allowed)) < len(allowed) + 5 * np.sqrt(
            2 * len(allowed)
        )
    for row in range(0, 200, 7):
        assert task.solve(tokens[row]).answer == inputs.cores.answer[row]


def test_balanced_slice(task: Task) -> None:
    test = split_sequences(task, {"test": 400}, seed=0)["test"]
    items = balanced_slice(test, 40)
    assert Counter(items.hops.tolist()) == dict.fromkeys((1, 2, 3, 4), 10)
    for hops in (1, 2, 3, 4):
        counts = np.bincount(items.answer_slot[items.hops == hops], minlength=8)
        assert set(counts) <= {1, 2}  # 10 items over 8 slots
    for items_wanted in (41, 404):
        with pytest.raises(InputError, match=r"scores\.items"):
            balanced_slice(test, items_wanted)
