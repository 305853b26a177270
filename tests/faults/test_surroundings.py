"""Odd places, users and neighbours: where a run stands, what it may not count on, and who else works there."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from workflow_runs import Checkout, Environment, copy_workflow

ACCURACY = "results/tiny/figures/accuracy.png"
POOR: Environment = {  # no home that anybody, root included, can write to or make; no UTF-8
    "HOME": "/dev/null/home",
    "LC_ALL": "C",
    "LANG": None,
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}


def test_an_odd_path_and_a_poor_environment(tmp_path: Path, finished_once: Checkout) -> None:
    """Spaces, quotes and letters beyond ASCII, no home, no UTF-8, a private umask: the whole run, byte for byte the same.

    Snakemake needs a place for its own cache (XDG_CACHE_HOME) where the home has none. A `$` in the path is left out:
    Hugging Face `datasets` reads `$HOME` in a path as the variable.
    """
    odd = copy_workflow(tmp_path / "Größe 'n & 数")
    before = os.umask(0o077)
    try:
        odd.run("--cores", "2", environment=POOR | {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    finally:
        os.umask(before)
    assert odd.products() == finished_once.products()
    made = [path for top in ("data", "results") for path in (odd.folder / top).rglob("*")]
    assert not [path for path in made if path.stat().st_mode & 0o077], "private means private"


ONE_BY_ONE: dict[str, Environment] = {  # to tell which of them it was, should the run above fail
    "home unset": {"HOME": None},
    "no home": {"HOME": POOR["HOME"]},
    "no UTF-8": {name: value for name, value in POOR.items() if name != "HOME"},
}


@pytest.mark.parametrize("case", ONE_BY_ONE)
def test_each_poverty_alone(checkout: Checkout, finished_once: Checkout, tmp_path: Path, case: str) -> None:
    """With the two libraries that keep caches in the home folder: `datasets` and matplotlib."""
    targets = ["data/tiny/letter/manifest.json", "results/tiny/figures/theory_corrections.png"]
    checkout.run("--cores", "2", *targets, environment=ONE_BY_ONE[case] | {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    wanted, found = finished_once.products(), checkout.products()
    assert {path: wanted[path] for path in found} == found
    assert set(targets) <= set(found)


def test_a_clock_that_went_wrong(finished: Checkout) -> None:
    """Files from the future or from long ago rerun nothing, since contents are compared.

    What has to rerun for another reason is refused by Snakemake, with a sentence, while its inputs are of the future; it
    deletes that job's outputs. `touch` on the files heals it.
    """
    for number, path in enumerate(sorted(finished.folder.rglob("*"))):
        if ".snakemake" not in path.parts:
            days = (400, -4000)[number % 2]
            os.utime(path, (time.time() + 86400 * days,) * 2)
    assert finished.jobs("--cores", "2") == {}
    finished.edit("workflow/config/tiny.yaml", "dpi: 60", "dpi: 61")
    output = finished.run("--cores", "2", ACCURACY, check=False)
    assert "has older modification time" in output
    assert "clock skew" in output
    for path in finished.folder.rglob("*"):
        if ".snakemake" not in path.parts:
            path.touch()
    finished.run("--cores", "2", ACCURACY)
    assert finished.jobs("--cores", "2", ACCURACY) == {}


def test_two_runs_in_one_folder(checkout: Checkout) -> None:
    """The same files twice at once: the second run is refused and the first goes on. Another experiment is no conflict."""
    first = checkout.start("--cores", "1", "--until", "training", start_new_session=True)
    while not any((checkout.folder / ".snakemake" / "locks").glob("*")):
        assert first.poll() is None
        time.sleep(0.01)
    (checkout.folder / "other.yaml").write_text("experiment: other\n")
    tiny = ["--configfile", "workflow/config/tiny.yaml"]
    second = checkout.start("--cores", "1", "--until", "training", start_new_session=True)
    other = checkout.start(
        *tiny, "other.yaml", "--cores", "1", "data/other/number/manifest.json", config=None, start_new_session=True
    )
    outputs = [process.communicate()[0] for process in (second, other, first)]
    assert second.returncode == 1, outputs[0]
    assert "Directory cannot be locked" in outputs[0]
    assert other.returncode == 0, outputs[1]
    assert first.returncode == 0, outputs[2]
    assert (checkout.folder / "data/other/number/train.parquet").read_bytes() != b""
    assert {path.name for path in (checkout.folder / "data").iterdir()} == {"tiny", "other"}
