"""A browser and one page for the tests here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import needs
from report_inputs import Inputs

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def inputs_once(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """What a report is made of; not to be changed."""
    inputs = Inputs(tmp_path_factory.mktemp("inputs"))
    inputs.make()
    return inputs


@pytest.fixture
def inputs(inputs_once: Inputs, tmp_path: Path) -> Inputs:
    """Inputs to change."""
    return inputs_once.copy(tmp_path / "inputs")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium: the machine's own, else Debian's."""
    from playwright.sync_api import sync_playwright

    if not needs.chromium():
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            subprocess.run(
                ["apt-get", "--quiet", "--option", "DPkg::Lock::Timeout=300", *command],
                check=True,
                capture_output=True,
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            )
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses its sandbox to root
        browser = playwright.chromium.launch(executable_path=needs.chromium(), args=sandbox)
        yield browser
        browser.close()
