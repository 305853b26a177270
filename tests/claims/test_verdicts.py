"""The rule of the verdicts, by hand and against its own wording."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posym.claims.markdown import number, with_interval
from posym.claims.verdicts import (
    INCONCLUSIVE,
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    Estimate,
    above,
    at_least,
    at_most,
    below,
    exact,
    judge,
    together,
    within,
)


def test_t_interval_over_three_seeds_by_hand() -> None:
    """Values 1, 2, 3: mean 2, standard error 1 / sqrt(3), t with two degrees of freedom 4.302653."""
    part = judge("x", {0: Estimate(1), 1: Estimate(2), 2: Estimate(3)}, at_least(0), "")
    assert part.value == 2
    assert part.low == pytest.approx(2 - 4.302653 / 3**0.5, abs=1e-6)
    assert part.high == pytest.approx(2 + 4.302653 / 3**0.5, abs=1e-6)
    assert part.seeds == 3
    assert part.verdict == INCONCLUSIVE  # every seed meets it, the interval crosses


@pytest.mark.parametrize(
    ("estimates", "threshold", "wanted"),
    [
        ({}, at_least(0.5), NOT_RUN),
        (None, at_least(0.5), NOT_RUN),
        ({0: Estimate(0.9, 0.8, 1.0)}, at_least(0.5), REPRODUCED),
        ({0: Estimate(0.9, 0.4, 1.0)}, at_least(0.5), INCONCLUSIVE),
        ({0: Estimate(0.3, 0.2, 0.4)}, at_least(0.5), NOT_REPRODUCED),
        ({0: Estimate(0.9, 0.8, 1.0), 1: Estimate(0.6, 0.4, 0.8)}, at_least(0.5), INCONCLUSIVE),
        ({0: Estimate(0.9)}, at_least(0.5), INCONCLUSIVE),  # one seed and no interval: no guess
        ({0: Estimate(nan)}, at_least(0.5), INCONCLUSIVE),
        ({0: Estimate(0.9), 1: Estimate(0.9), 2: Estimate(0.9)}, at_least(0.5), REPRODUCED),
        ({0: Estimate(0.9), 1: Estimate(nan), 2: Estimate(0.9)}, at_least(0.5), INCONCLUSIVE),
        ({seed: Estimate(value) for seed, value in enumerate([0.9] * 20 + [0.49])}, at_least(0.5), INCONCLUSIVE),
        ({0: exact(0.0)}, above(0), NOT_REPRODUCED),
        ({0: exact(0.0)}, at_most(0), REPRODUCED),
        ({0: exact(-0.5)}, below(-0.5), NOT_REPRODUCED),
        ({0: exact(-1.7)}, within(-2, 0.3), REPRODUCED),
        ({0: exact(-1.6)}, within(-2, 0.3), NOT_REPRODUCED),
        ({0: Estimate(-2, -2.5, -1.5)}, within(-2, 0.3), INCONCLUSIVE),
    ],
)
def test_the_rule(estimates: dict[int, Estimate] | None, threshold, wanted: str) -> None:  # type: ignore[no-untyped-def]
    assert judge("x", estimates, threshold, "").verdict == wanted


floats = st.floats(-10, 10)


@given(st.lists(st.tuples(floats, floats, floats).map(sorted), min_size=1, max_size=6), floats)
def test_verdicts_of_a_threshold_and_its_opposite_exclude_each_other(triples: list[list[float]], limit: float) -> None:
    estimates = {seed: Estimate(value, low, high) for seed, (low, value, high) in enumerate(triples)}
    one, other = (judge("x", estimates, threshold, "") for threshold in (at_least(limit), below(limit)))
    assert one.low <= one.value + 1e-12
    assert one.value <= one.high + 1e-12
    if one.verdict == REPRODUCED:
        assert other.verdict == NOT_REPRODUCED
        assert all(value >= limit for value in one.per_seed)
    if other.verdict == REPRODUCED:
        assert one.verdict == NOT_REPRODUCED


@pytest.mark.parametrize(
    ("verdicts", "wanted"),
    [
        ([REPRODUCED, REPRODUCED], REPRODUCED),
        ([REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE], NOT_REPRODUCED),
        ([REPRODUCED, INCONCLUSIVE], INCONCLUSIVE),
        ([REPRODUCED, NOT_RUN], INCONCLUSIVE),
        ([NOT_RUN, NOT_RUN], NOT_RUN),
    ],
)
def test_a_claim_from_its_parts(verdicts: list[str], wanted: str) -> None:
    assert together(verdicts) == wanted


def test_numbers_for_people() -> None:
    assert [number(value) for value in (None, 0.12345, 1234.5, -1.82)] == ["-", "0.123", "1234", "-1.82"]
    assert with_interval({"value": 0.5, "low": 0.4, "high": 0.6}) == "0.5 [0.4, 0.6]"
    assert with_interval({"value": 2.0, "low": 2.0, "high": 2.0}) == "2"
