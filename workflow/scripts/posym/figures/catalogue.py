"""Figures by name, and the tables that they read."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable
from pathlib import Path
from types import ModuleType

import pandas as pd

from posym.contracts.ablation import ABLATION
from posym.contracts.discrepancy import DISCREPANCY
from posym.contracts.extrapolation import EXTRAPOLATION
from posym.contracts.flow import FLOW
from posym.contracts.frequencies import FREQUENCIES
from posym.contracts.functions import FUNCTIONS
from posym.contracts.geometry import GEOMETRY
from posym.contracts.restriction import RESTRICTION
from posym.contracts.scores import ACCURACY, SCORES
from posym.errors import InputError
from posym.tables import read_joined

CONTRACTS = {
    contract.name: contract
    for contract in (
        ACCURACY,
        SCORES,
        EXTRAPOLATION,
        FUNCTIONS,
        FREQUENCIES,
        ABLATION,
        FLOW,
        DISCREPANCY,
        GEOMETRY,
        RESTRICTION,
    )
}
NOT_FIGURES = {"__init__", "catalogue", "seeds", "style"}


def figure_names() -> list[str]:
    """Names of all figures, found as files beside this one."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_FIGURES)


def find_figure(name: str) -> ModuleType:
    """The module of the figure `name`, with `TABLES` and `draw`; an unknown name raises `InputError`."""
    if name not in figure_names():
        raise InputError(f"figure {name!r} is unknown: write one of {', '.join(figure_names())}")
    return importlib.import_module(f"posym.figures.{name}")


def read_tables(paths: Iterable[Path], names: Collection[str]) -> dict[str, pd.DataFrame]:
    """The tables `names`, each joined over tasks and seeds, with the columns `task` and `seed` from their provenance.

    A table that is missing, not asked for, or there twice for one task and seed raises `InputError`.
    """
    found = read_joined(paths, [CONTRACTS[name] for name in names], "this figure")
    for name in names:
        if name not in found:
            raise InputError(f"this figure reads the table {name}, and none is given: name its files")
    return found
