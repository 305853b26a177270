"""The comparison of two runs: what it finds, what it leaves out, how it refuses."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import compare

PART = {"statistic": "letter: x", "value": 0.9, "low": 0.8, "high": 1.0, "verdict": "reproduced"}
ROW = {"id": "7", "claim": "Letter generalises", **PART, "parts": [PART]}
LENGTH = pd.DataFrame(
    {"task": ["letter", "letter"], "extra": [0, 100], "mean": [1.0, 0.9], "low": [0.98, 0.8], "high": [1.0, 0.95]}
).assign(seeds=3, items=100, band="t-interval")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("ours", "theirs"):
        (tmp_path / name / "tables").mkdir(parents=True)
        write(tmp_path / name, [ROW], LENGTH)
    return tmp_path / "ours", tmp_path / "theirs"


def write(folder: Path, rows: list[dict[str, Any]], table: pd.DataFrame) -> None:
    (folder / "scorecard.json").write_text(json.dumps(rows))
    table.to_csv(folder / "tables" / "length.csv", index=False)


def run(*arguments: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, compare.__file__, *arguments], capture_output=True, text=True, check=False)


def test_a_run_does_not_differ_from_itself(folders: tuple[Path, Path]) -> None:
    done = run(*folders)
    assert done.returncode == 0
    assert "Verdicts that differ: none" in done.stdout
    assert "beyond both intervals: 0 of 1" in done.stdout
    assert "length.csv: 0 of 2 rows" in done.stdout


def test_differences_are_named(folders: tuple[Path, Path]) -> None:
    ours, theirs = folders
    row = copy.deepcopy(ROW)
    worse = {"value": 0.5, "low": 0.4, "high": 0.6, "verdict": "not reproduced"}
    row.update(worse)
    row["parts"][0].update(worse)
    write(ours, [row], LENGTH.assign(mean=[1.0, 0.5], low=[0.97, 0.4], high=[1.0, 0.79]))
    done = run(ours, theirs)
    assert done.returncode == 1
    assert "claim 7 (Letter generalises): not reproduced here, reproduced there" in done.stdout
    assert "letter: x: 0.5 [0.4, 0.6] here, 0.9 [0.8, 1] there" in done.stdout
    assert "length.csv: 1 of 2 rows" in done.stdout


def test_intervals_that_touch_and_values_without_one_do_not_count() -> None:
    touching = LENGTH.assign(low=[0.98, 0.95], high=[1.0, 0.99])
    assert [
        len(part) if isinstance(part, pd.DataFrame) else part for part in compare.compare_table(LENGTH, touching)
    ] == [0, 2]
    without = LENGTH.assign(low=[0.98, None])
    assert compare.compare_table(without, LENGTH.assign(mean=0.1, low=0.0, high=0.2))[1] == 1


def test_a_claim_that_was_not_run_does_not_differ(folders: tuple[Path, Path]) -> None:
    ours, theirs = folders
    write(ours, [{**ROW, "verdict": "not run", "value": None, "low": None, "high": None, "parts": []}], LENGTH)
    assert run(ours, theirs).returncode == 0


@pytest.mark.parametrize("content", [None, "{", "[1]"])
def test_what_is_no_run_is_refused_in_one_sentence(folders: tuple[Path, Path], content: str | None) -> None:
    ours, theirs = folders
    path = ours / "scorecard.json"
    path.unlink() if content is None else path.write_text(content)
    done = run(ours, theirs)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {path} is ")
    assert "Traceback" not in done.stderr
