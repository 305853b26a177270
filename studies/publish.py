"""Keep a finished run's small results under docs/reference/, with what made them.

    python studies/publish.py results/paper docs/reference --command "snakemake --cores all"

Copies the scorecard, the PNG figures, and every CSV and measurement table of at most 400 kB, and writes run.json: command, commit,
versions, hardware, data fingerprints, models, and per rule the jobs with their wall and CPU time and memory, from the
`benchmark:` files. No checkpoints.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd

LARGEST = 400_000  # bytes of a table that is kept: the folder is part of every clone
KEPT = (
    "scorecard.json",
    "scorecard.md",
    "figures/*.png",
    "tables/*.csv",
    "measurements/*/*/*.parquet",
    "theory/*.parquet",
)


def job_costs(benchmarks: Path) -> dict[str, dict[str, float]]:
    """Per rule: jobs, minutes of wall and CPU time of all jobs together, and the largest memory of one in MB."""
    rows = []
    for path in sorted(benchmarks.glob("*.tsv")):
        last = pd.read_csv(path, sep="\t").iloc[-1]
        rows.append((path.name.partition(".")[0], last["s"] / 60, last["cpu_time"] / 60, last["max_rss"]))
    table = pd.DataFrame(rows, columns=["rule", "wall_minutes", "cpu_minutes", "memory_mb"])
    made = table.groupby("rule").agg(
        jobs=("rule", "size"),
        wall_minutes=("wall_minutes", "sum"),
        cpu_minutes=("cpu_minutes", "sum"),
        memory_mb=("memory_mb", "max"),
    )
    return made.sort_values("cpu_minutes", ascending=False).round(1).to_dict(orient="index")  # type: ignore[return-value]


def fingerprints(data: Path) -> dict[str, dict[str, str]]:
    """Content digest of every data file, by task."""
    return {
        path.parent.name: {
            name: file["digest"]
            for manifest in sorted(path.parent.glob("*manifest.json"))
            for name, file in json.loads(manifest.read_text(encoding="utf-8"))["files"].items()
        }
        for path in sorted(data.glob("*/manifest.json"))
    }


def models(folder: Path) -> dict[str, dict[str, Any]]:
    """Per model: device, threads, versions, wall time and the digest of its last checkpoint."""
    made = {}
    for path in sorted(folder.glob("*/*/manifest.json")):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        step, digest = max(manifest["checkpoints"].items())
        kept = {name: manifest[name] for name in ("device", "threads", "dtype", "versions")}
        made[f"{path.parts[-3]}/{path.parts[-2]}"] = {**kept, "last_checkpoint": step, "digest": digest}
    return made


def hardware() -> dict[str, Any]:
    """Processor, cores and memory of this machine; no names."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    memory = re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text(encoding="utf-8"))
    name = re.search(r"model name\s*: (.+)", info)
    return {
        "processor": name.group(1) if name else platform.processor(),
        "cores": info.count("processor\t"),
        "memory_gb": round(int(memory.group(1)) / 2**20) if memory else None,
        "system": platform.system(),
    }


def main() -> None:
    """Copy and describe; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="results folder of the experiment")
    parser.add_argument("out", type=Path, help="folder to fill; what it held of an earlier run is removed")
    parser.add_argument("--command", required=True, help="the command that made the run, as typed")
    arguments = parser.parse_args()
    results, out = arguments.results, arguments.out
    for part in ("figures", "tables", "measurements", "theory"):
        shutil.rmtree(out / part, ignore_errors=True)
    left_out = []
    for pattern in KEPT:
        for path in sorted(results.glob(pattern)):
            name = path.relative_to(results)
            if path.suffix != ".png" and path.stat().st_size > LARGEST:
                left_out.append(str(name))
                continue
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, out / name)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    run = {
        "command": arguments.command,
        "commit": commit,
        "hardware": hardware(),
        "rules": job_costs(results / "benchmarks"),
        "models": models(results / "models"),
        "data": fingerprints(Path("data") / results.name),
        "larger than 400 kB and left out": left_out,
    }
    (out / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
