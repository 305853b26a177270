"""One command gives a package one version everywhere, and touches nothing else."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest

from workflow_runs import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("envs", "workflow/tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for path in (*ROOT.glob("requirements*.txt"), ROOT / "Makefile"):
        shutil.copyfile(path, tmp_path / path.name)
    return tmp_path


def pin(tree: Path, package: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", "pin", f"PACKAGE={package}", "PYTHON=python3.11"]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def texts(tree: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (*tree.glob("requirements*.txt"), *tree.glob("envs/*.yaml"))}


@pytest.mark.parametrize(
    ("package", "written"), [("numpy", "numpy"), ("pyyaml", "PyYAML"), ("inspect_ai", "inspect-ai")]
)
def test_every_pin_of_a_package_changes_and_no_other_line(tree: Path, package: str, written: str) -> None:
    before = texts(tree)
    done = pin(tree, f"{package}==99.1")
    assert done.returncode == 0, done.stderr
    after = texts(tree)
    held = {name for name, text in before.items() if f"{written}==" in text}
    assert {name for name in before if before[name] != after[name]} == held
    assert "requirements.txt" in held or "requirements-llm.txt" in held
    for name in held:
        lines = [line for line in difflib.ndiff(before[name].splitlines(), after[name].splitlines()) if line[0] in "+-"]
        assert len(lines) == 2
        assert lines[1].strip().endswith(f"{written}==99.1")


@pytest.mark.parametrize("package", ["nmpy==1.0", "numpy", "numpy==", "numpy>=2", ""])
def test_what_cannot_be_pinned_is_refused_in_one_sentence(tree: Path, package: str) -> None:
    before = texts(tree)
    done = pin(tree, package)
    assert done.returncode != 0
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert texts(tree) == before
