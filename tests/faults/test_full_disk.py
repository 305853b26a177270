"""No space and no leave to write: one sentence that names the file, what was good stays, and with space again it goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from workflow_runs import Checkout

pytestmark = pytest.mark.mount
FIGURE = "results/tiny/figures/accuracy.png"
NUMBER = "results/tiny/measurements/number/seed-0"
MODELS = [f"results/tiny/models/{task}/seed-0/manifest.json" for task in ("number", "letter")]
# Where a small disk is, its size in kB, what is asked for, the log of the job that meets its end, the file it names.
DISKS: dict[str, tuple[str, int, list[str], str, str]] = {
    "data": ("data/tiny/number", 8, ["data/tiny/number/manifest.json"], "datasets.number.log", "data/tiny/number/"),
    "checkpoint": ("results/tiny/resume", 260, MODELS, "training.{task}.seed-0.log", "results/tiny/resume/"),
    "table": (NUMBER, 8, [f"{NUMBER}/scores.parquet"], "scores.number.seed-0.log", "scores.parquet"),
    "figure": ("results/tiny/figures", 16, [FIGURE], "figures.accuracy.log", "results/tiny/figures/accuracy."),
}


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A file system at `folder` while it lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *options, str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def sentences(log: Path) -> list[str]:
    """What a job's log says went wrong; a traceback would be a second one."""
    return [line for line in log.read_text().splitlines() if "error: " in line.lower() or "Traceback" in line]


def test_a_full_disk_at_every_stage(checkout: Checkout, finished_once: Checkout) -> None:
    """Four small disks; each run gets as far as the next one, which then is given space."""
    logs = checkout.folder / "results" / "tiny" / "logs"
    with ExitStack() as disks:
        for folder, size, *_ in DISKS.values():
            disk = disks.enter_context(mounted(checkout.folder / folder, "-t", "tmpfs", "-o", f"size={size}k", "tmpfs"))
            # Snakemake removes folders that a failed job leaves empty, and cannot remove this one.
            (disk / "keep").touch()
        for what, (folder, _, targets, log, named) in DISKS.items():
            before = checkout.products()
            output = checkout.run("--cores", "1", *targets, check=False)
            assert "exit status 1" in output, what
            told = {logs / log.format(task=task) for task in ("number", "letter")}
            said = [sentence for path in told if path.exists() for sentence in sentences(path)]
            assert len(said) == 1, (what, said, output)
            assert "No space left on device" in said[0], what
            assert named in said[0], (what, said)
            after = checkout.products()
            lost = {path for path in before if after.get(path) != before[path]}
            assert not {path for path in lost if "/resume/" not in path}, (what, lost)
            partial = [path for path in (checkout.folder / folder).rglob("*") if ".partial" in path.name]
            assert not partial, (what, partial)
            subprocess.run(["mount", "-o", "remount,size=8m", str(checkout.folder / folder)], check=True)
        checkout.run("--cores", "2", FIGURE)
        trained = [(logs / f"training.{task}.seed-0.log").read_text() for task in ("number", "letter")]
        assert sum("going on from step 10 with 2 checkpoints" in log for log in trained) == 1, trained
        wanted, found = finished_once.products(), checkout.products()
        made = {path for path in found if "/resume/" not in path and not path.endswith("/keep")}
        assert {path: wanted[path] for path in made} == {path: found[path] for path in made}
        assert FIGURE in made


def test_results_that_cannot_be_written(finished: Checkout) -> None:
    """Snakemake says so before any job starts, and nothing is touched. Root may write anywhere, so the disk is read-only."""
    results = finished.folder / "results"
    (results / "tiny" / "figures" / "accuracy.png").unlink()
    before = finished.products()
    with mounted(results, "--bind", str(results)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(results)], check=True)
        output = finished.run("--cores", "1", FIGURE, check=False)
    assert "exit status 1" in output
    assert "Write-protected output files for rule figures" in output
    assert finished.products() == before
    finished.run("--cores", "1", FIGURE)
    assert (finished.folder / FIGURE).exists()
