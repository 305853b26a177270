"""One version of everything: environment files, requirements and what scripts say they need."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from posym.imports import PACKAGE, constant, imported_files
from workflow_runs import ROOT

SCRIPTS = ROOT / "workflow" / "scripts"
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
REQUIREMENTS = sorted(ROOT.glob("requirements*.txt"))
DISTRIBUTIONS = {"yaml": "PyYAML", "inspect_ai": "inspect-ai"}
# What a script loads by name, as its rule declares.
BY_NAME = {"draw.py": "figures", "make_datasets.py": "tasks", "make_long_inputs.py": "tasks"}
# Packages that no stage imports itself, and the package that does so by their name.
IMPORTED_FOR = {
    "accelerate": "transformers",
    "anthropic": "inspect_ai",
    "gguf": "transformers",
    "openai": "inspect_ai",
    "safetensors": "transformers",
}
BROUGHT_BY = {"markupsafe": "jinja2"}  # imported, but half of another package, which pins what it needs of it


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
            needed = constant(SCRIPTS / script, "PACKAGES")
            assert needed, script
            content = yaml.safe_load((ROOT / "envs" / f"{rule}.yaml").read_text())
            held = {package.split("==")[0] for package in content["dependencies"][-1]["pip"]}
            assert {DISTRIBUTIONS.get(package, package) for package in needed} == held, rule


def test_only_stages_with_models_have_torch() -> None:
    with_torch = {path.stem for path in ENVIRONMENTS if "torch==" in path.read_text()}
    mechanism = {"functions", "frequencies", "ablation", "patching", "restriction", "geometry", "flow", "discrepancy"}
    language_models = {"llm_model", "llm_games", "llm_heads"}
    assert with_torch == {"training", "scores", "extrapolation", "theory"} | mechanism | language_models


def imports(node: ast.AST, always: bool) -> Iterator[str]:
    """Top-level names of other packages that a module imports: `always` leaves out what stands in functions or for types."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    else:
        names = []
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if not (always and (typing or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))):
            for child in ast.iter_child_nodes(node):
                yield from imports(child, always)
    for name in names:
        package = name.partition(".")[0]
        if package != PACKAGE and package not in sys.stdlib_module_names:
            yield package


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_a_script_says_it_needs_what_it_and_its_modules_import(script: Path) -> None:
    """Nothing that is imported is missing, and nothing is asked for (and so installed) that no module imports."""
    folder = SCRIPTS / PACKAGE / BY_NAME[script.name] if script.name in BY_NAME else None
    more = [str(path.relative_to(SCRIPTS)) for path in sorted(folder.glob("*.py"))] if folder else []
    sources = [script, *(SCRIPTS / path for path in more), *imported_files(SCRIPTS, script.name, *more)]
    trees = [ast.parse(source.read_text()) for source in sources]
    always, ever = ({name for tree in trees for name in imports(tree, kind)} for kind in (True, False))
    needed = set(constant(script, "PACKAGES"))
    assert {BROUGHT_BY.get(name, name) for name in always} <= needed
    assert {name for name in needed - ever if IMPORTED_FOR.get(name) not in needed} == set()


def test_every_requirement_is_one_version_in_all_files_and_none_is_left_over() -> None:
    found: dict[str, dict[str, str]] = {}
    for path in (*REQUIREMENTS, *ENVIRONMENTS):
        for line in path.read_text().splitlines():
            if path in REQUIREMENTS and not line.startswith(("#", "-r ")):
                assert re.fullmatch(r"[\w.-]+==[\w.]+", line), f"{path.name}: {line!r} is not one exact version"
            if pin := re.fullmatch(r"(?: +- )?([\w.-]+)==([\w.]+)", line):
                name = re.sub(r"[-_.]+", "-", pin[1]).lower()
                assert path.name not in found.setdefault(name, {}), f"{path.name} has {name} twice"
                found[name][path.name] = pin[2]
    for name, places in found.items():
        assert len(set(places.values())) == 1, f"{name} has several versions: {places}"
        assert sum(path.name in places for path in REQUIREMENTS) == 1, f"{name}: {places}"
    for name in ("requirements.txt", "requirements-llm.txt"):
        for package, places in found.items():
            in_environments = len(places) > 1
            host_only = package in (
                "snakemake",
                "jsonschema",
                "pyyaml",
            )  # Snakemake's own process reads the configuration
            assert name not in places or in_environments or host_only, f"{package} is in {name} and in no environment"


def test_each_requirements_file_stands_on_the_one_before() -> None:
    included = {path.name: re.findall(r"^-r (\S+)$", path.read_text(), re.MULTILINE) for path in REQUIREMENTS}
    assert included == {
        "requirements.txt": [],
        "requirements-llm.txt": ["requirements.txt"],
        "requirements-dev.txt": ["requirements-llm.txt"],
    }
