"""What the benchmarks share: timing side by side, the machine in words, and the table they write.

`python benchmarks/common.py` writes the table of README.md anew from results.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

import numpy as np
import torch

from posym.model import Parameters, Shape, initial_parameters
from posym.tasks import make_task
from posym.tasks.base import Sequences, Task

RESULTS = ROOT / "benchmarks" / "results.csv"
README = ROOT / "benchmarks" / "README.md"
TABLE_START, TABLE_END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
COLUMNS = (
    *("work", "case", "ours", "peer", "unit", "peer_name", "ratio_min", "ratio_median", "ratio_max"),
    *("limit_fraction", "repetitions", "device", "command", "date"),
)
Seconds = dict[str, list[float]]


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold PyTorch to one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that `work` takes; with `time.process_time`, those of this process alone, however busy the machine is."""
    start = clock()
    work()
    return clock() - start


def side_by_side(contenders: dict[str, Callable[[], object]], repetitions: int) -> Seconds:
    """CPU seconds of every contender, one value a repetition; all take turns, and a first round is not counted."""
    seconds: Seconds = {name: [] for name in contenders}
    for turn in range(repetitions + 1):
        for name, work in contenders.items():
            value = timed(work, time.process_time)
            if turn > 0:
                seconds[name].append(value)
    return seconds


def cpu_name() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def machine() -> str:
    """The machine in words."""
    return f"{cpu_name()}, {os.cpu_count()} cores, Python {platform.python_version()}, PyTorch {torch.__version__}"


def row(
    work: str,
    case: str,
    unit: str,
    ours: list[float],
    peer: list[float],
    peer_name: str,
    *,
    value: Callable[[float], float] = lambda seconds: seconds,
    limit_fraction: str = "",
    device: str = "",
) -> dict[str, Any]:
    """One comparison from paired seconds; `value` turns seconds into the `unit` shown."""
    ratios = [other / own for other, own in zip(peer, ours, strict=True)]
    return {
        "work": work,
        "case": case,
        "ours": f"{value(statistics.median(ours)):.3g}",
        "peer": f"{value(statistics.median(peer)):.3g}",
        "unit": unit,
        "peer_name": peer_name,
        "ratio_min": f"{min(ratios):.2f}",
        "ratio_median": f"{statistics.median(ratios):.2f}",
        "ratio_max": f"{max(ratios):.2f}",
        "limit_fraction": limit_fraction,
        "repetitions": len(ratios),
    } | provenance(device)


def figure(work: str, case: str, unit: str, ours: float, repetitions: int = 1) -> dict[str, Any]:
    """One measured value without a peer."""
    return (
        dict.fromkeys(COLUMNS, "")
        | {"work": work, "case": case, "ours": f"{ours:.3g}", "unit": unit, "repetitions": repetitions}
        | provenance()
    )


def provenance(device: str = "") -> dict[str, str]:
    """Where and how a row was measured."""
    return {
        "device": device or cpu_name(),
        "command": " ".join(["python", Path(sys.argv[0]).relative_to(Path.cwd()).as_posix(), *sys.argv[1:]])
        if Path(sys.argv[0]).is_absolute()
        else " ".join(["python", *sys.argv]),
        "date": datetime.now(UTC).date().isoformat(),
    }


def parser(description: str | None) -> argparse.ArgumentParser:
    """An argument parser with `--repetitions` and `--write`."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--repetitions", type=int, default=5, help="paired repetitions (default: %(default)s)")
    made.add_argument("--write", action="store_true", help="append the rows to benchmarks/results.csv and its README")
    return made


def report(rows: list[dict[str, Any]], *, write: bool) -> None:
    """Print rows and, where asked, append them to results.csv and write README's table anew."""
    print(machine())
    for one in rows:
        print(f"{one['work']}: {one['case']}")
        versus = f"; {one['peer_name']}: {one['peer']}" if one["peer"] else ""
        ratio = f"; ratio {one['ratio_median']} [{one['ratio_min']}, {one['ratio_max']}]" if one["peer"] else ""
        print(f"    {one['ours']} {one['unit']}{versus}{ratio}")
    if write:
        new = not RESULTS.exists()
        with RESULTS.open("a", newline="", encoding="utf-8") as handle:
            writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerows(rows)
        write_table()


def table() -> str:
    """results.csv as a Markdown table."""
    with RESULTS.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    lines = [
        "| work | case | ours | peer | unit | ratio [min, max] | of the limit | n | command, date |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in rows:
        peer = f"{one['peer']} ({one['peer_name']})" if one["peer"] else ""
        ratio = f"{one['ratio_median']} [{one['ratio_min']}, {one['ratio_max']}]" if one["peer"] else ""
        cells = (
            *(one["work"], one["case"], one["ours"], peer, one["unit"], ratio, one["limit_fraction"]),
            *(one["repetitions"], f"`{one['command']}`, {one['date']}, {one['device']}"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write_table() -> None:
    """Put the table between README's two marks."""
    before, rest = README.read_text(encoding="utf-8").split(TABLE_START)
    _, after = rest.split(TABLE_END)
    README.write_text(before + TABLE_START + table() + TABLE_END + after, encoding="utf-8")


def paper_shape(*, vocabulary: int = 136, layers: int = 12) -> Shape:
    """The paper's model."""
    return Shape(vocabulary, layers, hidden_size=128, mlp_size=512, positions=5120)


def paper_model(*, layers: int = 12, device: str = "cpu") -> Parameters:
    """The paper's model before training: speed does not depend on what it learned."""
    return initial_parameters(paper_shape(layers=layers), seed=0, standard_deviation=0.02).to(device=device)


def number_task() -> Task:
    """The paper's number task."""
    return make_task("number", {"target_window": 8, "pre_target_window": 8, "hops": 4}, {"letters": 120})


def number_items(count: int) -> Sequences:
    """`count` sequences of the number task."""
    return number_task().sample(np.random.default_rng(0), count)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    write_table()
