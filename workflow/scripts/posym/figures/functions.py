"""Which function each head computes, and when it appears against when its hop is learned."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posym.errors import InputError
from posym.figures import style
from posym.figures.seeds import over_seeds

TABLES = ("functions", "accuracy")
SELF = "reflexive"


@style.styled
def draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:  # noqa: ARG001 (every figure takes them)
    """A row of panels a task. Heat maps at the last step: one for queries 1, 2, .. hops from the answer.

    In them y is the layer, x how many hops on along the path the head looks (0 is the query itself), colour the attention
    mass. Right: over training, for queries that many hops from the answer, the largest mass that any layer has on the
    answer's slot, and the accuracy on inputs with that many hops. Data: `task, part, step, layer, left, ahead` and the
    summary over seeds: `final` masses; `training`, the largest over layers (layer -1); `accuracy` (layer and ahead -1).
    """
    table = tables["functions"]
    table = table[table["hops"] > 0]
    if table.empty:
        raise InputError("the functions tables hold no hop classes: run the stage that makes them again")
    table = table.assign(
        left=table["hops"].astype(int) - table["hop"].astype(int) + 1, ahead=table["function"].map(hops_ahead)
    )
    keys = ["task", "step", "layer", "left", "ahead"]
    table = table.assign(weight=table["mass"] * table["items"])
    sums = table.groupby(["seed", *keys])[["weight", "items"]].sum().reset_index()
    masses = sums.assign(mass=sums["weight"] / sums["items"])
    final = masses[masses["step"] == masses.groupby(["task", "seed"])["step"].transform("max")]
    answer = masses[masses["left"] == masses["ahead"]]
    best = answer.groupby(["seed", "task", "step", "left", "ahead"])[["mass", "items"]].max().reset_index()
    accuracy = tables["accuracy"][tables["accuracy"]["hops"] > 0].rename(columns={"hops": "left"})
    columns = ["task", "part", "step", "layer", "left", "ahead"]
    data = pd.concat(
        [
            over_seeds(final.assign(part="final"), columns, "mass"),
            over_seeds(best.assign(part="training", layer=-1), columns, "mass"),
            over_seeds(accuracy.assign(part="accuracy", layer=-1, ahead=-1), columns, "accuracy"),
        ]
    ).sort_values(columns, ignore_index=True)

    tasks = style.task_order(data["task"])
    hops = sorted(set(data["left"]))
    figure = style.new_figure(62 * len(tasks) + 18)
    widths = [hop + 1.5 for hop in hops] + [2.2 * len(hops) + 4]
    grid = figure.add_gridspec(len(tasks), len(hops) + 1, width_ratios=widths)
    for row, task in enumerate(tasks):
        part = data[data["task"] == task]
        for column, left in enumerate(hops):
            axes = figure.add_subplot(grid[row, column])
            _heat_map(axes, part[(part["part"] == "final") & (part["left"] == left)], last=left == hops[-1])
            axes.set_title(f"{left} left", loc="left")
            if column == 0:
                axes.set_ylabel(f"{task} task, layer")
        axes = figure.add_subplot(grid[row, len(hops)])
        for left in hops:
            look = style.hop_look(left)
            for name, line in (("training", "-"), ("accuracy", ":")):
                rows = part[(part["part"] == name) & (part["left"] == left)]
                style.plot(axes, rows, "step", style.Look(look.colour, line, ""))
        style.accuracy_axis(axes)
        axes.set_title("over training", loc="left")
        axes.set_ylabel("mass on the answer, accuracy")
        axes.set_xlabel("optimizer step")
    handles = [style.handle(style.Look(style.hop_look(hop).colour, "-", ""), f"{hop} left") for hop in hops]
    handles.append(style.handle(style.Look(style.GREY, "-", ""), "largest mass"))
    handles.append(style.handle(style.Look(style.GREY, ":", ""), "accuracy"))
    seeds = data["seeds"].max()
    note = f"Left: hops from the query to the answer. {'1 seed' if seeds == 1 else f'Mean of {seeds} seeds'}"
    style.finish(figure, "Where along the path each head looks", handles, note)
    return figure, data


def hops_ahead(function: str) -> int:
    """How many hops on a function's slot lies: `reflexive` 0, `index` 1, `index-2` 2."""
    if function == SELF:
        return 0
    return int(function.partition("-")[2] or 1)


def _heat_map(axes: Axes, data: pd.DataFrame, last: bool) -> None:
    mass = data.pivot_table(index="layer", columns="ahead", values="mean")
    shown = axes.imshow(mass.to_numpy(), aspect="auto", cmap="viridis", vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks(range(len(mass.columns)), [str(ahead) for ahead in mass.columns])
    axes.set_yticks(range(len(mass)))
    axes.set_xlabel("hops ahead")
    if last:
        axes.figure.colorbar(shown, ax=axes, use_gridspec=False, label="attention mass")
