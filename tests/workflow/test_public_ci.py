"""The public CI runs what the README and the Makefile run, in the order of a newcomer's trust."""

from __future__ import annotations

import re

import yaml

from workflow_runs import ROOT


def commands() -> list[str]:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text())["jobs"]
    assert jobs["quick"]["needs"] == "checks"
    return [step["run"] for job in ("checks", "quick") for step in jobs[job]["steps"] if "run" in step]


def test_all_of_make_test_is_run_in_its_order() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (parts,) = re.findall(r"^test: (.+)$", makefile, re.MULTILINE)
    run = [word for command in commands() for word in re.findall(r"\bmake (.+)", command) for word in word.split()]
    assert run == parts.split() == ["format", "lint", "types", "tests"]


def test_the_quick_run_is_the_readmes_with_conda() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    quick = commands()[-2]
    assert quick == "snakemake --cores all --use-conda --configfile workflow/config/quick.yaml"
    assert "snakemake --cores all --use-conda" in readme
    assert "--configfile workflow/config/quick.yaml" in makefile
    assert commands()[-1].startswith(f"{quick} |")
