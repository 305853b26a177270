"""`snakemake --use-conda` for real: every environment is solved, installed, activated, and enough for its stage.

The conda is the one of tests/rigs/conda. Snakemake runs without the host's programs on its path, so that a stage's `python` is
the one of its environment or none. All environments are made; tiny then runs every stage but the language models'.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from conda_runs import ENVIRONMENTS, content, prefixes, witness_in, witnesses
from workflow_runs import ROOT, Checkout, Environment, copy_workflow, with_few_figures

pytestmark = pytest.mark.environments
LANGUAGE_MODELS = ("onehop", "llm_model", "llm_games", "llm_heads", "llm_figures")
CONDA = ("--use-conda", "--cores", "2")
IMPORT_NAMES = {"PyYAML": "yaml", "inspect-ai": "inspect_ai"}
LOOK = """
import importlib.metadata, importlib.util, json, sys
packages, modules = map(json.loads, sys.argv[1:])
specs = {name: importlib.util.find_spec(name) for name in modules}
versions = {name: importlib.metadata.version(name) for name in packages}
print(json.dumps([versions, {name: spec and spec.origin for name, spec in specs.items()}]))
"""


@pytest.fixture(scope="session")
def ran(conda: Environment, tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, str]:
    """The tiny experiment with few figures, each rule in its own environment, and what Snakemake printed."""
    checkout = with_few_figures(copy_workflow(tmp_path_factory.mktemp("in-environments") / "checkout"))
    for config in ("llm-local", "tiny"):
        checkout.run(*CONDA, "--conda-create-envs-only", config=config, environment=conda)
    return checkout, checkout.run(*CONDA, environment=conda | witness_in(checkout))


def test_every_rule_ran_in_an_environment_of_its_own(ran: tuple[Checkout, str]) -> None:
    checkout, printed = ran
    made = prefixes(checkout)
    assert set(made) == set(ENVIRONMENTS)
    assert len(set(made.values())) == len({content(name) for name in ENVIRONMENTS})  # files that are alike share one
    assert "Creating conda environment" not in printed
    jobs = re.findall(r"^Activating conda environment: (\S+)$", printed, re.MULTILINE)
    assert {Path(job).name for job in jobs} == {made[name].name for name in set(ENVIRONMENTS) - set(LANGUAGE_MODELS)}
    assert len(jobs) == len(list((checkout.folder / "results" / "tiny" / "logs").iterdir()))
    assert (checkout.folder / "results" / "tiny" / "scorecard.json").exists()


def scripts() -> dict[str, str]:
    """The rule that runs each script."""
    text = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    blocks = re.split(r"^rule ", text, flags=re.MULTILINE)[1:]
    return {
        script: block.partition(":")[0] for block in blocks for script in re.findall(r'script=script\("(.+)"\)', block)
    }


def test_every_job_took_all_its_modules_from_its_own_environment(ran: tuple[Checkout, str]) -> None:
    """As each process said when it ended: its interpreter is its rule's, and no module came from elsewhere on this machine."""
    checkout, _ = ran
    made, rules = prefixes(checkout), scripts()
    jobs = []
    for script, prefix, foreign in witnesses(checkout):
        assert foreign == [], script
        if rule := rules.get(script):  # and not a process that a stage started
            jobs.append(rule)
            assert prefix == made[rule].resolve(), rule
    assert set(jobs) == set(ENVIRONMENTS) - set(LANGUAGE_MODELS)
    assert len(jobs) == len(list((checkout.folder / "results" / "tiny" / "logs").iterdir()))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_holds_its_pins_and_nothing_heavy_besides(ran: tuple[Checkout, str], name: str) -> None:
    """Every package that the file names lies in the environment's own folder; torch only where it is named."""
    prefix = prefixes(ran[0])[name]
    pins = dict(pin.split("==") for pin in yaml.safe_load(content(name))["dependencies"][-1]["pip"])
    heavy = {"torch", "transformers", "datasets", "matplotlib", "snakemake"}
    modules = {IMPORT_NAMES.get(package, package) for package in pins}
    python = prefix / "bin" / "python"
    clean = {"PATH": str(python.parent), "HOME": str(prefix)}
    command = [python, "-c", LOOK, json.dumps(list(pins)), json.dumps(list(modules | heavy))]
    versions, found = json.loads(subprocess.check_output(command, text=True, env=clean))
    for module in modules:
        assert Path(found[module]).is_relative_to(prefix), module
    for module in heavy - modules - ({"datasets"} if "inspect_ai" in modules else set()):
        assert found[module] is None, f"envs/{name}.yaml brings {module}, which it does not name"
    for package, version in pins.items():
        assert versions[package].partition("+")[0] == version  # a build may add a local part, as torch's +cpu


def test_a_second_run_makes_nothing(ran: tuple[Checkout, str], conda: Environment) -> None:
    printed = ran[0].run(*CONDA, environment=conda)
    assert "Nothing to be done" in printed
    assert "Creating conda environment" not in printed


@pytest.mark.parametrize(
    ("rule", "package", "module"),
    [("figures", "scipy==", "scipy"), ("report", "jinja2==", "jinja2"), ("datasets", "datasets==", "datasets")],
)
def test_a_package_missing_from_an_environment_is_named(
    ran: tuple[Checkout, str], conda: Environment, rule: str, package: str, module: str
) -> None:
    """The stage fails with the package and the file to add it to; with the line back, everything is as it was."""
    checkout = ran[0]
    file = checkout.folder / "envs" / f"{rule}.yaml"
    before = file.read_text()
    try:
        file.write_text("".join(line for line in before.splitlines(keepends=True) if package not in line))
        assert file.read_text() != before
        printed = checkout.run(*CONDA, "--until", rule, environment=conda, check=False)
        assert re.search(rf"error: package {module} is not installed in \S+: add it to envs/{rule}.yaml", printed)
        assert "Traceback" not in printed
    finally:
        file.write_text(before)
    checkout.run(*CONDA, "--until", rule, environment=conda)  # made again as it was, so that nothing after it is
    assert "Nothing to be done" in checkout.run(*CONDA, environment=conda)
