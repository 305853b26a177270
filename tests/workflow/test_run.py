"""The tiny experiment from data to figures, killed and not killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import pandas as pd
import psutil
import pyarrow.parquet as pq
import pytest
import yaml
from transformers import GPTJForCausalLM

from workflow_runs import ROOT, Checkout

MEASUREMENTS = (
    "scores",
    "extrapolation",
    "ablation",
    "discrepancy",
    "flow",
    "frequencies",
    "functions",
    "geometry",
    "patching",
    "restriction",
)
SEED_FOLDERS = [f"{task}/seed-0" for task in ("number", "letter")]


def test_everything_is_there(finished: Checkout) -> None:
    results = finished.folder / "results" / "tiny"
    for folder in SEED_FOLDERS:
        manifest = json.loads((results / "models" / folder / "manifest.json").read_text())
        assert list(manifest["checkpoints"]) == [f"step-{step:05d}" for step in (0, 10, 20, 30, 40)]
        model = GPTJForCausalLM.from_pretrained(results / "models" / folder / "checkpoints" / "step-00040")
        assert model.config.n_positions == 64
        measured = results / "measurements" / folder
        accuracy, scores, long = (
            pd.read_parquet(measured / f"{name}.parquet") for name in ("accuracy", "scores", "extrapolation")
        )
        assert sorted(accuracy.step.unique()) == [0, 10, 20, 30, 40]
        assert (accuracy.correct / accuracy["items"] == accuracy.accuracy).all()
        assert len(scores) == 5 * 3 * 3 * (3 + 2)  # steps, layers, taus, hop groups of the two queries
        assert long.length.tolist() == [9] * 3 + [14] * 3 + [29] * 3
        assert (long.low <= long.accuracy).all()
        assert (long.accuracy <= long.high).all()
    names = yaml.safe_load((finished.folder / "config.yaml").read_text())["figures"]["names"]
    for name in (*names, "theory_discrepancy", "theory_corrections"):
        assert (results / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (results / "figures" / f"{name}.svg").stat().st_size > 1000
        assert len(pd.read_csv(results / "tables" / f"{name}.csv")) > 0
    claims = json.loads((results / "scorecard.json").read_text())
    assert [claim["id"] for claim in claims] == [str(number) for number in range(1, 14)]
    assert {claim["id"] for claim in claims if claim["verdict"] == "not run"} == {"13"}
    assert "# Scorecard of `tiny`" in (results / "scorecard.md").read_text()
    assert not (results / "resume").exists()
    assert (results / "report.html").read_text().startswith("<!DOCTYPE html>")
    jobs = (
        3 * 2 + len(MEASUREMENTS) * 2 + 11 + 2 + 2
    )  # data, training, measurements, figures, theory, scorecard, report
    assert len(list((results / "logs").iterdir())) == len(list((results / "benchmarks").iterdir())) == jobs


def test_a_second_run_has_nothing_to_do(finished: Checkout) -> None:
    assert "Nothing to be done" in finished.run("--cores", "2")


def test_no_file_names_the_machine(finished: Checkout) -> None:
    """Tables and manifests are published: they hold no path of whoever made them."""
    for path in [*finished.folder.glob("data/**/*"), *finished.folder.glob("results/tiny/m*/**/*")]:
        if path.suffix in (".json", ".parquet"):
            assert str(Path.home()).encode() not in path.read_bytes(), path


def weights(checkout: Checkout) -> dict[str, dict[str, str]]:
    """Digest of every checkpoint, by model."""
    models = checkout.folder / "results" / "tiny" / "models"
    return {
        folder: json.loads((models / folder / "manifest.json").read_text())["checkpoints"] for folder in SEED_FOLDERS
    }


def trainings(checkout: Checkout) -> list[psutil.Process]:
    """The training processes that run in this checkout, and in no other folder of the machine."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if Path(process.cwd()) == checkout.folder and any(
                part.endswith("train.py") for part in process.cmdline()[:2]
            ):
                found.append(process)
    return found


@pytest.mark.parametrize("victim", ["training", "everything"])
def test_killed_training_resumes_bit_for_bit(checkout: Checkout, finished_once: Checkout, victim: str) -> None:
    checkout.run("--cores", "2", "--until", "datasets")
    tables = [
        f"results/tiny/measurements/{folder}/{name}.parquet"
        for folder in SEED_FOLDERS
        for name in ("accuracy", "scores", "extrapolation")
    ]
    process = checkout.start("--cores", "2", *tables, start_new_session=True)
    resume = checkout.folder / "results" / "tiny" / "resume"
    deadline = time.monotonic() + 120
    while not list(resume.glob("*/*/state.safetensors")):
        assert time.monotonic() < deadline, "training never saved a state"
        time.sleep(0.002)
    if victim == "everything":
        os.killpg(process.pid, signal.SIGKILL)  # Snakemake and all its jobs at once, as a power cut does
        process.communicate()
        checkout.run("--unlock")
    else:
        for training in trainings(checkout):
            training.kill()
        process.communicate()
    checkout.run("--cores", "2", "--rerun-incomplete", "--", *tables)
    assert weights(checkout) == weights(finished_once)
    for table in tables:
        assert pq.read_table(checkout.folder / table).equals(pq.read_table(finished_once.folder / table)), table


def test_paper_configuration_lists_the_jobs_one_expects(checkout: Checkout) -> None:
    wanted = {
        "datasets": 2,
        "long_inputs": 2,
        "training": 6,
        **dict.fromkeys(MEASUREMENTS, 6),
        "figures": 11,
        "theory": 1,
        "theory_figures": 1,
        "scorecard": 1,
        "report": 1,
    }
    assert checkout.jobs("--cores", "2", config=None) == wanted


def test_a_hundred_seeds(checkout: Checkout) -> None:
    (checkout.folder / "many.yaml").write_text(f"seeds: {list(range(100))}\n")
    jobs = checkout.jobs("--cores", "2", "--configfile", "many.yaml", config=None)
    assert (jobs["training"], jobs["scores"], jobs["figures"]) == (200, 200, 11)


@pytest.mark.parametrize("overlay", sorted(path.stem for path in (ROOT / "workflow" / "config").glob("*.yaml")))
def test_every_overlay_is_a_valid_experiment(checkout: Checkout, overlay: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):  # llm-api asks for them; a dry run calls nobody
        monkeypatch.setenv(key, "unused")
    assert checkout.jobs("--cores", "2", config=overlay)
