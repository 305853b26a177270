"""The extra tokens of the length study leave every chain and answer as they are."""

from __future__ import annotations

import numpy as np
import pytest

import length_curve as study
from posym.tasks.base import Array, Task


@pytest.mark.parametrize("kind", ["own", "without answer", "one token"])
def test_the_answer_stays(task: Task, kind: str) -> None:
    cores = task.sample(np.random.default_rng(1), 80)
    allowed = study.allowed_tokens(task, cores, kind)

    def with_prefixes(extra: int) -> Array:
        return task.extend(np.random.default_rng(0), cores, extra, np.arange(len(cores)), allowed)

    tokens = with_prefixes(30)
    assert (tokens[:, 30:] == cores.tokens).all()
    for row, answer in zip(tokens, cores.answer, strict=True):
        solution = task.solve(row)
        assert solution.answer == answer
    prefixes = tokens[:, :30]
    assert len(np.unique(prefixes, axis=0)) > 40  # not shared
    if kind == "one token":
        assert (prefixes == prefixes[:, :1]).all()
    if kind == "without answer":
        assert not (prefixes == cores.answer[:, None]).any()
    shorter = with_prefixes(10)
    assert (shorter[:, :10] == prefixes[:, :10]).all()
