"""One finished run of the tiny experiment that tests copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workflow_runs import Checkout, copy_workflow


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """The workflow without any results."""
    return copy_workflow(tmp_path / "checkout")


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The tiny experiment, run to its end."""
    made = copy_workflow(tmp_path_factory.mktemp("finished") / "checkout")
    made.run("--cores", "2")
    return made


@pytest.fixture
def finished(finished_once: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the finished tiny experiment to play with."""
    shutil.copytree(finished_once.folder, tmp_path / "checkout", symlinks=True)
    return Checkout(tmp_path / "checkout")
