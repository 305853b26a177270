"""What all tests share: one thread, the tasks, one finished run; what is left out, and that nothing is left out in CI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import torch
from filelock import FileLock
from xdist.scheduler import LoadScopeScheduling

import needs
from conda_runs import RIG
from posym.tasks import make_task
from posym.tasks.base import Task
from small import ALPHABETS, SIZES
from workflow_runs import Checkout, Environment, copy_workflow

torch.set_num_threads(1)


@pytest.fixture(params=["number", "letter"])
def task(request: pytest.FixtureRequest) -> Task:
    """Each of the paper's tasks at the paper's sizes."""
    return make_task(request.param, SIZES, ALPHABETS[request.param])


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """The workflow without any results."""
    return copy_workflow(tmp_path / "checkout")


@pytest.fixture(scope="session")
def checkout_once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The workflow without any results, for tests that only ask Snakemake what it would do."""
    return copy_workflow(tmp_path_factory.mktemp("workflow") / "checkout")


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Checkout:
    """The tiny experiment, run to its end once for all workers; tests that change it take `finished`."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "finished"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            made = copy_workflow(tmp_path_factory.mktemp("unfinished") / "checkout")
            made.run("--cores", "2")
            made.folder.rename(folder)
    return Checkout(folder)


@pytest.fixture(scope="session")
def conda(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What Snakemake needs to find the conda of tests/rigs/conda, and nothing of the host's Python."""
    folder = tmp_path_factory.mktemp("conda")
    printed = subprocess.run(
        [sys.executable, RIG / "rig.py", folder], check=True, capture_output=True, text=True
    ).stdout
    (alias,) = re.findall(r'CONDA_CHANNEL_ALIAS="(.+)"', printed)
    path = f"{folder / 'bin'}:{os.defpath}"  # the system's tools, but no environment of this Python's
    return {"PATH": path, "CONDA_CHANNEL_ALIAS": alias, "PYTHONPATH": None, "VIRTUAL_ENV": None}


@pytest.fixture
def finished(finished_once: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the finished tiny experiment to play with."""
    shutil.copytree(finished_once.folder, tmp_path / "checkout", symlinks=True)
    return Checkout(tmp_path / "checkout")


LONG = ("cluster", "environments", "faults", "workflow")  # folders whose tests take minutes


class ByFile(LoadScopeScheduling):
    """The tests of a file go to one worker; so do all that share a SLURM or the rules' environments."""

    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.partition("::")[0])
        return path.parent.name if path.parent.name in ("cluster", "environments") else str(path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """For every `pytest --numprocesses`. Marks of `--dist loadgroup` would do, but do not reach the scheduler with pytest 9.2."""
    config.option.loadscopereorder = False  # the longest are first already, and not those with most tests
    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this machine cannot run; in CI that fails, except for want of a GPU, which nobody can install.

    The longest come first, so that no worker is left with one of them in the end.
    """
    items.sort(key=lambda item: item.path.parent.name not in LONG)
    missing = {marker: reason for marker, find in needs.NEEDS.items() if (reason := find())}
    left_out = []
    for item in items:
        for marker, reason in missing.items():
            if not item.get_closest_marker(marker):
                continue
            if os.environ.get("CI") and marker != "gpu":
                item.add_marker(pytest.mark.skip(reason))
            else:
                left_out.append(item)
                config.stash.setdefault(LEFT_OUT, []).append(f"{item.nodeid}: {reason}")
            break
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


LEFT_OUT = pytest.StashKey[list[str]]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist tells what it left out: it is its controller that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash.get(LEFT_OUT, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker left out; all of them say the same."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line for each test that was left out."""
    for line in config.stash.get(LEFT_OUT, []):
        terminalreporter.write_line(f"LEFT OUT {line}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test that would be skipped has failed: there everything it needs should have been installed."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped in CI: {report.longrepr}"
    return report
