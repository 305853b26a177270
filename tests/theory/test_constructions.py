"""The constructions on the tasks' own sequences: right where the theorems say so, wrong where their condition is broken."""

from __future__ import annotations

from itertools import product
from math import inf, pi

import numpy as np
import pytest
import torch

from posym.errors import InputError
from posym.tasks.base import Task
from posym.tasks.letter import LetterTask
from posym.tasks.number import NumberTask
from posym.theory.constructions import (
    Case,
    HopStack,
    construction,
    construction_rows,
    index_layer,
    pair_letters,
    retrieval_layer,
    right_answers,
    sufficient_beta,
)
from posym.theory.discrepancy import index_discrepancy, retrieval_discrepancy, retrieval_reach
from small import SIZES

NUMBER = NumberTask(**SIZES, letters=120)
LETTER = LetterTask(**SIZES, letters=8, integers=8)


def accuracy(task: Task, theta: float, beta: float, extra: int, items: int = 40) -> float:
    random = np.random.default_rng(0)
    sequences = task.sample(random, items)
    tokens = task.extend(random, sequences, extra, np.arange(items))
    return float(right_answers(task, sequences, tokens, theta, beta).mean())


@pytest.mark.parametrize("extra", [0, 40, 200])
@pytest.mark.parametrize("theta", [0.8, 2.4])
def test_index_with_hard_attention_is_exact_at_every_length(theta: float, extra: int) -> None:
    assert accuracy(NUMBER, theta, inf, extra) == 1.0


@pytest.mark.parametrize(("theta", "extra"), [(0.0, 0), (0.0, 300), (0.0027, 0), (0.0027, 128)])
def test_retrieval_with_hard_attention_is_exact_within_its_condition(theta: float, extra: int) -> None:
    assert 17 + extra <= retrieval_reach(theta, 8)
    assert accuracy(LETTER, theta, inf, extra) == 1.0


def test_index_breaks_as_soon_as_two_slots_share_an_angle() -> None:
    """theta = 2 pi / 48: the slots 48 apart look alike, which the first 49 tokens have for the first time."""
    theta = 2 * pi / 48
    _, minimum = index_discrepancy(theta, "integer", 60)
    assert minimum[48 - 2] > 1e-6
    assert minimum[49 - 2] == pytest.approx(0, abs=1e-12)
    assert accuracy(NUMBER, theta, inf, 48 - 17) == 1.0
    assert accuracy(NUMBER, theta, inf, 100) < 0.5
    assert accuracy(NUMBER, 0.0, inf, 0) < 0.5


def test_retrieval_breaks_outside_its_condition() -> None:
    assert retrieval_reach(0.0027, 8) < 17 + 500
    assert accuracy(LETTER, 0.0027, inf, 500) < 1.0
    assert accuracy(LETTER, 0.8, inf, 0) < 0.9


@pytest.mark.parametrize(("task", "theta"), [(NUMBER, 0.8), (LETTER, 0.0), (LETTER, 0.0027)])
def test_softmax_is_as_good_above_the_sufficient_beta(task: Task, theta: float) -> None:
    length = 17 + 20
    if task is NUMBER:
        smallest = index_discrepancy(theta, "integer", length)[1][-1]
    else:
        smallest = min(retrieval_discrepancy(theta, 8, kind, length)[1][-1] for kind in ("pair", "integer"))
    beta = sufficient_beta(length, float(smallest))
    assert accuracy(task, theta, 1.01 * beta, 20) == 1.0
    assert accuracy(task, theta, 0.01, 20) < 0.5  # nearly uniform attention
    assert sufficient_beta(length, 0.0) == inf


def test_rows_count_by_hop() -> None:
    random = np.random.default_rng(0)
    sequences = NUMBER.sample(random, 16)
    rows = construction_rows(Case(NUMBER, sequences, sequences.tokens, 0.8, inf))
    assert [row["hops"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["items"] for row in rows] == [16, 4, 4, 4, 4]
    assert all(row["accuracy"] == 1.0 for row in rows)


def one_hop(task: Task, tokens: np.ndarray, slot: int) -> int | None:
    """What Index or Retrieval outputs at a slot, by its definition; None where Retrieval has no one answer."""
    own = int(tokens[slot])
    if isinstance(task, NumberTask):
        pointed = int(tokens[slot - (own - task.letters + 1)]) if own >= task.letters else own
        return pointed if pointed < task.letters else own
    assert isinstance(task, LetterTask)
    left, right = (letters.tolist() for letters in pair_letters(task))
    asked = right[own] if right[own] >= 0 else left[own]
    matches = {int(token) for token in tokens[: slot + 1] if left[token] == asked}
    return matches.pop() if len(matches) == 1 else None


@pytest.mark.parametrize(("task", "theta"), [(NUMBER, 0.8), (LETTER, 0.0)])
def test_one_layer_is_one_hop_at_every_slot(task: Task, theta: float) -> None:
    sequences = task.sample(np.random.default_rng(5), 40)
    scores = construction(task, theta)(torch.from_numpy(sequences.tokens)).numpy()
    checked = 0
    for row, slot in product(range(40), range(task.slots)):
        wanted = one_hop(task, sequences.tokens[row], slot)
        if wanted is not None:
            assert scores[row, slot, wanted] > np.delete(scores[row, slot], wanted).max() + 1e-9
            checked += 1
    assert checked > 0.3 * 40 * task.slots


@pytest.mark.parametrize(("task", "theta"), [(NUMBER, 0.8), (LETTER, 0.0)])
def test_four_hops_need_four_layers(task: Task, theta: float) -> None:
    sequences = task.sample(np.random.default_rng(1), 80)
    four = sequences[np.flatnonzero(sequences.hops == 4)]
    for layers in range(1, 5):
        scores = HopStack([construction(task, theta) for _ in range(layers)])(torch.from_numpy(four.tokens))
        right = (scores.argmax(-1).numpy() == four.answer).mean()
        assert right == 1 if layers == 4 else right < 1


def test_the_shortest_inputs_that_break() -> None:
    """One layer, at the length where D_min reaches 0 and one token before it."""
    index = NumberTask(target_window=48, pre_target_window=1, hops=1, letters=3)
    tokens = torch.zeros(1, 49, dtype=torch.long)
    for offset, slots in ((47, [1]), (48, [0, 48])):  # 48 back is 2 pi round, where the query itself stands
        tokens[0, -1] = index.vocabulary.encode(str(offset))[0]
        weights = index_layer(index, 2 * pi / 48).attention(tokens, last=1)[0, 0]
        assert weights.nonzero()[:, 0].tolist() == slots
    encode = LETTER.vocabulary.encode
    for length, found in ((146, "b1"), (147, "a1")):  # b1 is wanted; a1, one letter before it, stands farthest back
        tokens = torch.full((1, length), encode("f1")[0])
        tokens[0, :2] = torch.tensor(encode("a1 b1"))
        tokens[0, -1] = encode("fb")[0]
        largest = retrieval_layer(LETTER, 0.0027).logits(tokens, last=1)[0, 0].argmax()
        assert LETTER.vocabulary.decode([int(tokens[0, largest])]) == found


def test_task_sequences_break_later_than_the_worst_input() -> None:
    """Their answers are near, so Retrieval holds until omega / theta = 291 tokens reach a rival letter, not 147."""
    assert accuracy(LETTER, 0.0027, inf, 260 - 17, 20) == 1.0
    assert 0 < accuracy(LETTER, 0.0027, inf, 290 - 17, 20) < 1
    assert accuracy(LETTER, 0.0027, inf, 310 - 17, 20) < 0.2


def test_index_needs_a_colder_softmax_on_longer_inputs_and_retrieval_does_not() -> None:
    assert accuracy(NUMBER, 0.8, 1000, 0) == 1.0
    assert accuracy(NUMBER, 0.8, 1000, 200) < 0.1
    assert accuracy(LETTER, 0.0, 100, 0) == accuracy(LETTER, 0.0, 100, 200) == 1.0


def test_refusals() -> None:
    with pytest.raises(InputError, match="beta: 0 should be above 0"):
        index_layer(NUMBER, 0.8, 0)
