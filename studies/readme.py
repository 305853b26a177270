"""Write the reference run's numbers into README.md and docs/reference/README.md, so that none of them is typed.

    python studies/readme.py           rewrites the tables between `<!-- numbers: NAME -->` and `<!-- end -->`
    python studies/readme.py --check   says which are out of date, exit status 1 if any is

Everything comes from docs/reference/: scorecard.json, run.json, measurements/, length-study.csv and quick-length.csv.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

import numpy as np
import pandas as pd

from posym import paper
from posym.claims.markdown import with_interval
from posym.claims.verdicts import t_interval

REFERENCE = ROOT / "docs" / "reference"
PAGES = ("README.md", "docs/reference/README.md")
BLOCK = re.compile(r"(<!-- numbers: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
STAGES = {
    "training": ("training",),
    "scores of all checkpoints": ("scores",),
    "long inputs": ("extrapolation",),
    "mechanism": (
        "functions", "frequencies", "ablation", "patching", "restriction", "geometry", "flow", "discrepancy",
    ),
}  # fmt: skip
FEW_LENGTHS = (100, 300, 500, 833)
LENGTHS = (50, 100, 200, 300, 500, 833, 1000, 2000, 5000)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def share(value: float) -> str:
    """A share with two decimals and no leading zero."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def scorecard() -> str:
    """The verdict on every claim with the number that decides it."""
    rows = json.loads((REFERENCE / "scorecard.json").read_text(encoding="utf-8"))
    return table(
        ["", "claim", "verdict", "deciding statistic", "value", "paper"],
        [
            [row["id"], row["claim"], f"**{row['verdict']}**", row["statistic"], with_interval(row), row["paper"]]
            for row in rows
        ],
    )


def job_costs() -> dict[str, dict[str, float]]:
    """Jobs, minutes and memory of every rule."""
    return json.loads((REFERENCE / "run.json").read_text(encoding="utf-8"))["rules"]


def papers_accuracy(task: str, extra: Sequence[int]) -> list[float]:
    """The paper's accuracy over all items at these extra tokens: 1 before its curve begins, straight between its points."""
    curve = paper.LENGTH_CURVES[task]
    return np.interp(extra, list(curve), list(curve.values()), left=1.0).tolist()


def cost() -> str:
    """Core-minutes of one model by stage, and memory."""
    rows, jobs = [], job_costs()
    for stage, names in STAGES.items():
        found = [jobs[name] for name in names]
        minutes = sum(rule["cpu_minutes"] / rule["jobs"] for rule in found)
        rows.append([stage, f"{minutes:.1f}", f"{max(rule['memory_mb'] for rule in found) / 1000:.1f} GB"])
    return table(["for one model", "core-minutes", "memory of a job"], rows)


def rules() -> str:
    """Jobs, wall and CPU time of every rule."""
    return table(
        ["rule", "jobs", "wall, minutes", "CPU, minutes", "largest job, MB"],
        [
            [
                name,
                str(rule["jobs"]),
                f"{rule['wall_minutes']:.1f}",
                f"{rule['cpu_minutes']:.1f}",
                f"{rule['memory_mb']:.0f}",
            ]
            for name, rule in job_costs().items()
        ],
    )


def measurements(name: str) -> pd.DataFrame:
    """One table of all tasks and seeds."""
    parts = []
    for path in sorted(REFERENCE.glob(f"measurements/*/*/{name}.parquet")):
        seed = int(path.parent.name.removeprefix("seed-"))
        parts.append(pd.read_parquet(path).assign(task=path.parts[-3], seed=seed))
    return pd.concat(parts, ignore_index=True)


def interval(values: pd.Series) -> str:
    """Mean over seeds and, from three on, its 95 % t-interval, cut at 0 and 1."""
    mean = float(values.mean())
    if len(values) < 3:
        return share(mean)
    low, high = t_interval(values)
    return f"{share(mean)} [{share(max(0.0, low))}, {share(min(1.0, high))}]"


def length() -> str:
    """Accuracy by extra tokens: every seed, their mean, and the paper's curve (between its points, a straight line)."""
    found = measurements("extrapolation").query("hops == 0")
    rows = []
    for task in ("number", "letter"):
        at = found[(found["task"] == task) & (found["step"] == found["step"].max())]
        for extra, theirs in zip(LENGTHS, papers_accuracy(task, LENGTHS), strict=True):
            values = at[at["extra"] == extra].sort_values("seed")["accuracy"]
            rows.append(
                [task, f"+{extra}", str(extra + 17), ", ".join(map(share, values)), interval(values), share(theirs)]
            )
    return table(["task", "extra", "tokens", "each seed", "mean [95 % over seeds]", "paper"], rows)


def by_hop() -> str:
    """Accuracy by hop class at a few lengths, mean over seeds."""
    found = measurements("extrapolation").query("hops > 0")
    rows = []
    for task in ("number", "letter"):
        for extra, theirs in zip(FEW_LENGTHS, papers_accuracy(task, FEW_LENGTHS), strict=True):
            at = found[(found["task"] == task) & (found["extra"] == extra) & (found["step"] == found["step"].max())]
            means = at.groupby("hops")["accuracy"].mean()
            rows.append([task, f"+{extra}", *map(share, means), share(float(means.mean())), share(theirs)])
    return table(["task", "extra", "1 hop", "2 hops", "3 hops", "4 hops", "all", "paper, all"], rows)


def passing() -> str:
    """First step from which each hop class stays at .9, by seed, beside the paper's."""
    found = measurements("accuracy")
    rows = []
    for task in ("number", "letter"):
        for hops, theirs in paper.STEPS_PASSING[task].items():
            at = found[(found["task"] == task) & (found["hops"] == hops)]
            steps = [_first_staying(part, 0.9) for _, part in at.groupby("seed")]
            rows.append([task, str(hops), ", ".join(steps), str(theirs[paper.THRESHOLDS.index(0.9)])])
    return table(["task", "hops", "step, each seed", "paper"], rows)


def _first_staying(rows: pd.DataFrame, level: float) -> str:
    below = rows.loc[rows["accuracy"] < level, "step"].max()
    after = rows.loc[rows["step"] > below, "step"]
    return str(after.min()) if len(after) else "never"


def length_study() -> str:
    """What the length curve hangs on: all items, mean over seeds."""
    found = pd.read_csv(REFERENCE / "length-study.csv").query("hops == 0")
    last = found["step"].max()
    rows = []
    for (task, kind, step), part in found.groupby(["task", "kind", "step"]):
        what = kind if step == last else f"{kind}, step {step}"
        by = part.groupby("extra")["accuracy"].mean()
        rows.append([task, what, *map(share, by)])
    return table(["task", "extra tokens", *(f"+{extra}" for extra in sorted(found["extra"].unique()))], rows)


def quick_length() -> str:
    """Accuracy of the quick recipe's models at some lengths, all items, seed by seed."""
    found = pd.read_csv(REFERENCE / "quick-length.csv").query("hops == 0 and extra in @FEW_LENGTHS")
    rows = []
    for (task, seed), part in found.groupby(["task", "seed"]):
        rows.append([str(task), str(seed), *map(share, part.sort_values("extra")["accuracy"])])
    rows += [[task, "paper", *map(share, papers_accuracy(task, FEW_LENGTHS))] for task in paper.LENGTH_CURVES]
    return table(["task", "seed", *(f"+{extra}" for extra in FEW_LENGTHS)], sorted(rows, key=lambda row: row[0]))


BLOCKS: dict[str, Callable[[], str]] = {
    "scorecard": scorecard,
    "cost": cost,
    "rules": rules,
    "length": length,
    "by-hop": by_hop,
    "passing": passing,
    "length-study": length_study,
    "quick-length": quick_length,
}


def rewritten(text: str) -> str:
    """The page with every block made new; a name that no function here makes raises `KeyError`."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}{BLOCKS[match[2]]()}{match[3]}"

    return BLOCK.sub(block, text)


def main(arguments: Any = None) -> int:
    """Rewrite or check the pages; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    given = parser.parse_args(arguments)
    stale = []
    for name in PAGES:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        new = rewritten(text)
        if new != text:
            stale.append(name)
            if not given.check:
                path.write_text(new, encoding="utf-8")
    if stale:
        print(f"{', '.join(stale)}: {'out of date, run python studies/readme.py' if given.check else 'rewritten'}")
    return 1 if stale and given.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
