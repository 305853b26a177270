"""Queries and keys in the dominant RoPE plane: the constructions and the trained heads nearest to them (paper section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posym.figures import style

TABLES = ("geometry",)
ROLES = {"query": style.Look("#332288", "", "o"), "key": style.Look("#CC79A7", "", "s")}
NAMED = 20  # so many tokens of a role are named in the plot


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:  # noqa: ARG001 (every figure takes them)
    """A row a task: the construction, then the two layers whose queries fit it best; a point a token, at its mean vector.

    The lowest seed is shown: a head's overall turn is free, so that means over seeds would say nothing. Radii are scaled
    by the largest of their role. Data: `task, layer, role, token`, the head's plane, each vector and the head's fit;
    layer -1 is the construction (T_Index: query of s at -s theta, every key at 0; T_Retrieval: query of a right letter and
    key of that left letter at -phi omega).
    """
    table = tables["geometry"]
    table = table[table["seed"] == table.groupby("task")["seed"].transform("min")]
    columns = ["task", "layer", "role", "token", "plane", "plane_angle", "angle", "radius"]
    columns += ["angle_error", "variance_explained"]
    parts = []
    for _task, rows in table.groupby("task"):
        fits = rows[rows["role"] == "query"].groupby("layer")["variance_explained"].first()
        best = fits.sort_values(ascending=False).index[:2]
        trained = rows[rows["layer"].isin(best)][columns]
        like = trained[trained["layer"] == best[0]]
        parts += [_construction(like), trained]
    data = pd.concat(parts).astype({"layer": int}).sort_values(["task", "layer", "role", "token"], ignore_index=True)

    tasks = style.task_order(data["task"])
    figure = style.new_figure(66 * len(tasks) + 14)
    grid = figure.add_gridspec(len(tasks), 3)
    for row, task in enumerate(tasks):
        part = data[data["task"] == task]
        layers = [-1, *sorted(set(part["layer"]) - {-1})]
        for column, layer in enumerate(layers):
            axes = figure.add_subplot(grid[row, column])
            _plane(axes, part[part["layer"] == layer])
            axes.set_title(_title(task, part[part["layer"] == layer], layer), loc="left")
    handles = [style.handle(look, f"{role}, mean over items") for role, look in ROLES.items()]
    note = f"seed {table['seed'].min()}; rms angle error in rad (guessing: 1.81); share of squared length explained"
    style.finish(figure, "Queries and keys in each head's dominant RoPE plane, before RoPE", handles, note)
    return figure, data


def _construction(like: pd.DataFrame) -> pd.DataFrame:
    """The construction's vectors for the tokens of a trained head."""
    theta = float(like["plane_angle"].iloc[0])
    made = like.assign(layer=-1, radius=1.0, angle_error=0.0, variance_explained=1.0)
    queries = like["role"] == "query"
    if like.loc[queries, "token"].str.isdigit().all():  # T_Index: integers ask, everything is looked at
        offset = pd.to_numeric(like["token"], errors="coerce").fillna(0)
        return made.assign(angle=np.where(queries, -offset * theta, 0.0))
    letters = sorted(set(like["token"]))
    turn = 2 * np.pi / len(letters)
    return made.assign(angle=[-letters.index(token) * turn for token in like["token"]])


def _plane(axes: Axes, rows: pd.DataFrame) -> None:
    for role, look in ROLES.items():
        part = rows[rows["role"] == role]
        radius = part["radius"] / part["radius"].max() * (1.0 if role == "query" else 0.7)
        x, y = radius * np.cos(part["angle"]), radius * np.sin(part["angle"])
        axes.plot(x, y, color=look.colour, marker=look.marker, linestyle="", alpha=0.7)
        if len(part) <= NAMED:
            for token, at_x, at_y in zip(part["token"], x, y, strict=True):
                axes.annotate(token, (at_x, at_y), (2, 2), textcoords="offset points", fontsize=5.5)
    axes.axhline(0, color=style.GREY, linewidth=0.4)
    axes.axvline(0, color=style.GREY, linewidth=0.4)
    axes.set_xlim(-1.2, 1.2)
    axes.set_ylim(-1.2, 1.2)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])


def _title(task: str, rows: pd.DataFrame, layer: int) -> str:
    if layer < 0:
        return f"{task} task: construction"
    fit = rows[rows["role"] == "query"].iloc[0]
    return f"layer {layer}, plane {fit['plane']}: {fit['angle_error']:.2f} rad, {fit['variance_explained']:.0%}"
