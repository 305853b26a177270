"""What is kept of a run, and what is said about it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import publish
from workflow_runs import Checkout


def test_costs_are_summed_by_rule(tmp_path: Path) -> None:
    header = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
    for name, row in {
        "training.number.seed-0": "120\t0:02:00\t700\t1\t1\t1\t1\t1\t50\t60",
        "training.letter.seed-0": "60\t0:01:00\t800\t1\t1\t1\t1\t1\t50\t30",
        "theory": "6\t0:00:06\t300\t1\t1\t1\t1\t1\t50\t6",
    }.items():
        (tmp_path / f"{name}.tsv").write_text(header + row + "\n")
    costs = publish.job_costs(tmp_path)
    assert list(costs) == ["training", "theory"]
    assert costs["training"] == {"jobs": 2, "wall_minutes": 3.0, "cpu_minutes": 1.5, "memory_mb": 800}


def test_a_finished_run_is_kept_without_anything_large(
    finished: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(finished.folder)
    monkeypatch.setenv("GIT_DIR", str(Path(__file__).parents[2] / ".git"))
    (finished.folder / "results/tiny/tables/huge.csv").write_text("x" * (publish.LARGEST + 1))
    out = tmp_path / "reference"
    (out / "tables").mkdir(parents=True)
    (out / "tables" / "gone.csv").write_text("of an earlier run")
    monkeypatch.setattr("sys.argv", ["publish.py", "results/tiny", str(out), "--command", "snakemake --cores all"])
    publish.main()
    run = json.loads((out / "run.json").read_text())
    assert run["rules"]["training"]["jobs"] == 2
    assert run["models"]["letter/seed-0"]["last_checkpoint"] == "step-00040"
    manifest = json.loads((finished.folder / "data/tiny/number/manifest.json").read_text())
    assert run["data"]["number"]["train.parquet"] == manifest["files"]["train.parquet"]["digest"]
    assert run["larger than 400 kB and left out"] == ["tables/huge.csv"]
    kept = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {"scorecard.json", "figures/length.png", "measurements/letter/seed-0/accuracy.parquet"} <= kept
    assert not kept & {"tables/gone.csv", "tables/huge.csv"}
    assert not any("checkpoint" in name for name in kept)
    assert str(Path.home()) not in (out / "run.json").read_text()
    assert os.uname().nodename not in (out / "run.json").read_text().split('"')
    shutil.rmtree(out)
