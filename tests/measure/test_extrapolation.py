"""Long inputs: sharing a prefix changes nothing, and intervals count prefixes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posym.errors import InputError
from posym.measure.bootstrap import item_weights, mean_interval, resampling_weights, share_interval
from posym.measure.extrapolation import answers_along_axis, answers_on_long_inputs, extrapolation_rows
from posym.model import Shape, answer_logits
from posym.tasks.base import Task
from posym.tasks.dataset import long_input_cores, split_sequences
from small import sharp_parameters


@pytest.mark.parametrize("batch_tokens", [1, 500, 10**6])
def test_shared_prefix_equals_plain_forward(task: Task, batch_tokens: int) -> None:
    test = split_sequences(task, {"test": 800}, seed=0)["test"]
    inputs = long_input_cores(task, test, items=16, prefixes=8, seed=0)
    tokens = task.extend(np.random.default_rng(0), inputs.cores, 60, inputs.prefix)
    shape = Shape(vocabulary=len(task.vocabulary.tokens), layers=2, hidden_size=16, mlp_size=32, positions=128)
    parameters = sharp_parameters(shape).to(dtype=torch.float64)
    shuffled = np.random.default_rng(1).permutation(16)
    correct, margin = answers_on_long_inputs(
        parameters, tokens[shuffled], inputs.cores.answer[shuffled], 60, inputs.prefix[shuffled], batch_tokens
    )
    logits = answer_logits(parameters, torch.from_numpy(tokens[shuffled])).numpy()
    own = logits[np.arange(16), inputs.cores.answer[shuffled]]
    logits[np.arange(16), inputs.cores.answer[shuffled]] = -np.inf
    np.testing.assert_allclose(margin, own - logits.max(axis=1), atol=1e-9)
    assert (correct == (margin > 0)).all()


@pytest.mark.parametrize("batch_tokens", [1, 500])
def test_one_pass_serves_every_length(task: Task, batch_tokens: int) -> None:
    test = split_sequences(task, {"test": 800}, seed=0)["test"]
    inputs = long_input_cores(task, test, items=16, prefixes=8, seed=0)
    axis = [0, 60, 7]
    tokens = [task.extend(np.random.default_rng(0), inputs.cores, extra, inputs.prefix) for extra in axis]
    shape = Shape(vocabulary=len(task.vocabulary.tokens), layers=2, hidden_size=16, mlp_size=32, positions=128)
    parameters = sharp_parameters(shape).to(dtype=torch.float64)
    answer, done = inputs.cores.answer, []
    along = answers_along_axis(parameters, tokens, answer, axis, inputs.prefix, batch_tokens, tell=done.append)
    assert done[-1] == 8
    for extra, given, found in zip(axis, tokens, along, strict=True):
        correct, margin = answers_on_long_inputs(parameters, given, answer, extra, inputs.prefix, 10**6)
        assert (found.correct == correct).all()
        np.testing.assert_allclose(found.margin, margin, atol=1e-9)
    other = tokens[2].copy()
    other[5, 3] += 1
    with pytest.raises(InputError, match="does not begin"):
        answers_along_axis(parameters, [*tokens[:2], other], answer, axis, inputs.prefix, batch_tokens)


def test_unequal_sharing_is_refused() -> None:
    shape = Shape(vocabulary=5, layers=1, hidden_size=4, mlp_size=4, positions=16)
    with pytest.raises(InputError, match="equally"):
        answers_on_long_inputs(
            sharp_parameters(shape), np.zeros((3, 4), int), np.zeros(3, int), 1, np.array([0, 0, 1]), 10
        )


def test_rows_by_hand() -> None:
    hops = np.array([1, 1, 1, 1, 2, 2, 2, 2])
    prefix = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    correct = np.array([True, True, True, True, True, False, False, False])
    rows = extrapolation_rows(9, 10, 27, hops, prefix, correct, np.arange(8.0), samples=200, seed=0)
    assert [row["hops"] for row in rows] == [0, 1, 2]
    assert [row["accuracy"] for row in rows] == [5 / 8, 1.0, 0.25]
    assert [row["prefixes"] for row in rows] == [4, 2, 2]
    assert [row["logit_margin"] for row in rows] == [3.5, 1.5, 5.5]
    assert rows[1]["high"] == 1.0
    assert rows[1]["low"] == pytest.approx(2 / (2 + 1.959964**2))  # Wilson with two clusters, both right


def test_clustered_interval_is_wider_than_one_over_items() -> None:
    """100 clusters of 10 equal items hold 100 observations, not 1000."""
    outcomes = np.random.default_rng(0).random(100) < 0.5
    correct = np.repeat(outcomes, 10)
    clustered = share_interval(correct, np.repeat(np.arange(100), 10), 2000, seed=1)
    itemwise = share_interval(correct, np.arange(1000), 2000, seed=1)
    ratio = (clustered[1] - clustered[0]) / (itemwise[1] - itemwise[0])
    assert ratio == pytest.approx(np.sqrt(10), rel=0.15)


def test_bootstrap_interval_matches_the_normal_one() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, 400)
    low, high = mean_interval(values, resampling_weights(np.arange(400), 4000, seed=0))
    half = 1.96 * values.std() / 20
    assert low == pytest.approx(values.mean() - half, abs=0.03)
    assert high == pytest.approx(values.mean() + half, abs=0.03)


def test_weights_of_items_are_those_of_clusters_of_one() -> None:
    rows = np.array([3, 5, 8, 9])
    np.testing.assert_array_equal(item_weights(4, 20, 7), resampling_weights(rows, 20, 7))
