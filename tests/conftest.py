"""What all tests share: one thread, the tasks; what is left out, and that nothing is left out in CI."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
import torch

from posym.tasks import make_task
from posym.tasks.base import Task
from small import ALPHABETS, SIZES

torch.set_num_threads(1)


@pytest.fixture(params=["number", "letter"])
def task(request: pytest.FixtureRequest) -> Task:
    """Each of the paper's tasks at the paper's sizes."""
    return make_task(request.param, SIZES, ALPHABETS[request.param])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs a GPU where there is none."""
    if torch.cuda.is_available():
        return
    left_out = [item for item in items if item.get_closest_marker("gpu")]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
        config.stash[LEFT_OUT] = [f"{item.nodeid}: needs a GPU, and PyTorch sees none here" for item in left_out]


LEFT_OUT = pytest.StashKey[list[str]]()


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
