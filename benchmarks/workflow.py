"""What the workflow costs besides computing: start to first training step, DAG, a rerun with nothing to do, the stages' start.

Everything runs in a private copy of the workflow in a temporary folder. Wall time; on a busy machine it measures the others
too, so look at the load that is printed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import common

PARTS = ("Snakefile", "config.yaml", "workflow", "envs", "profiles")
SEEDS = (2, 20, 100)


def copy_workflow(folder: Path) -> None:
    """The workflow's own files."""
    for part in PARTS:
        source = common.ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / part)


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start Snakemake in `folder`, with this Python's environment first on the path."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def run(folder: Path, *arguments: str) -> float:
    """Wall seconds of a Snakemake run that has to succeed."""
    began = time.perf_counter()
    if start(folder, *arguments).wait() != 0:
        raise SystemExit(f"error: snakemake {' '.join(arguments)} failed")
    return time.perf_counter() - began


def to_first_step(folder: Path) -> float:
    """Wall seconds from starting the quick experiment to its first optimizer step: then a checkpoint of step 0 is there."""
    began = time.perf_counter()
    process = start(folder, "--cores", "2", "--configfile", "workflow/config/quick.yaml")
    try:
        while not list((folder / "results" / "quick").glob("resume/*/*/checkpoints/step-00000")):
            if process.poll() is not None:
                raise SystemExit("error: the quick experiment ended before its first training step")
            time.sleep(0.02)
        return time.perf_counter() - began
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def stage_seconds(folder: Path) -> tuple[float, float]:
    """Of all jobs of a run: wall seconds that Snakemake saw, and those until a stage's own work began (Python and imports)."""
    tables = list(folder.glob("results/*/benchmarks/*.tsv"))
    wall = sum(float(table.read_text().splitlines()[1].split("\t")[0]) for table in tables)
    began = time.perf_counter()
    imports = "import torch, numpy, pandas, pyarrow.parquet, safetensors"
    subprocess.run([sys.executable, "-c", imports], check=True)
    return wall, (time.perf_counter() - began) * len(tables)


def main() -> None:
    parser = common.parser(__doc__)
    parser.set_defaults(repetitions=3)
    arguments = parser.parse_args()
    rows = []
    one = common.figure
    repeat = arguments.repetitions

    def several(work) -> float:  # type: ignore[no-untyped-def]
        return float(np.median([work() for _ in range(repeat)]))

    for seeds in SEEDS:
        with TemporaryDirectory() as name:
            folder = Path(name)
            copy_workflow(folder)
            config = folder / "config.yaml"
            text = re.sub(r"^seeds: .*$", f"seeds: {list(range(seeds))}", config.read_text(), flags=re.MULTILINE)
            config.write_text(text)
            seconds = several(lambda folder=folder: run(folder, "-n"))  # type: ignore[misc]
            rows.append(one("dag", f"dry run of the paper's experiment, 2 tasks x {seeds} seeds", "s", seconds, repeat))
    with TemporaryDirectory() as name:
        folder = Path(name)
        copy_workflow(folder)
        tiny = ("--cores", "1", "--configfile", "workflow/config/tiny.yaml")
        wall = run(folder, *tiny)
        in_jobs, importing = stage_seconds(folder)
        rerun = several(lambda: run(folder, *tiny))
        jobs = len(list(folder.glob("results/*/benchmarks/*.tsv")))
    rows.append(one("dag", f"rerun of the tiny experiment ({jobs} jobs) with nothing to do", "s", rerun, repeat))
    rows.append(one("start", f"tiny experiment, {jobs} jobs that compute next to nothing, 1 core", "s", wall))
    rows.append(one("start", "a job of it: Python, imports, reading and writing", "s", in_jobs / jobs))
    rows.append(
        one("start", "a job of it: the interpreter with torch, pandas and pyarrow alone", "s", importing / jobs)
    )
    rows.append(one("start", "a job of it: Snakemake's own part", "s", (wall - in_jobs) / jobs))
    firsts = []
    for _ in range(repeat):
        with TemporaryDirectory() as name:
            copy_workflow(Path(name))
            firsts.append(to_first_step(Path(name)))
    first = float(np.median(firsts))
    rows.append(
        one("start", "quick experiment from `snakemake` to the first training step, 2 cores", "s", first, repeat)
    )
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    common.report(rows, write=arguments.write)


if __name__ == "__main__":
    main()
