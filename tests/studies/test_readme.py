"""The numbers in the pages are those of the reference run's files."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import readme


def test_no_page_is_out_of_date() -> None:
    assert readme.main(["--check"]) == 0


def test_every_block_that_can_be_written_is_shown_somewhere() -> None:
    text = "".join((readme.ROOT / page).read_text() for page in readme.PAGES)
    assert {name for _, name, _ in readme.BLOCK.findall(text)} == set(readme.BLOCKS)


def test_a_stale_number_is_found() -> None:
    page = (readme.ROOT / "README.md").read_text()
    (_, _, _), *_ = readme.BLOCK.findall(page)
    stale = re.sub(r"(numbers: scorecard -->\n)", r"\1| a typed number |\n", page)
    assert readme.rewritten(stale) == page


@pytest.mark.parametrize(
    ("value", "wanted"), [(0.5, ".50"), (1.0, "1.00"), (0.034, ".03"), (0.999, "1.00"), (0.0, ".00")]
)
def test_shares(value: float, wanted: str) -> None:
    assert readme.share(value) == wanted


def test_first_staying_by_hand() -> None:
    rows = pd.DataFrame({"step": [0, 50, 100, 150], "accuracy": [0.1, 0.95, 0.8, 0.9]})
    assert readme._first_staying(rows, 0.9) == "150"
    assert readme._first_staying(rows, 0.95) == "never"
