"""One version of everything: environment files, requirements and what scripts say they need."""

from __future__ import annotations

import ast
import re

import pytest
import yaml

from workflow_runs import ROOT

ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
DISTRIBUTIONS = {"yaml": "PyYAML", "inspect_ai": "inspect-ai"}


def pins(path: str) -> dict[str, str]:
    lines = [line for line in (ROOT / path).read_text().splitlines() if "==" in line]
    return dict(line.split("==") for line in lines)  # type: ignore[arg-type]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.stem)
def test_environment(environment) -> None:  # type: ignore[no-untyped-def]
    text = environment.read_text()
    assert "#" not in text, "a comment would change the environment's identity"
    content = yaml.safe_load(text)
    assert content["channels"] == ["conda-forge"]
    python, pip, packages = content["dependencies"]
    assert (python, pip) == ("python=3.11", "pip")
    wanted = pins("requirements.txt") | pins("requirements-llm.txt")
    for package in packages["pip"]:
        name, version = package.split("==")
        assert wanted[name] == version, f"{environment.name} has {package}"
    assert packages["pip"] == sorted(packages["pip"], key=str.lower)


def test_environments_hold_what_the_scripts_say_they_need() -> None:
    for rules in (ROOT / "workflow" / "rules").glob("*.smk"):
        for block in re.split(r"^rule ", rules.read_text(), flags=re.MULTILINE)[1:]:
            rule = block.partition(":")[0]
            (script,) = re.findall(r'script=script\("(\w+\.py)"\)', block)
            tree = ast.parse((ROOT / "workflow" / "scripts" / script).read_text())
            (needed,) = [
                ast.literal_eval(node.value)
                for node in tree.body
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PACKAGES"
            ]
            content = yaml.safe_load((ROOT / "envs" / f"{rule}.yaml").read_text())
            held = {package.split("==")[0] for package in content["dependencies"][-1]["pip"]}
            assert {DISTRIBUTIONS.get(package, package) for package in needed} == held, rule


def test_only_stages_with_models_have_torch() -> None:
    with_torch = {path.stem for path in ENVIRONMENTS if "torch==" in path.read_text()}
    mechanism = {"functions", "frequencies", "ablation", "patching", "restriction", "geometry", "flow", "discrepancy"}
    language_models = {"llm_model", "llm_games", "llm_heads"}
    assert with_torch == {"training", "scores", "extrapolation", "theory"} | mechanism | language_models
