"""Figures of what heads compute, from small tables: the numbers they show, any set of tasks, files that repeat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from posym.errors import InputError
from posym.figures.catalogue import CONTRACTS, find_figure
from posym.figures.functions import hops_ahead
from posym.figures.seeds import SUMMARY
from posym.figures.style import save

SETTINGS: dict[str, Any] = {"gammas": [0.2], "tau": 0.0001, "dpi": 40, "paper_reference": True}
LAYERS = 3


def ablation_table() -> pd.DataFrame:
    """Layer 1 costs .5 under mean, any two layers .6; one row of all layers, which the figure leaves out."""
    rows = []
    for kind in ("zero", "mean", "resample"):
        sets = [[layer] for layer in range(LAYERS)] + ([[0, 1], [0, 2], [1, 2]] if kind == "mean" else []) + [[0, 1, 2]]
        for layers in sets:
            cost = 0.6 if len(layers) > 1 else 0.5 * (layers == [1])
            for hops in (0, 1, 2):
                row = {"intervention": kind, "layers": layers, "hops": hops, "accuracy": 1 - cost, "items": 10}
                row |= {"low": 0.9 - cost, "high": 1.0 - cost, "baseline": 1.0}
                rows.append(row | {"cost": cost, "cost_low": cost - 0.1, "cost_high": cost + 0.1})
    return pd.DataFrame(rows)


def frequencies_table() -> pd.DataFrame:
    rows = []
    for layer in range(LAYERS):
        for query in ("last", "hop-2"):
            for plane in (1, 2, 3, 4):
                row = {"layer": layer, "head": 0, "query": query, "plane": plane, "angle": 1.0, "use": plane * 1.0}
                row |= {"mean_plane": 3.0, "flat_mean_plane": 2.5, "logit": 1.0, "contrast": 1.0, "share": 0.25}
                rows.append(row | {"tau": 1e-4, "positional": 0.5, "symbolic": 0.5, "items": 10})
    return pd.DataFrame(rows)


def functions_table() -> pd.DataFrame:
    """One hop on gets .1 a layer at step 100, .3 at step 200; two hops on half of that."""
    rows = []
    for step in (100, 200):
        for layer in range(LAYERS):
            for hops, hop in ((0, 1), (1, 1), (2, 1), (2, 2)):
                for function, share in (("index", 1.0), ("index-2", 0.5), ("reflexive", 0.0)):
                    if function == "index-2" and hop == hops:
                        continue
                    row = {"step": step, "layer": layer, "head": 0, "function": function, "hop": hop, "hops": hops}
                    row |= {"mass": share * (step / 100 * 0.2 - 0.1) * (layer + 1), "low": 0.0, "high": 1.0}
                    rows.append(row | {"uniform": 0.1, "head_function": "none", "items": 10 if hops else 20})
    return pd.DataFrame(rows)


def accuracy_table() -> pd.DataFrame:
    rows = [
        {"step": step, "hops": hops, "accuracy": 0.5, "correct": 5, "items": 10}
        for step in (100, 200)
        for hops in (0, 1, 2)
    ]
    return pd.DataFrame(rows)


def flow_table() -> pd.DataFrame:
    rows = []
    for step, correct in ((200, True), (100, False)):
        for layer in range(LAYERS):
            for query in range(3):
                for slot in range(query + 1):
                    row = {
                        "step": step,
                        "layer": layer,
                        "head": 0,
                        "query": query,
                        "hop": int(query == 2),
                        "slot": slot,
                    }
                    row |= {"slot_hop": {0: 2, 1: 0, 2: 1}[slot], "token": "abc"[slot], "weight": 1 / (query + 1)}
                    rows.append(row | {"answer": "a", "predicted": "a" if correct else "b", "correct": correct})
    return pd.DataFrame(rows)


def discrepancy_table() -> pd.DataFrame:
    """Layer l at length n: (l + 1) / n, whose logarithm has the slope -1; hop 2 twice that."""
    rows = []
    for layer in range(LAYERS):
        for hop in (1, 2):
            for length in (10, 100):
                value = hop * (layer + 1) / length
                row = {"layer": layer, "head": 0, "hop": hop, "length": length, "median": value, "low": value / 2}
                row |= {"high": value * 2, "margin": 0.0, "margin_low": -1.0, "margin_high": 1.0, "right": 0.5}
                rows.append(row | {"slope": -1.0, "slope_low": -1.2, "slope_high": -0.8, "items": 10})
    return pd.DataFrame(rows)


def geometry_table() -> pd.DataFrame:
    """Queries 1 to 4 and two keys; the fit gets better with the layer."""
    rows = []
    for layer in range(LAYERS):
        for role, tokens in (("query", "1234"), ("key", "ab")):
            for place, token in enumerate(tokens):
                row = {"layer": layer, "head": 0, "token": token, "plane": 2, "plane_angle": 0.5, "role": role}
                row |= {"angle": 0.1 * place, "radius": 1.0 + place, "contrast": 0.5, "angle_error": 0.3}
                rows.append(row | {"variance_explained": 0.2 * (layer + 1), "items": 10})
    return pd.DataFrame(rows)


def restriction_table() -> pd.DataFrame:
    """Untouched falls to .3 at 200 extra tokens; the right slot in layer 1 gives .7."""
    accuracy = {"none": 0.3, "oracle-all": 1.0, "planes-high": 0.2, "planes-low": 0.1, "oracle-all-but-layer-0": 0.9}
    accuracy |= {"oracle-layer-0": 0.4, "oracle-layer-1": 0.7, "oracle-layer-2": 0.3, "planes-low-layer-0": 0.2}
    rows = []
    for name, value in accuracy.items():
        for extra in (0, 200):
            for hops in (0, 1):
                row = {"intervention": name, "extra": extra, "hops": hops, "accuracy": value if extra else 1.0}
                rows.append(row | {"low": value - 0.1, "high": 1.0, "baseline": 1.0, "items": 10})
    return pd.DataFrame(rows)


MAKERS = {
    "discrepancy": discrepancy_table,
    "geometry": geometry_table,
    "restriction": restriction_table,
    "ablation": ablation_table,
    "frequencies": frequencies_table,
    "functions": functions_table,
    "accuracy": accuracy_table,
    "flow": flow_table,
}
NAMES = ["ablation", "discrepancy", "flow", "frequencies", "functions", "geometry", "restriction"]


def tables_of(name: str, tasks: tuple[str, ...] = ("number", "letter"), seeds: int = 1) -> dict[str, pd.DataFrame]:
    return {
        table: pd.concat(
            [MAKERS[table]().assign(task=task, seed=seed) for task in tasks for seed in range(seeds)], ignore_index=True
        )
        for table in find_figure(name).TABLES
    }


@pytest.mark.parametrize("table", MAKERS)
def test_the_small_tables_have_the_columns_of_their_contracts(table: str) -> None:
    assert set(MAKERS[table]().columns) == set(CONTRACTS[table].columns)


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("tasks", [("letter",), ("number", "letter"), ("number", "letter", "third")])
@pytest.mark.parametrize("name", NAMES)
def test_any_tasks_and_seeds(name: str, tasks: tuple[str, ...], seeds: int, tmp_path: Path) -> None:
    figure, data = find_figure(name).draw(tables_of(name, tasks, seeds), SETTINGS)
    assert set(data["task"]) == set(tasks)
    assert not data.drop(columns=[c for c in SUMMARY if c in data]).duplicated().any()
    save(figure, tmp_path / "a.png", tmp_path / "a.svg", 30)


@pytest.mark.parametrize("name", NAMES)
def test_files_repeat_byte_for_byte(name: str, tmp_path: Path) -> None:
    for run in ("first", "second"):
        figure, _ = find_figure(name).draw(tables_of(name), SETTINGS)
        save(figure, tmp_path / f"{run}.png", tmp_path / f"{run}.svg", 40)
    for suffix in ("png", "svg"):
        assert (tmp_path / f"first.{suffix}").read_bytes() == (tmp_path / f"second.{suffix}").read_bytes()


def test_ablation_values() -> None:
    _, data = find_figure("ablation").draw(tables_of("ablation"), SETTINGS)
    one = data.query("task == 'number' and intervention == 'mean' and first == 1 and second == -1 and hops == 2").iloc[
        0
    ]
    assert (one["mean"], one["low"], one["high"]) == pytest.approx((0.5, 0.4, 0.6))
    assert len(data) == 2 * 3 * (3 + 3 + 6)
    with pytest.raises(InputError, match="none of the interventions mean, resample"):
        tables = tables_of("ablation")
        find_figure("ablation").draw({"ablation": tables["ablation"].query("intervention == 'zero'")}, SETTINGS)


def test_frequencies_values() -> None:
    _, data = find_figure("frequencies").draw(tables_of("frequencies"), SETTINGS)
    shares = data.query("task == 'letter' and layer == 2").set_index(["quantity", "plane"])["mean"]
    assert shares["use"].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert shares["contrast"].tolist() == pytest.approx([0.25] * 4)


def test_functions_values() -> None:
    assert [hops_ahead(name) for name in ("reflexive", "index", "retrieval-3")] == [0, 1, 3]
    _, data = find_figure("functions").draw(tables_of("functions"), SETTINGS)
    number = data[data["task"] == "number"].set_index(["part", "step", "layer", "left", "ahead"])["mean"]
    assert number["final", 200, 2, 1, 1] == pytest.approx(
        0.9
    )  # queries one hop from the answer: hop 1 of 1, hop 2 of 2
    assert number["final", 200, 1, 2, 2] == pytest.approx(0.3)
    assert number["training", 100, -1, 2, 2] == pytest.approx(0.15)  # the last layer's
    assert number["accuracy", 100, -1, 2, -1] == 0.5


def test_discrepancy_values() -> None:
    _, data = find_figure("discrepancy").draw(tables_of("discrepancy"), SETTINGS)
    number = data[data["task"] == "number"].set_index(["part", "layer", "length"])
    assert number["mean"]["median", 2, 100] == pytest.approx(0.03)  # hop 1 alone
    assert tuple(number.loc[("slope", 1, 0), ["mean", "low", "high"]]) == pytest.approx((-1.0, -1.2, -0.8))
    with pytest.raises(InputError, match="no hop 1"):
        find_figure("discrepancy").draw(
            {"discrepancy": tables_of("discrepancy")["discrepancy"].query("hop == 2")}, SETTINGS
        )


def test_geometry_shows_the_construction_and_the_two_best_layers() -> None:
    _, data = find_figure("geometry").draw(tables_of("geometry"), SETTINGS)
    number = data[data["task"] == "number"]
    assert sorted(set(number["layer"])) == [-1, 1, 2]
    made = number[number["layer"] == -1].set_index(["role", "token"])["angle"]
    assert made["query", "3"] == pytest.approx(-3 * 0.5)  # T_Index: rot(-s theta)
    assert made["key"].tolist() == [0.0, 0.0]


def test_restriction_values() -> None:
    _, data = find_figure("restriction").draw(tables_of("restriction"), SETTINGS)
    letter = data[data["task"] == "letter"].set_index(["intervention", "extra"])["mean"]
    assert letter["oracle-layer-1", 200] == pytest.approx(0.7)
    assert "oracle-all-but-layer-0" not in set(data["intervention"])
    with pytest.raises(InputError, match="no intervention"):
        table = tables_of("restriction")["restriction"]
        find_figure("restriction").draw({"restriction": table[table["intervention"] == "other"]}, SETTINGS)
