"""Running Snakemake with the conda of tests/rigs/conda: which environments it made, and what ran inside them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from workflow_runs import ROOT, Checkout, Environment

ENVIRONMENTS = [path.stem for path in sorted((ROOT / "envs").glob("*.yaml"))]
RIG = ROOT / "tests" / "rigs" / "conda"


def content(name: str) -> str:
    """What an environment file says."""
    return (ROOT / "envs" / f"{name}.yaml").read_text()


def prefixes(checkout: Checkout) -> dict[str, Path]:
    """The folder of each environment that Snakemake made here, by the name of its file."""
    folders = {}
    names: dict[str, list[str]] = {}
    for name in ENVIRONMENTS:
        names.setdefault(content(name), []).append(name)
    for copy in (checkout.folder / ".snakemake" / "conda").glob("*.yaml"):
        for name in names.get(copy.read_text(), []):
            folders[name] = copy.with_suffix("")
    return folders


def witness_in(checkout: Checkout) -> Environment:
    """Put a witness into every environment made here; the variable with which processes then testify."""
    for prefix in prefixes(checkout).values():
        shutil.copyfile(RIG / "witness.py", prefix / "lib" / "python3.11" / "site-packages" / "sitecustomize.py")
    (checkout.folder / "witness").mkdir()
    return {"POSYM_WITNESS": str(checkout.folder / "witness")}


def witnesses(checkout: Checkout) -> list[tuple[str, Path, list[str]]]:
    """Of each process: its script, its environment, and its modules from neither this environment nor the workflow."""
    workflow = os.path.realpath(checkout.folder / "workflow" / "scripts")
    heard = []
    for path in (checkout.folder / "witness").iterdir():
        said = json.loads(path.read_text())
        places = (f"{said['prefix']}/", f"{workflow}/")
        foreign = [file for file in said["files"] if not file.startswith(places)]
        heard.append((Path(said["script"]).name, Path(said["prefix"]), foreign))
    return heard
