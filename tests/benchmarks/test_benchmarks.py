"""What the benchmarks compare gives the same results, and their table is the one in results.csv."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import common
import growth
import long_inputs
import swap_scores
from posym.measure.scores import measure_items
from small import sharp_parameters


@pytest.mark.parametrize("peer", ["blocks", "attention"])
def test_peers_of_the_score_give_the_same_scores(peer: str) -> None:
    parameters = sharp_parameters(common.paper_shape(layers=3), scale=3.0).to(dtype=torch.float64)
    items = common.number_items(4)
    tokens, tau = torch.from_numpy(items.tokens), 1e-2
    if peer == "blocks":
        wanted = swap_scores.scores_by_blocks(swap_scores.peer_model(parameters), tokens, tau)
    else:
        wanted = swap_scores.scores_by_attention(parameters, tokens, tau)
    _, found = measure_items(parameters, swap_scores.last_query_only(items), [tau])
    for name, expected in zip(("positional", "symbolic"), wanted, strict=True):
        ours = torch.stack([getattr(layer, name)[:, 0] for layer in found["last"]])
        assert ours.std() > 0.01
        # transformers makes RoPE's sines in float32, whatever the model's precision
        torch.testing.assert_close(ours, expected, atol=1e-4 if peer == "blocks" else 1e-9, rtol=0)


def test_plain_way_of_long_inputs_gives_the_same_margins() -> None:
    parameters = sharp_parameters(common.paper_shape(layers=2), scale=3.0).to(dtype=torch.float64)
    assert long_inputs.largest_difference(parameters, 40) < 1e-9


def test_exponent_of_a_power() -> None:
    assert growth.exponent([1, 2, 4, 8], [3.0, 12.0, 48.0, 192.0]) == pytest.approx(2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_one_sentence_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/gpu.py"], cwd=common.ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "PyTorch sees no GPU on this machine, so there is nothing to measure.\n"


def test_readme_has_the_table_of_results() -> None:
    assert common.table() in common.README.read_text(encoding="utf-8")
