"""What the report reads, made small: real figures of hand-written tables, a scorecard, manifests; and the script itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from posym.captions import caption
from posym.config import report_settings
from posym.figures import accuracy, length
from posym.figures.style import save, save_data
from workflow_runs import ROOT

SCRIPTS = ROOT / "workflow" / "scripts"
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
STEPS = (0, 100, 200, 300, 400)
VERDICTS = ("reproduced", "not reproduced", "inconclusive", "not run")


def learned(task: str, hops: int, step: int) -> bool:
    """Number learns one hop every 100 steps, letter all hops at step 200."""
    return step >= (100 * hops if task == "number" else 200)


def accuracy_table() -> pd.DataFrame:
    """Before a hop is learned 5 of 40 answers are right, then 39."""
    rows = []
    for task in ("number", "letter"):
        for step in STEPS:
            for hops in (1, 2, 3, 4):
                right = 39 if learned(task, hops, step) else 5
                row = {"task": task, "seed": 0, "step": step, "hops": hops, "accuracy": right / 40}
                rows.append(row | {"correct": right, "items": 40})
    return pd.DataFrame(rows)


def length_table() -> pd.DataFrame:
    """Number halves from length to length, letter stays."""
    rows = []
    for task, factor in (("number", 0.5), ("letter", 1.0)):
        for place, extra in enumerate((0, 100, 833)):
            for hops in range(5):
                share = factor**place
                row = {"task": task, "seed": 0, "step": 400, "extra": extra, "length": extra + 17, "hops": hops}
                rows.append(row | {"accuracy": share, "low": 0.9 * share, "high": min(1, 1.1 * share), "items": 40})
    return pd.DataFrame(rows)


def claim(verdict: str = "reproduced", **changes: Any) -> dict[str, Any]:
    """A claim as the scorecard has it."""
    part = {"statistic": "accuracy", "value": 0.59, "low": 0.54, "high": 0.64, "paper": ".88", "threshold": ">= 0.8"}
    choice = {
        "choice": "gamma 0.1",
        "statistic": "accuracy at 0.1",
        "threshold": "> 0",
        "value": -2,
        "low": None,
        "high": None,
        "verdict": "inconclusive",
    }
    made = {"id": "7", "claim": f"Something {verdict}", "source": "section 5", "evidence": "Some evidence.", "seeds": 1}
    return (
        made
        | part
        | {"verdict": verdict, "parts": [part | {"verdict": verdict, "seeds": 1}], "choices": [choice]}
        | changes
    )


def configuration(**changes: Any) -> dict[str, Any]:
    """The shipped configuration with some changes."""
    return yaml.safe_load((ROOT / "config.yaml").read_text()) | {"seeds": [0]} | changes


class Inputs:
    """A folder of inputs, and the page that the script makes of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = configuration()
        self.has_scorecard = True

    @property
    def figures(self) -> Path:
        """Where the SVG files are."""
        return self.folder / "figures"

    @property
    def tables(self) -> Path:
        """Where the CSV files are."""
        return self.folder / "tables"

    @property
    def scorecard(self) -> Path:
        """The scorecard."""
        return self.folder / "scorecard.json"

    def copy(self, folder: Path) -> Inputs:
        """The same files in another folder."""
        shutil.copytree(self.folder, folder)
        return Inputs(folder)

    def make(self) -> None:
        """Draw the figures and write the rest."""
        for name, module, tables in (
            ("accuracy", accuracy, {"accuracy": accuracy_table()}),
            ("length", length, {"extrapolation": length_table()}),
        ):
            figure, data = module.draw(tables, {"paper_reference": False})
            words = caption(SCRIPTS / "posym" / "figures" / f"{name}.py")
            save_data(data, self.tables / f"{name}.csv")
            save(figure, self.folder / f"{name}.png", self.figures / f"{name}.svg", 40, words)
        self.write_scorecard([claim(verdict, id=str(place)) for place, verdict in enumerate(VERDICTS, start=1)])
        digest = "ab" * 32
        for task in ("number", "letter"):
            model = {"task": task, "seed": 0, "device": "cpu", "dtype": "float32", "threads": 1, "wall_seconds": 236.0}
            model |= {"checkpoints": {"step-00000": digest, "step-00400": digest}, "versions": {"torch": "2.13.0"}}
            (self.folder / f"model-{task}.json").write_text(json.dumps(model))
            data = {"task": task, "files": {"train.parquet": {"rows": 115200, "digest": digest}}}
            (self.folder / f"data-{task}.json").write_text(json.dumps(data))

    def write_scorecard(self, claims: object) -> None:
        """Put other claims into the scorecard."""
        self.scorecard.write_text(json.dumps(claims))

    def run(self, name: str = "report.html") -> subprocess.CompletedProcess[str]:
        """Run the script as the rule does."""
        arguments = [
            "--figures", *sorted(self.figures.glob("*.svg")), "--tables", *sorted(self.tables.glob("*.csv")),
            *(["--scorecard", self.scorecard] if self.has_scorecard else []),
            "--data", *sorted(self.folder.glob("data-*.json")), "--models", *sorted(self.folder.glob("model-*.json")),
            "--schema", SCHEMA, "--html", self.folder / name, "--params", report_settings(self.config),
            "--threads", "1", "--log", self.folder / "report.log",
        ]  # fmt: skip
        command = [sys.executable, str(SCRIPTS / "write_report.py"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def page(self) -> str:
        """The page."""
        made = self.run()
        assert made.returncode == 0, made.stderr
        return (self.folder / "report.html").read_text(encoding="utf-8")

    def refusal(self) -> str:
        """The sentence that the script ends with instead of a page."""
        made = self.run()
        assert made.returncode == 1, made.stderr
        assert "Traceback" not in made.stderr
        assert not (self.folder / "report.html").exists()
        return made.stderr.splitlines()[-1]
