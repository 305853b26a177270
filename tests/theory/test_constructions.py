"""The constructions on the tasks' own sequences: right where the theorems say so, wrong where their condition is broken."""

from __future__ import annotations

from math import inf, pi

import numpy as np
import pytest

from posym.tasks.base import Task
from posym.tasks.letter import LetterTask
from posym.tasks.number import NumberTask
from posym.theory.constructions import Case, construction_rows, right_answers, sufficient_beta
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
