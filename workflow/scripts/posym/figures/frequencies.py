"""Which RoPE planes each layer's head uses (paper Table 1, Figs 4C and 8)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posym import paper
from posym.errors import InputError
from posym.figures import style
from posym.figures.seeds import over_seeds

TABLES = ("frequencies",)
QUERY = "last"
QUANTITIES = {"use": "largest logit", "contrast": "what the choice of slot rests on"}


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """A column of panels a task: x is the plane's id, y the layer, colour the plane's share of its head, at the last query.

    Above, shares of `use`, the largest logit (Table 1), with each layer's mean plane, the mean plane of a flat profile and,
    where the settings ask for them (`paper_reference`), the paper's mean planes; below, shares of `contrast`, the part of
    the logits that tells slots apart. Data: `task, quantity, layer, head, plane` and the summary of the share over seeds.
    """
    table = tables["frequencies"]
    table = table[table["query"] == QUERY]
    if table.empty:
        raise InputError(f"the frequencies tables have no query {QUERY!r}: run the stage that makes them again")
    head = ["task", "seed", "layer", "head"]
    keys = ["task", "quantity", "layer", "head", "plane"]
    parts = []
    for quantity in QUANTITIES:
        share = table[quantity] / table.groupby(head)[quantity].transform("sum")
        parts.append(over_seeds(table.assign(quantity=quantity, share=share), keys, "share"))
    data = pd.concat(parts).sort_values(keys, ignore_index=True)
    means = table.groupby(["task", "layer", "head"])["mean_plane"].mean()
    flat = float(table["flat_mean_plane"].iloc[0])

    tasks = style.task_order(data["task"])
    figure = style.new_figure(130)
    panels = figure.subplots(len(QUANTITIES), len(tasks), squeeze=False)
    for column, task in enumerate(tasks):
        for axes, quantity in zip(panels[:, column], QUANTITIES, strict=True):
            part = data[(data["task"] == task) & (data["quantity"] == quantity)]
            _heat_map(axes, part)
            axes.set_title(f"{task} task, {quantity}: {QUANTITIES[quantity]}", loc="left")
            if quantity != "use":
                continue
            mean = means[task].to_numpy()
            axes.plot(mean, range(len(mean)), color="white", marker="o", linestyle="", markeredgecolor="black")
            axes.axvline(flat, color="white", linewidth=0.8, linestyle="--")
            if settings["paper_reference"] and len(paper.MEAN_PLANES.get(task, ())) == len(mean):
                axes.plot(paper.MEAN_PLANES[task], range(len(mean)), color="white", marker="x", linestyle="")
    seeds = data["seeds"].max()
    note = f"mean of {seeds} seeds" if seeds > 1 else "1 seed"
    handles = [
        style.handle(style.Look("black", "", "o"), "mean plane, weighted by use", markerfacecolor="white"),
        style.handle(style.Look(style.GREY, "--", ""), f"mean plane of a flat profile ({flat:g})"),
    ]
    if settings["paper_reference"]:
        handles.append(style.handle(style.Look("black", "", "x"), "paper, Table 1"))
    style.finish(
        figure, "Use of RoPE planes, final checkpoint, last query", handles, f"{note}, {data['items'].min()} items"
    )
    return figure, data


def _heat_map(axes: Axes, data: pd.DataFrame) -> None:
    shares = data.pivot_table(index=["layer", "head"], columns="plane", values="mean")
    shown = axes.imshow(
        shares.clip(lower=0).to_numpy(),
        aspect="auto",
        cmap="viridis",
        vmin=0,
        extent=(shares.columns.min() - 0.5, shares.columns.max() + 0.5, len(shares) - 0.5, -0.5),
        interpolation="nearest",
    )
    axes.set_yticks(range(len(shares)))
    axes.set_xlabel("plane id (1 turns fastest)")
    axes.set_ylabel("layer")
    axes.figure.colorbar(shown, ax=axes, use_gridspec=False, label="share of the head")
