"""The loop around an engine: schedule, resume, refusals. Kills through Snakemake are in tests/workflow."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from filelock import FileLock

from posym.contracts.training import TRAINING
from posym.errors import InputError
from posym.model import Parameters, Shape, load_checkpoint
from posym.tables import read_table
from posym.training import loop
from posym.training.cpu import CpuEngine
from posym.training.loop import Run, checkpoint_steps
from posym.training.recipe import Recipe

SHAPE = Shape(vocabulary=12, layers=2, hidden_size=8, mlp_size=16, positions=32)
RECIPE = Recipe(40, 8, 1e-3, 5, (0.9, 0.999), 1e-8, 1e-4, 1.0, 0.1, seed=0)
TOKENS = torch.randint(0, 12, (100, 5), generator=torch.Generator().manual_seed(0))
ANSWERS = TOKENS[:, 0]


class Killed(BaseException):
    """Stands for the end of the process."""


def run(
    folder: Path, *, die_after: int | None = None, recipe: Recipe = RECIPE, name: str = "out", **identity: object
) -> list[int]:
    """Train; return the steps that were really done. `die_after` engine calls the process ends."""
    done: list[int] = []

    class Engine(CpuEngine):
        def run(self, start: int, stop: int):  # type: ignore[no-untyped-def]
            if die_after is not None and len(done) >= die_after:
                raise Killed
            done.append(start)
            return super().run(start, stop)

    training = Run(
        folder / name, folder / "resume", {"seed": 0, **identity}, SHAPE, recipe, checkpoint_steps(40, 10, [3]), 0.02
    )
    training(lambda parameters, moments: Engine(parameters, TOKENS, ANSWERS, recipe, moments))
    return done


def test_schedule() -> None:
    assert checkpoint_steps(6750, 50, [])[:3] == [0, 50, 100]
    assert len(checkpoint_steps(6750, 50, [])) == 136  # the paper's
    assert checkpoint_steps(25, 10, [3]) == [0, 3, 10, 20, 25]


def test_results(tmp_path: Path) -> None:
    run(tmp_path)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert list(manifest["checkpoints"]) == [
        "step-00000",
        "step-00003",
        "step-00010",
        "step-00020",
        "step-00030",
        "step-00040",
    ]
    for name, digest in manifest["checkpoints"].items():
        load_checkpoint(tmp_path / "out" / "checkpoints" / name, digest)
    table = read_table(tmp_path / "out" / "training.parquet", TRAINING).to_pandas()
    assert table.step.tolist() == list(range(40))
    assert table.learning_rate[0] == 0
    assert table.learning_rate[5] == pytest.approx(1e-3)
    assert table.loss[:5].mean() == pytest.approx(np.log(12), abs=0.1)


@pytest.mark.parametrize("die_after", range(5))
def test_a_killed_run_goes_on_and_ends_bit_for_bit_the_same(tmp_path: Path, die_after: int) -> None:
    whole = tmp_path / "whole"
    run(whole)
    broken = tmp_path / "broken"
    with pytest.raises(Killed):
        run(broken, die_after=die_after)
    assert not (broken / "out").exists()
    done = run(broken)
    assert done == [0, 3, 10, 20, 30][die_after:]  # nothing is done twice
    a, b = (json.loads((folder / "out" / "manifest.json").read_text()) for folder in (whole, broken))
    assert a["checkpoints"] == b["checkpoints"]
    assert pq.read_table(whole / "out" / "training.parquet").equals(pq.read_table(broken / "out" / "training.parquet"))


def test_a_rerun_after_results_were_lost_trains_nothing(tmp_path: Path) -> None:
    """Snakemake deletes the outputs of a job that was killed between its last write and its end."""
    run(tmp_path, name="out")
    first = (tmp_path / "out" / "checkpoints" / "step-00040" / "model.safetensors").read_bytes()
    assert run(tmp_path, name="again") == []
    assert (tmp_path / "again" / "checkpoints" / "step-00040" / "model.safetensors").read_bytes() == first


@pytest.mark.parametrize("change", ["identity", "truncated state", "flipped checkpoint", "missing checkpoint"])
def test_what_cannot_be_trusted_is_not_resumed(tmp_path: Path, change: str) -> None:
    with pytest.raises(Killed):
        run(tmp_path, die_after=3)
    (work,) = (path for path in (tmp_path / "resume").iterdir() if path.is_dir())
    if change == "identity":
        assert run(tmp_path, device="another")[0] == 0
        assert not work.exists()
        return
    weights = work / "checkpoints" / "step-00003" / "model.safetensors"
    if change == "truncated state":
        state = work / "state.safetensors"
        state.write_bytes(state.read_bytes()[:1000])
    elif change == "flipped checkpoint":
        weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    else:
        weights.unlink()
    assert run(tmp_path)[0] == 0


def test_two_writers_are_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "resume").mkdir()
    with FileLock(tmp_path / "resume" / "lock"), pytest.raises(InputError, match="in use by another process"):
        run(tmp_path)


def test_divergence_and_nan_stop_with_a_sentence_and_keep_what_was_good(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lower training.learning_rate \(1000.0\)"):
        run(tmp_path / "a", recipe=replace(RECIPE, learning_rate=1e3))
    assert not (tmp_path / "a" / "out").exists()

    class Broken(CpuEngine):
        def run(self, start: int, stop: int):  # type: ignore[no-untyped-def]
            losses, norms = super().run(start, stop)
            if start == 10:
                losses[4] = np.nan
            return losses, norms

    training = Run(tmp_path / "out", tmp_path / "resume", {}, SHAPE, RECIPE, checkpoint_steps(40, 10, []), 0.02)
    with pytest.raises(InputError, match="the loss is nan at step 14"):
        training(lambda parameters, moments: Broken(parameters, TOKENS, ANSWERS, RECIPE, moments))
    kept = sorted(path.name for path in (tmp_path / "resume").glob("*/checkpoints/*"))
    assert kept == ["step-00000", "step-00010"]


def test_a_state_is_saved_at_least_every_longest_span(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LONGEST_SPAN", 4)
    assert run(tmp_path) == [0, 3, 4, 8, 10, 12, 16, 20, 24, 28, 30, 32, 36]


def test_parameters_of_another_size_are_refused() -> None:
    with pytest.raises(InputError, match="parameters"):
        Parameters(SHAPE, torch.zeros(3))
