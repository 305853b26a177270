"""The walls of the house: what each rule declares, who imports whom, what stays light."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from posym.imports import constant, imported_files
from workflow_runs import ROOT

SCRIPTS = ROOT / "workflow" / "scripts"
RULES = ROOT / "workflow" / "rules"
SCRIPT_FILES = sorted(SCRIPTS.glob("*.py"))


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    sys.path.insert(0, str(SCRIPTS))
    return grimp.build_graph("posym", include_external_packages=False, cache_dir=None)


def module_name(path: Path) -> str:
    parts = path.relative_to(SCRIPTS).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_imported_files_are_those_of_the_import_graph(graph: grimp.ImportGraph) -> None:
    for source in sorted(SCRIPTS.glob("posym/**/*.py")):
        name = module_name(source)
        reached = graph.find_upstream_modules(name)
        with_parents = {
            ".".join(module.split(".")[:depth])
            for module in {*reached, name}
            for depth in range(1, module.count(".") + 2)
        }
        more = set()
        for parent in with_parents - reached - {name}:  # a package's __init__ runs too, with its own imports
            more |= graph.find_upstream_modules(parent)
        found = {module_name(path) for path in imported_files(SCRIPTS, str(source.relative_to(SCRIPTS)))}
        assert found - {name} == (with_parents | more) - {name}, source


def test_every_rule_declares_its_own_scripts_modules() -> None:
    for rules in RULES.glob("*.smk"):
        text = rules.read_text()
        for block in re.split(r"^rule ", text, flags=re.MULTILINE)[1:]:
            (script,) = re.findall(r'script=script\("(\w+\.py)"\)', block)
            declared = re.findall(r"code=(\S+),", block)
            assert declared, block
            assert script in declared[0] or declared[0] == "figure_modules", declared
            assert "{input.script:q}" in block


def test_every_rule_has_its_environment_and_nothing_is_left_over() -> None:
    rules = {
        name for path in RULES.glob("*.smk") for name in re.findall(r"^rule (\w+):", path.read_text(), re.MULTILINE)
    }
    assert rules == {path.stem for path in (ROOT / "envs").glob("*.yaml")}
    for path in RULES.glob("*.smk"):
        for block in re.split(r"^rule ", path.read_text(), flags=re.MULTILINE)[1:]:
            name = block.partition(":")[0]
            assert f'"../../envs/{name}.yaml"' in block


ALLOWED = {  # who may import whom; everybody may use the plain helpers
    "tasks": {"contracts", "tables"},
    "model": set(),
    "training": {"model", "contracts", "tables"},
    "measure": {"model", "tasks"},
    "llm": {"contracts", "tables", "measure"},
    "theory": {"tasks"},
    "figures": {"contracts", "tables", "pure", "paper"},
    "claims": {"contracts", "tables", "pure", "paper"},
    "theory_figures": {"contracts", "tables", "figures", "theory"},
    "report": set(),
    "contracts": {"tables"},
    "tables": set(),
}
HELPERS = {"errors", "files", "job", "devices", "products"}


def test_imports_go_one_way(graph: grimp.ImportGraph) -> None:
    for module in graph.modules:
        part = module.split(".")[1] if "." in module else ""
        if part not in ALLOWED:
            continue
        for imported in graph.find_modules_directly_imported_by(module):
            other = imported.split(".")[1] if "." in imported else part
            assert other in ALLOWED[part] | HELPERS | {part}, f"{module} imports {imported}"


def test_drawing_needs_no_torch_and_parsing_nothing_heavy() -> None:
    code = """
import sys, importlib
sys.path.insert(0, {scripts!r})
for name in {names!r}:
    importlib.import_module(name)
print(",".join(heavy for heavy in ("torch", "transformers", "datasets", "pandas", "matplotlib") if heavy in sys.modules))
"""

    def heavy(*names: str) -> str:
        text = code.format(scripts=str(SCRIPTS), names=names)
        return subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout.strip()

    assert heavy("posym.config", "posym.imports", "posym.job") == ""
    figures = [module_name(path) for path in SCRIPTS.glob("posym/figures/*.py")]
    assert "torch" not in heavy(*figures)


def test_constant_reads_without_importing(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text("raise SystemExit\nTABLES: tuple[str, ...] = ('x', 'y')\n")
    assert constant(source, "TABLES") == ("x", "y")
    assert constant(source, "OTHER") == ()
