"""Discrepancy of T_Index and T_Retrieval against length, exactly, beside what the paper prints (section 4, Fig. 5A).

The discrepancy of an input is its largest attention logit minus the next, at the last slot; high means well separated.

- D_max(n), column `maximum`: the largest over ALL inputs of n tokens whose last token is of the kind asked for.
- D_min(n), column `minimum`: the smallest, over the PROPER inputs of n tokens, of the right slot's logit minus the largest
  other. It is negative where some proper input is answered wrongly, and it is what softmax with a finite temperature needs.

Kinds of query and their proper inputs:

- Index, `letter`: any earlier tokens; the right slot is the query's own.
- Index, `integer`: the integer s is in 1 .. n - 1, so that the slot s back exists; any earlier tokens. (All inputs here,
  too: an integer that points before the first slot has no answer.)
- Retrieval, `pair`, a (letter, letter) token: its right letter is the left letter of exactly one token, which is an earlier
  one; the left letters of all others, the query's own included, are arbitrary but different from it.
- Retrieval, `integer`, a (letter, integer) token: its letter is nobody else's left letter; the right slot is its own.

Everything is enumerated over what is reachable: logits of a slot depend on the slot and its own letter alone, so that the
extreme input is found slot by slot, and no input is left out.
"""

from __future__ import annotations

from math import ceil, pi
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from posym.errors import InputError

Values = NDArray[np.float64]
TIE = 1e-10  # as in `posym.theory.constructions`: nearer logits are equal
NO_ALPHABET = 0  # in the column `alphabet`: Index's logits do not depend on it


def lengths_up_to(longest: int) -> NDArray[np.int64]:
    """2 .. longest: the lengths of all arrays here. Shorter than 2 there is no next logit: `InputError`."""
    if longest < 2:
        raise InputError(f"theory.discrepancy.longest: {longest} should be at least 2")
    return np.arange(2, longest + 1)


def _one_minus_cos(angle: NDArray[np.floating[Any]] | float) -> Values:
    """1 - cos without the cancellation at small angles."""
    return np.asarray(2 * np.sin(np.asarray(angle) / 2) ** 2)


def index_discrepancy(theta: float, kind: str, longest: int) -> tuple[Values, Values]:
    """D_max and D_min of T_Index at lengths 2 .. longest.

    The right slot's logit is 1; the slot t further has cos(t theta), so the gap is the smallest 1 - cos(t theta) over the |t|
    in reach. A letter reaches 1 .. n - 1. Integer s reaches 1 .. max(s, n - 1 - s): least far, hence best, in the middle, where
    that is ceil((n - 1) / 2), and farthest at s = n - 1.
    """
    lengths = lengths_up_to(longest)
    gap = np.minimum.accumulate(_one_minus_cos(np.arange(1, longest) * theta))  # gap[m - 1]: with |t| up to m in reach
    farthest = gap[lengths - 2]
    if kind == "letter":
        return farthest, farthest
    if kind == "integer":
        return gap[lengths // 2 - 1], farthest  # lengths // 2 is ceil((n - 1) / 2)
    raise InputError(f"Index has letter and integer queries, not {kind!r}")


def index_printed_bound(theta: float, longest: int) -> Values:
    """As printed: D_Index(n) <= min(1 - cos theta, 2 pi^2 / n^2)."""
    return np.minimum(_one_minus_cos(theta), 2 * pi**2 / lengths_up_to(longest) ** 2)


def index_corrected_bound(theta: float, kind: str, longest: int) -> Values:
    """Of D_max: min(1 - cos theta, 2 pi^2 / (m + 1)^2), m offsets being within reach of the best input.

    Pigeonhole: of the m + 1 angles 0, theta .. m theta two are within 2 pi / (m + 1) of each other. m is n - 1 for a letter,
    which gives the printed bound, and ceil((n - 1) / 2) for an integer.
    """
    lengths = lengths_up_to(longest)
    reach = lengths - 1 if kind == "letter" else lengths // 2
    return np.minimum(_one_minus_cos(theta), 2 * pi**2 / (reach + 1) ** 2)


def index_condition(theta: float, longest: int) -> NDArray[np.bool_]:
    """Whether t theta is no multiple of 2 pi for 0 < |t| < n, at lengths 2 .. longest."""
    return index_discrepancy(theta, "letter", longest)[1] > TIE


def retrieval_discrepancy(theta: float, alphabet: int, kind: str, longest: int) -> tuple[Values, Values]:
    """D_max and D_min of T_Retrieval with `alphabet` letters at lengths 2 .. longest.

    A slot m back whose left letter is k letters from the wanted one has the logit cos(k omega + m theta).
    """
    lengths = lengths_up_to(longest)
    if alphabet < 2:
        raise InputError(f"theory.discrepancy.alphabets: {alphabet} should be at least 2, or there is no other letter")
    omega = 2 * pi / alphabet
    back = np.arange(longest) * theta
    logit = np.cos(np.arange(alphabet)[:, None] * omega + back)  # [letters from the wanted one, slots back]
    best, worst, rival, wanted = logit.max(0), logit.min(0), logit[1:].max(0), logit[0]
    if kind == "integer":
        return 1 - np.maximum.accumulate(worst[1:]), 1 - np.maximum.accumulate(rival[1:])
    if kind != "pair":
        raise InputError(f"Retrieval has pair and integer queries, not {kind!r}")
    maximum, minimum = np.empty(len(lengths)), np.empty(len(lengths))
    for place, length in enumerate(lengths):
        maximum[place] = np.max(best[:length] - _largest_elsewhere(worst[:length]))
        minimum[place] = np.min(wanted[1:length] - _largest_elsewhere(rival[:length])[1:])
    return maximum, minimum


def _largest_elsewhere(values: Values) -> Values:
    """For each place, the largest of the values at all other places."""
    top = int(values.argmax())
    elsewhere = np.full(len(values), values[top])
    elsewhere[top] = np.delete(values, top).max()
    return elsewhere


def retrieval_printed_bound(theta: float, alphabet: int, longest: int) -> Values:
    """As printed: D_Retrieval(n) <= 1 - cos(omega - n theta)."""
    return _one_minus_cos(2 * pi / alphabet - lengths_up_to(longest) * theta)


def retrieval_corrected_bound(theta: float, alphabet: int, kind: str, longest: int) -> Values:
    """Of D_min, for every n; attained while (n - 1) theta <= omega.

    The letter before the wanted one, as far back as it can stand, against the wanted one as far back as it can stand: a pair
    query has both at the two farthest slots, in either order, min(cos((n - 2) theta) - cos(omega - (n - 1) theta), cos((n - 1)
    theta) - cos(omega - (n - 2) theta)), the first from n = 3 on; a (letter, integer) query 1 - cos(omega - (n - 1) theta).
    """
    lengths = lengths_up_to(longest)
    omega = 2 * pi / alphabet
    farthest, next_to_it = (lengths - 1) * theta, (lengths - 2) * theta
    if kind == "integer":
        return _one_minus_cos(omega - farthest)
    target_last = np.cos(farthest) - np.cos(omega - next_to_it)
    rival_last = np.cos(next_to_it) - np.cos(omega - farthest)
    return np.where(lengths == 2, target_last, np.minimum(target_last, rival_last))


def retrieval_reach(theta: float, alphabet: int) -> float:
    """n0: the largest length n with theta < omega / (2 n), Retrieval's own condition; infinite at theta = 0."""
    return ceil(pi / (alphabet * theta)) - 1 if theta > 0 else float("inf")


def first_failure(minimum: Values) -> int | None:
    """The first length at which some proper input is not answered by hard attention, from D_min; none is None."""
    failing = np.flatnonzero(minimum <= TIE)
    return int(failing[0]) + 2 if len(failing) else None


def discrepancy_rows(
    index_thetas: list[float], retrieval_thetas: list[float], alphabets: list[int], longest: int
) -> pd.DataFrame:
    """discrepancy.parquet: every construction, theta, alphabet and kind of query at every length 2 .. longest.

    `corrected_of` says which of `maximum` and `minimum` the corrected bound is an upper bound of. Each `*_excess` is the
    quantity minus the bound: positive where the bound is broken. `condition_holds`: the construction's condition on theta.
    """
    index = [
        _part(
            ("index", theta, NO_ALPHABET, kind, "maximum"),
            index_discrepancy(theta, kind, longest),
            index_printed_bound(theta, longest),
            index_corrected_bound(theta, kind, longest),
            index_condition(theta, longest),
        )
        for theta in index_thetas
        for kind in ("letter", "integer")
    ]
    retrieval = [
        _part(
            ("retrieval", theta, alphabet, kind, "minimum"),
            retrieval_discrepancy(theta, alphabet, kind, longest),
            retrieval_printed_bound(theta, alphabet, longest),
            retrieval_corrected_bound(theta, alphabet, kind, longest),
            lengths_up_to(longest) <= retrieval_reach(theta, alphabet),
        )
        for alphabet in alphabets
        for theta in retrieval_thetas
        for kind in ("pair", "integer")
    ]
    return pd.concat([*index, *retrieval], ignore_index=True)


def _part(
    case: tuple[str, float, int, str, str],
    extremes: tuple[Values, Values],
    printed: Values,
    corrected: Values,
    condition: NDArray[np.bool_],
) -> pd.DataFrame:
    construction, theta, alphabet, kind, corrected_of = case
    maximum, minimum = extremes
    return pd.DataFrame(
        {
            "construction": construction,
            "theta": float(theta),
            "alphabet": alphabet,
            "query_kind": kind,
            "length": lengths_up_to(len(maximum) + 1),
            "maximum": maximum,
            "minimum": minimum,
            "printed_bound": printed,
            "corrected_bound": corrected,
            "corrected_of": corrected_of,
            "printed_excess_of_maximum": maximum - printed,
            "printed_excess_of_minimum": minimum - printed,
            "corrected_excess": (maximum if corrected_of == "maximum" else minimum) - corrected,
            "condition_holds": condition,
        }
    )
