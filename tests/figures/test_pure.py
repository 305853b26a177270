"""From when a head is pure: hand-worked cases, and the definition spelled out over random scores."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posym.errors import InputError
from posym.pure import KINDS, first_pure_steps, pure_head_counts, scores_at

STEPS = (0, 50, 100, 200)
LEVELS = (0.0, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 1.0)  # the limits of the usual gammas among them


def scores_of(heads: dict[tuple[str, int, int], list[tuple[float, float]]]) -> pd.DataFrame:
    """A scores table from (task, seed, layer) -> (positional, symbolic) at each of `STEPS`."""
    rows = [
        {
            "task": task,
            "seed": seed,
            "layer": layer,
            "head": 0,
            "step": step,
            "positional": pair[0],
            "symbolic": pair[1],
        }
        for (task, seed, layer), pairs in heads.items()
        for step, pair in zip(STEPS, pairs, strict=True)
    ]
    return pd.DataFrame(rows)


def as_tuples(found: pd.DataFrame) -> set[tuple[object, ...]]:
    return set(found[["task", "seed", "layer", "kind", "gamma", "step"]].itertuples(index=False, name=None))


def test_first_step_is_after_the_last_impurity() -> None:
    scores = scores_of(
        {
            ("number", 0, 0): [(1, 1), (0.9, 0.1), (0.95, 0.05), (1, 0)],  # pure from 50 at .2 and .1, from 100 at .05
            ("number", 0, 1): [(1, 1), (1, 0), (0.5, 0.5), (1, 0)],  # impure again at 100
            ("number", 0, 2): [(1, 1), (0, 1), (0, 1), (0.3, 1)],  # not pure at the end: never
            ("number", 0, 3): [(1, 1), (1, 0), (0, 1), (0, 1)],  # changes its kind
        }
    )
    assert as_tuples(first_pure_steps(scores, [0.2, 0.1, 0.05])) == {
        ("number", 0, 0, "positional", 0.2, 50),
        ("number", 0, 0, "positional", 0.1, 50),
        ("number", 0, 0, "positional", 0.05, 100),
        *{("number", 0, 1, "positional", gamma, 200) for gamma in (0.2, 0.1, 0.05)},
        *{("number", 0, 3, "symbolic", gamma, 100) for gamma in (0.2, 0.1, 0.05)},
    }


def test_the_order_of_rows_does_not_matter() -> None:
    scores = scores_of({("letter", 1, layer): [(1, 1), (0, 1), (1, 1), (0, 1)] for layer in range(3)})
    shuffled = scores.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(first_pure_steps(scores, [0.2]), first_pure_steps(shuffled, [0.2]))


def test_counts_include_zeros_and_both_kinds() -> None:
    scores = scores_of(
        {
            ("number", 0, 0): [(1, 1), (1, 0), (1, 0), (1, 0)],
            ("number", 0, 1): [(1, 1), (1, 1), (1, 0), (1, 0)],
            ("number", 0, 2): [(1, 1), (1, 1), (1, 1), (0, 1)],
            ("letter", 0, 0): [(1, 1), (1, 1), (1, 1), (1, 1)],
        }
    )
    counts = pure_head_counts(scores, [0.2]).set_index(["task", "kind", "step"])["heads"]
    assert [counts["number", "positional", step] for step in STEPS] == [0, 1, 2, 2]
    assert [counts["number", "symbolic", step] for step in STEPS] == [0, 0, 0, 1]
    assert [counts["letter", kind, step] for kind in KINDS for step in STEPS] == [0] * 8


def test_several_scores_for_one_checkpoint_are_refused() -> None:
    scores = scores_of({("number", 0, 0): [(1, 1)] * 4})
    with pytest.raises(ValueError, match="choose one tau"):
        first_pure_steps(pd.concat([scores, scores]), [0.2])


def test_a_query_or_tau_that_was_not_measured_is_named() -> None:
    scores = scores_of({("number", 3, 0): [(1, 1)] * 4}).assign(query="last", tau=1e-4, hops=0)
    assert len(scores_at(scores, 0.0001)) == 4
    with pytest.raises(InputError, match=r"task number, seed 3 have no query 'hop-2' .* queries last and taus 0\.0001"):
        scores_at(scores, 1e-4, query="hop-2")
    with pytest.raises(InputError, match=r"at tau 0\.001"):
        scores_at(scores, 1e-3)
    with pytest.raises(InputError, match="hops 2"):
        scores_at(scores, 1e-4, hops=2)


PAIRS = st.lists(st.tuples(st.sampled_from(LEVELS), st.sampled_from(LEVELS)), min_size=len(STEPS), max_size=len(STEPS))
HEADS = st.dictionaries(
    st.tuples(st.sampled_from(["number", "letter"]), st.integers(0, 1), st.integers(0, 2)), PAIRS, min_size=1
)


@settings(max_examples=60, deadline=None)
@given(HEADS, st.sampled_from([0.2, 0.1, 0.05]))
def test_agrees_with_the_definition(heads: dict[tuple[str, int, int], list[tuple[float, float]]], gamma: float) -> None:
    wanted = set()
    for (task, seed, layer), pairs in heads.items():
        for kind, ordered in (("positional", pairs), ("symbolic", [pair[::-1] for pair in pairs])):
            pure = [own >= 1 - gamma and other <= gamma for own, other in ordered]
            starts = [step for number, step in enumerate(STEPS) if all(pure[number:])]
            if starts:
                wanted.add((task, seed, layer, kind, gamma, starts[0]))
    scores = scores_of(heads)
    found = as_tuples(first_pure_steps(scores, [gamma]))
    assert found == wanted
    for row in pure_head_counts(scores, [gamma]).itertuples():
        assert row.heads == sum(
            (task, seed, kind) == (row.task, row.seed, row.kind) and first <= row.step
            for task, seed, _, kind, _, first in wanted
        )
