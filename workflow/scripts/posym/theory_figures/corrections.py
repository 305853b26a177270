"""Where the printed bounds on the discrepancy fail, and the bounds that hold in their place."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from posym.figures import style
from posym.theory_figures import curves


def draw(table: pd.DataFrame, settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """Above, exact extremes with the printed and the corrected bound; below, by how much a bound is broken.

    Index below: D_max over its bound, broken above 1. Retrieval below: D_min minus its bound, broken above 0. Data: the rows
    drawn.
    """
    return style.styled(_draw)({"discrepancy": table}, settings)


def _draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    table = tables["discrepancy"]
    letter, integer = (curves.chosen(table, "index", kind, settings["index_theta"]) for kind in ("letter", "integer"))
    pair = curves.chosen(table, "retrieval", "pair", settings["retrieval_theta"], settings["alphabet"])
    figure = style.new_figure(150)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.3, 1))
    _index_bounds(figure.add_subplot(grid[0, 0]), letter, integer)
    _index_ratio(figure.add_subplot(grid[1, 0]), letter, integer)
    _retrieval_bounds(figure.add_subplot(grid[0, 1]), pair)
    reach = _retrieval_excess(figure.add_subplot(grid[1, 1]), pair)

    handles = [
        style.handle(curves.INDEX, "Index: D_max, integer queries", linestyle=curves.MAXIMUM),
        style.handle(curves.INDEX, "Index: letter queries", linestyle=":"),
        style.handle(curves.RETRIEVAL, "Retrieval: D_max over all inputs", linestyle=curves.MAXIMUM),
        style.handle(curves.RETRIEVAL, "Retrieval: D_min over proper inputs", linestyle=curves.MINIMUM),
        style.handle(style.PAPER, "printed bound", **style.PAPER_LINE),
        style.handle(style.PAPER, "corrected bound", **curves.CORRECTED),
        Patch(label=f"outside Retrieval's condition (length > {reach})", **curves.OUTSIDE),
    ]
    note = (
        "Below: coloured against the printed bound, black against the corrected one\n"
        f"Exact at every length; Index: theta = {settings['index_theta']:g};"
        f" Retrieval: pair queries, theta = {settings['retrieval_theta']:g}, {settings['alphabet']} letters"
    )
    style.finish(figure, "Bounds on the discrepancy: printed, exact, corrected", handles, note, 2)  # type: ignore[arg-type]
    return figure, pd.concat([letter, integer, pair])


def _index_bounds(axes: Axes, letter: pd.DataFrame, integer: pd.DataFrame) -> None:
    axes.plot(integer["length"], integer["printed_bound"], zorder=1, **curves.PRINTED)
    curves.curve(axes, integer, "maximum", curves.INDEX, curves.MAXIMUM)
    curves.curve(axes, letter, "maximum", curves.INDEX, ":")
    axes.plot(integer["length"], integer["corrected_bound"], zorder=4, **curves.CORRECTED)
    curves.length_axis(axes, integer)
    axes.set_yscale("log")
    axes.set_ylabel("discrepancy (log scale)")
    axes.set_title("Index: exact and bounds", loc="left")


def _index_ratio(axes: Axes, letter: pd.DataFrame, integer: pd.DataFrame) -> None:
    for rows, line in ((integer, curves.MAXIMUM), (letter, ":")):
        ratios = rows.assign(ratio=rows["maximum"] / rows["printed_bound"])
        curves.curve(axes, ratios, "ratio", curves.INDEX, line)
    axes.plot(integer["length"], integer["maximum"] / integer["corrected_bound"], zorder=4, **curves.CORRECTED)
    axes.axhline(1, color=style.GREY, linewidth=0.7, zorder=1)
    curves.length_axis(axes, integer)
    axes.set_ylim(0, 4)
    axes.set_ylabel("D_max / bound")
    axes.set_title("Index: D_max over its bound, broken above 1", loc="left")


def _retrieval_bounds(axes: Axes, pair: pd.DataFrame) -> None:
    curves.shade_outside(axes, pair)
    axes.plot(pair["length"], pair["printed_bound"], zorder=1, **curves.PRINTED)
    curves.curve(axes, pair, "maximum", curves.RETRIEVAL, curves.MAXIMUM)
    curves.curve(axes, pair, "minimum", curves.RETRIEVAL, curves.MINIMUM)
    axes.plot(pair["length"], pair["corrected_bound"], zorder=4, **curves.CORRECTED)
    axes.axhline(0, color=style.GREY, linewidth=0.7, zorder=1)
    curves.length_axis(axes, pair)
    axes.set_ylim(-0.75, 2.1)
    axes.set_ylabel("discrepancy")
    axes.set_title("Retrieval: exact and bounds", loc="left")


def _retrieval_excess(axes: Axes, pair: pd.DataFrame) -> int | None:
    reach = curves.shade_outside(axes, pair)
    curves.curve(axes, pair, "printed_excess_of_minimum", curves.RETRIEVAL, curves.MINIMUM)
    axes.plot(pair["length"], pair["corrected_excess"], zorder=4, **curves.CORRECTED)
    axes.axhline(0, color=style.GREY, linewidth=0.7, zorder=1)
    curves.length_axis(axes, pair)
    axes.set_ylim(-0.012, 0.006)
    axes.set_ylabel("D_min - bound")
    axes.set_title("Retrieval: D_min minus its bound, broken above 0", loc="left")
    return reach
