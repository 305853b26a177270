"""A real pretrained model from the package index: real weights, tokenizer and chat template, through Snakemake."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from test_block_swaps import brute_force

from posym.llm import heads, models, onehop
from workflow_runs import Checkout, copy_workflow

OVERLAY = """
experiment: small
llm:
  lengths: [12, 24]
  runs: 1
  items: 3
  slot_bands: 3
  heads: {length: 8, blocks: 4, items: 2, bootstrap_samples: 50}
"""
MODEL = "local_SmolLM2-135M-Instruct"
pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = copy_workflow(tmp_path_factory.mktemp("smollm2") / "checkout")
    (checkout.folder / "small.yaml").write_text(OVERLAY)
    checkout.run("--cores", "1", "--configfile", "workflow/config/llm-local.yaml", "small.yaml", config=None)
    return checkout


def test_both_games_two_lengths_a_dozen_prompts(finished: Checkout) -> None:
    results = finished.folder / "results" / "small"
    table = pd.read_parquet(results / "llm" / f"{MODEL}.parquet")
    whole = table[table["slot_band"] == 0]
    assert len(whole) == 2 * 2 * 2  # tasks, lengths, methods
    assert whole["items"].tolist() == [3] * 8
    assert whole["failed"].sum() == 0
    assert (whole[whole["method"] == "reply"]["tokens_out"] > 0).all()
    replies = pd.read_parquet(results / "llm" / f"{MODEL}-replies.parquet")
    assert len(replies) == 24
    assert replies[replies["method"] == "reply"]["reply"].str.len().gt(0).all()
    for name in ("llm_games", f"llm_heads.{MODEL}"):
        assert (results / "figures" / f"{name}.png").stat().st_size > 0
    scores = pd.read_parquet(results / "llm" / f"{MODEL}-heads.parquet")
    assert len(scores) == 2 * 30 * 9 * 33
    assert scores[["positional", "symbolic"]].to_numpy().min() >= 0
    assert scores[["positional", "symbolic"]].to_numpy().max() <= 1 + 1e-5
    assert finished.jobs("--configfile", "workflow/config/llm-local.yaml", "small.yaml", config=None) == {}


def test_head_scores_are_those_of_brute_force(finished: Checkout) -> None:
    torch.set_num_threads(1)
    folder: Path = finished.folder / "results" / "small" / "llm" / "models" / MODEL
    model, tokenizer = models.load(models.location(folder), "float32", "cpu")
    items = onehop.make_items("number", 0, 8, 1, 4)
    scores, rope = heads.measure_heads(model, tokenizer, "number", items, 4, 1e-2, lambda _: None)
    torch.testing.assert_close(
        rope.angles, 100000.0 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64), rtol=1e-5, atol=0
    )
    rows, first, tokens = heads.block_inputs(tokenizer, "number", items)
    positional, symbolic = brute_force(model, torch.tensor(rows[0]), heads.cut_blocks(first, tokens, 4), 1e-2)
    torch.testing.assert_close(scores.positional[0, ..., 0].double(), positional, atol=1e-3, rtol=0)
    torch.testing.assert_close(scores.symbolic[0, ..., 0].double(), symbolic, atol=1e-3, rtol=0)
