"""Index is not symbolic, Retrieval not positional: the pair that a layer of the wrong kind cannot tell apart, on random layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posym.errors import InputError
from posym.tasks.letter import LetterTask
from posym.tasks.number import NumberTask
from posym.theory.constructions import index_layer, retrieval_layer
from posym.theory.impossibility import (
    RandomLayer,
    impossibility_rows,
    index_pair,
    positional_retriever,
    relative_distance,
    retrieval_query_pair,
    retrieval_target_pair,
)
from small import SIZES

NUMBER = NumberTask(**SIZES, letters=120)
LETTER = LetterTask(**SIZES, letters=8, integers=8)
EQUAL = 1e-9
SEEDS = st.integers(0, 2**31)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, beta=st.floats(0.1, 5))
def test_no_symbolic_layer_does_index(seed: int, beta: float) -> None:
    random = np.random.default_rng(seed)
    tokens, answers = index_pair(NUMBER, random)
    for row in (0, 1):
        assert NUMBER.solve(tokens[row]).answer == answers[row]
    assert answers[0] != answers[1]  # the answer must change
    assert sorted(tokens[0]) == sorted(tokens[1])
    generator = torch.Generator().manual_seed(seed)
    pair = torch.from_numpy(tokens)
    layer = RandomLayer("symbolic", len(NUMBER.vocabulary.tokens), beta, generator)
    assert relative_distance(layer(pair)) < EQUAL  # and the output cannot


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, beta=st.floats(0.1, 5))
def test_no_positional_head_reads_what_retrieval_needs(seed: int, beta: float) -> None:
    random = np.random.default_rng(seed)
    tokens, answers = retrieval_query_pair(LETTER, random)
    for row in (0, 1):
        assert LETTER.solve(tokens[row]).answer == answers[row]
    assert answers[0] != answers[1]
    assert (tokens[0] != tokens[1]).sum() == 1
    generator = torch.Generator().manual_seed(seed)
    pair = torch.from_numpy(tokens)
    layer = RandomLayer("positional", len(LETTER.vocabulary.tokens), beta, generator)
    assert relative_distance(layer.read(pair)) < EQUAL


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_no_positional_layer_with_hard_attention_does_retrieval(seed: int) -> None:
    random = np.random.default_rng(seed)
    layer = RandomLayer("positional", len(LETTER.vocabulary.tokens), float("inf"), torch.Generator().manual_seed(seed))
    asked = torch.from_numpy(retrieval_query_pair(LETTER, random)[0])
    seen = layer.attention.attention(asked[:1], last=1)[0, 0].nonzero()[:, 0].numpy()
    tokens, answers = retrieval_target_pair(LETTER, random, seen)
    for row in (0, 1):
        assert LETTER.solve(tokens[row]).answer == answers[row]
    assert answers[0] != answers[1]
    assert relative_distance(layer(torch.from_numpy(tokens))) < EQUAL


def test_layers_of_the_right_kind_do_tell_the_pairs_apart() -> None:
    """The control; a random head can be so sharp that it misses the two slots, so most layers must, not each."""
    told = {"index": 0, "retrieval": 0}
    for seed in range(50):
        random, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
        pair = torch.from_numpy(index_pair(NUMBER, random)[0])
        layer = RandomLayer("positional", len(NUMBER.vocabulary.tokens), 0.5, generator)
        told["index"] += relative_distance(layer(pair)) > 1e-6
        pair = torch.from_numpy(retrieval_query_pair(LETTER, random)[0])
        layer = RandomLayer("symbolic", len(LETTER.vocabulary.tokens), 0.5, generator)
        told["retrieval"] += relative_distance(layer.read(pair)) > 1e-6
    assert min(told.values()) >= 40, told


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_the_constructions_answer_both_of_each_pair(seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = [
        (index_layer(NUMBER, 0.8), index_pair(NUMBER, random)),
        (retrieval_layer(LETTER, 0.0), retrieval_query_pair(LETTER, random)),
        (retrieval_layer(LETTER, 0.0), retrieval_target_pair(LETTER, random, np.array([0]))),
    ]
    for layer, (tokens, answers) in pairs:
        assert layer(torch.from_numpy(tokens), last=1)[:, 0].argmax(-1).tolist() == answers.tolist()


@pytest.mark.parametrize("theta", [0.0, 0.05, 0.8, 3.0])
def test_a_positional_layer_with_softmax_does_retrieval(theta: float) -> None:
    """What limits the statement: the residual carries the question past a head that looks at positions only."""
    layer = positional_retriever(LETTER, theta)
    sequences = LETTER.sample(np.random.default_rng(0), 400)
    single = sequences[np.flatnonzero(sequences.hops == 1)]
    tokens = torch.from_numpy(single.tokens)
    weights = layer.attention(tokens, last=1)[:, 0]
    assert (weights == weights[0]).all()  # whatever the tokens are
    scores = layer(tokens, last=1)[:, 0]
    answers = torch.from_numpy(single.answer)[:, None]
    best_other = scores.scatter(1, answers, float("-inf")).amax(1, keepdim=True)
    assert (scores.gather(1, answers) > best_other + EQUAL).all()


def test_a_head_that_sees_the_whole_window_has_no_such_pair() -> None:
    with pytest.raises(InputError, match="every slot"):
        retrieval_target_pair(LETTER, np.random.default_rng(0), np.arange(17))


def test_rows_say_which_layers_are_of_the_wrong_kind() -> None:
    rows = impossibility_rows(NUMBER, LETTER, trials=5, seed=0)
    assert len(rows) == 5 * 5
    for row in rows:
        assert (row["output_distance"] < EQUAL) == row["impossible"], row  # type: ignore[operator]
