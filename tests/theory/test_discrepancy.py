"""Discrepancy curves against brute force over all inputs, and the paper's bounds where they hold and where they do not."""

from __future__ import annotations

from itertools import product
from math import ceil, cos, pi

import numpy as np
import pytest
import torch

from posym.errors import InputError
from posym.tasks.letter import LetterTask
from posym.tasks.number import NumberTask
from posym.theory.constructions import index_layer, pair_letters, retrieval_layer
from posym.theory.discrepancy import (
    discrepancy_rows,
    first_failure,
    index_corrected_bound,
    index_discrepancy,
    index_printed_bound,
    lengths_up_to,
    retrieval_corrected_bound,
    retrieval_discrepancy,
    retrieval_printed_bound,
    retrieval_reach,
)

SIZES = {"target_window": 3, "pre_target_window": 2, "hops": 1}


def gap(logits: np.ndarray) -> np.ndarray:
    """Largest minus the next along the last axis."""
    ordered = np.sort(logits, axis=-1)
    return ordered[..., -1] - ordered[..., -2]


def at(values: np.ndarray, length: int) -> float:
    """The entry of a curve over lengths 2, 3, .. ."""
    return float(values[length - 2])


@pytest.mark.parametrize("theta", [0.0, 0.0027, 0.3, 0.8, 2.4, pi / 3])
def test_index_equals_brute_force(theta: float) -> None:
    """At slot n an integer s gives slot j the logit cos((n - j - s) theta), a letter cos((n - j) theta) (section 4)."""
    for length in range(2, 40):
        slots = np.arange(1, length + 1)
        integers = np.cos((length - slots[None, :] - np.arange(1, length)[:, None]) * theta)
        letter = np.cos((length - slots) * theta)
        maximum, minimum = index_discrepancy(theta, "integer", length)
        assert at(maximum, length) == pytest.approx(gap(integers).max(), abs=1e-12)
        right = np.array(
            [row[length - 1 - s] - np.delete(row, length - 1 - s).max() for s, row in enumerate(integers, 1)]
        )
        assert at(minimum, length) == pytest.approx(right.min(), abs=1e-12)
        for found in index_discrepancy(theta, "letter", length):
            assert at(found, length) == pytest.approx(letter[-1] - letter[:-1].max(), abs=1e-12)


@pytest.mark.parametrize("theta", [0.0, 0.0027, 0.05, 0.4, 1.3])
@pytest.mark.parametrize("alphabet", [2, 3, 5])
def test_retrieval_equals_brute_force(theta: float, alphabet: int) -> None:
    """Every assignment of left letters to the slots, the wanted letter being 0."""
    omega = 2 * pi / alphabet
    for length in range(2, 6):
        left = np.array(list(product(range(alphabet), repeat=length)))
        logits = np.cos(left * omega + (length - 1 - np.arange(length)) * theta)
        maximum, minimum = retrieval_discrepancy(theta, alphabet, "pair", length)
        assert at(maximum, length) == pytest.approx(gap(logits).max(), abs=1e-12)
        proper = ((left[:, :-1] == 0).sum(axis=1) == 1) & (left[:, -1] != 0)
        wanted = np.where(left == 0, logits, -np.inf)[proper].max(axis=1)
        others = np.where(left == 0, -np.inf, logits)[proper].max(axis=1)
        assert at(minimum, length) == pytest.approx((wanted - others).min(), abs=1e-12)
        own = (left[:, -1] == 0) & (left[:, :-1] != 0).all(axis=1)
        found = at(retrieval_discrepancy(theta, alphabet, "integer", length)[1], length)
        assert found == pytest.approx((logits[own, -1] - logits[own, :-1].max(axis=1)).min(), abs=1e-12)


def test_the_layers_have_these_logits() -> None:
    """The torch modules, run on random tokens, give the logits that the curves are about."""
    generator = torch.Generator().manual_seed(0)
    number, theta = NumberTask(**SIZES, letters=5), 0.8
    tokens = torch.randint(0, 10, (50, 9), generator=generator)
    logits = index_layer(number, theta).logits(tokens)
    for row, n, j in product(range(50), range(9), range(9)):
        if j <= n:
            offset = max(0, int(tokens[row, n]) - 4)
            assert logits[row, n, j].item() == pytest.approx(cos((n - j - offset) * theta), abs=1e-9)
    letter = LetterTask(**SIZES, letters=4, integers=3)
    left, right = pair_letters(letter)
    tokens = torch.randint(0, 28, (50, 9), generator=generator)
    logits = retrieval_layer(letter, 0.05).logits(tokens)
    for row, n, j in product(range(50), range(9), range(9)):
        if j <= n:
            wanted = int(right[tokens[row, n]]) if right[tokens[row, n]] >= 0 else int(left[tokens[row, n]])
            angle = (int(left[tokens[row, j]]) - wanted) * pi / 2 + (n - j) * 0.05
            assert logits[row, n, j].item() == pytest.approx(cos(angle), abs=1e-9)


def test_where_the_printed_forms_fail() -> None:
    """The statements of section 4 that do not hold as printed, at the values named there."""
    maximum, _ = index_discrepancy(0.8, "integer", 1000)
    printed = index_printed_bound(0.8, 1000)
    assert at(maximum, 10) == pytest.approx(0.303, abs=5e-4)
    assert at(printed, 10) == pytest.approx(0.197, abs=5e-4)
    assert (index_discrepancy(0.8, "letter", 1000)[0] <= printed + 1e-12).all()  # it does hold for letters
    maximum, minimum = retrieval_discrepancy(0.0027, 8, "pair", 1000)
    assert at(maximum, 100) == pytest.approx(1.96, abs=5e-3)
    assert at(retrieval_printed_bound(0.0027, 8, 1000), 100) == pytest.approx(0.13, abs=5e-3)
    assert at(minimum, 140) == pytest.approx(0.014, abs=5e-4)
    assert at(minimum, 200) < 0
    assert retrieval_reach(0.0027, 8) == 145
    # Correct as far as its condition reaches and one token farther: the farthest slot is n - 1 back, not n.
    assert first_failure(minimum) == 147


def test_the_printed_retrieval_expression_is_one_slot_off_for_the_minimum_too() -> None:
    """No token stands n slots back in an input of n: at short lengths the minimum lies above the printed expression."""
    lengths = lengths_up_to(300)
    _, minimum = retrieval_discrepancy(0.0027, 8, "pair", 300)
    printed = retrieval_printed_bound(0.0027, 8, 300)
    assert lengths[minimum > printed + 1e-12].tolist() == list(range(2, 25))
    assert (minimum[1:] <= printed[:-1] + 1e-12).all()  # with n read as the number of slots before the query it holds


def test_the_printed_index_bound_is_broken_by_up_to_four_however_n_is_read() -> None:
    maximum, _ = index_discrepancy(0.8, "integer", 5000)
    printed = index_printed_bound(0.8, 5000)
    ratio = maximum / printed
    assert lengths_up_to(5000)[ratio > 1 + 1e-12][0] == 9
    assert ratio[:849].max() == pytest.approx(3.28, abs=5e-3)  # up to 850 tokens
    assert ratio.max() == pytest.approx(3.89, abs=5e-3)
    assert (maximum[1:] > printed[:-1] + 1e-12).any()  # n as the number of slots before the query
    for theta in np.random.default_rng(0).uniform(0, pi, 200):
        found = index_discrepancy(theta, "integer", 1000)[0] / index_printed_bound(theta, 1000)
        assert found.max() < 4


def test_the_corrected_bounds_hold_on_a_grid() -> None:
    for theta in np.linspace(0, pi, 200):
        for kind in ("letter", "integer"):
            maximum, _ = index_discrepancy(theta, kind, 300)
            assert (maximum <= index_corrected_bound(theta, kind, 300) + 1e-12).all()
    for alphabet in (2, 3, 8, 16):
        for theta in np.geomspace(1e-5, 1.0, 20):
            for kind in ("pair", "integer"):
                _, minimum = retrieval_discrepancy(theta, alphabet, kind, 120)
                bound = retrieval_corrected_bound(theta, alphabet, kind, 120)
                assert (minimum <= bound + 1e-12).all()
                attained = (lengths_up_to(120) - 1) * theta <= 2 * pi / alphabet
                np.testing.assert_allclose(minimum[attained], bound[attained], atol=1e-12)


def test_theta_zero_keeps_retrieval_apart_at_every_length() -> None:
    for alphabet in (3, 8, 16):
        _, minimum = retrieval_discrepancy(0.0, alphabet, "pair", 500)
        np.testing.assert_allclose(minimum, 1 - cos(2 * pi / alphabet), atol=1e-12)
        assert first_failure(minimum) is None
    assert retrieval_reach(0.0, 8) == float("inf")


@pytest.mark.parametrize("alphabet", [4, 8, 16])
@pytest.mark.parametrize("theta", [0.00046, 0.0027, 0.01])
def test_the_condition_is_sufficient(theta: float, alphabet: int) -> None:
    """theta < omega / (2 n0) gives correct answers up to n0."""
    reach = int(retrieval_reach(theta, alphabet))
    assert theta < 2 * pi / alphabet / (2 * reach)
    assert not theta < 2 * pi / alphabet / (2 * (reach + 1))
    longest = min(reach, 1000)
    assert first_failure(retrieval_discrepancy(theta, alphabet, "pair", longest)[1]) is None


def test_index_falls_with_the_square_of_the_length() -> None:
    """Over three decades the slope of log D_max is -2 within the width that the bound's steps allow (section 8, claim 8)."""
    lengths = lengths_up_to(20_000)
    maximum, _ = index_discrepancy((5**0.5 - 1) * pi, "integer", 20_000)  # the golden angle falls most evenly
    slope = np.polyfit(np.log(lengths[20:]), np.log(maximum[20:]), 1)[0]
    assert slope == pytest.approx(-2, abs=0.1)
    assert ceil(-np.log10(maximum[-1])) >= 7


def test_rows_and_refusals() -> None:
    rows = discrepancy_rows([0.8], [0.0, 0.0027], [4, 8], 50)
    assert len(rows) == 49 * (2 + 2 * 2 * 2)
    assert (rows.maximum >= rows.minimum - 1e-12).all()
    assert ((rows.corrected_excess <= 1e-12) | ~rows.condition_holds).all()
    with pytest.raises(InputError, match="longest"):
        lengths_up_to(1)
    with pytest.raises(InputError, match="pair"):
        retrieval_discrepancy(0.1, 4, "letter", 9)
    with pytest.raises(InputError, match="letter and integer"):
        index_discrepancy(0.1, "pair", 9)
