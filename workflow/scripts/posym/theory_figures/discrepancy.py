"""Discrepancy against length of both constructions (paper Fig. 5A), with the part outside the theorem marked."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from posym.figures import style
from posym.theory_figures import curves


def draw(table: pd.DataFrame, settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """Left as in the paper, right the same on a log scale: D_max and D_min of Index (integer queries), D_min of Retrieval.

    Retrieval also at theta = 0, where it does not depend on length. The printed expressions, which are what the paper plots,
    are faint. Shaded: lengths at which Retrieval's theta breaks the condition theta < omega / (2 n). Data: the rows drawn.
    """
    return style.styled(_draw)({"discrepancy": table}, settings)


def _draw(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    table, letters = tables["discrepancy"], settings["alphabet"]
    index = curves.chosen(table, "index", "integer", settings["index_theta"])
    retrieval = curves.chosen(table, "retrieval", "pair", settings["retrieval_theta"], letters)
    flat = table[(table["theta"] == 0) & (table["construction"] == "retrieval") & (table["query_kind"] == "pair")]
    flat = flat[flat["alphabet"] == letters].sort_values("length")

    figure = style.new_figure(88)
    reach = None
    for place, log in enumerate((False, True)):
        axes = figure.add_subplot(1, 2, place + 1)
        reach = curves.shade_outside(axes, retrieval)
        for rows, look in ((index, curves.INDEX), (retrieval, curves.RETRIEVAL)):
            axes.plot(rows["length"], rows["printed_bound"], zorder=1, **curves.PRINTED | {"color": look.colour})
        curves.curve(axes, index, "maximum", curves.INDEX, curves.MAXIMUM)
        curves.curve(axes, index, "minimum", curves.INDEX, curves.MINIMUM)
        curves.curve(axes, retrieval, "minimum", curves.RETRIEVAL, curves.MINIMUM)
        if len(flat):
            curves.curve(axes, flat, "minimum", curves.RETRIEVAL, ":", marker="")
        curves.length_axis(axes, index)
        if log:
            axes.set_yscale("log")
            axes.set_ylim(1e-6, 1)
            axes.set_title("the same, log scale (D_min where above 0)", loc="left")
        else:
            axes.set_ylim(-0.1, 0.34)
            axes.axhline(0, color=style.GREY, linewidth=0.7, zorder=1)
            axes.set_ylabel("discrepancy (attention logit)")
            axes.set_title("largest logit minus the next", loc="left")

    name = f"Retrieval, theta = {settings['retrieval_theta']:g}"
    handles = [
        style.handle(curves.INDEX, f"Index, theta = {settings['index_theta']:g}: D_max", linestyle=curves.MAXIMUM),
        style.handle(curves.INDEX, "Index: D_min", linestyle=curves.MINIMUM),
        style.handle(curves.RETRIEVAL, f"{name}: D_min", linestyle=curves.MINIMUM),
        style.handle(curves.RETRIEVAL, "Retrieval, theta = 0: D_min", linestyle=":", marker=""),
        style.handle(style.PAPER, "printed expression, in its construction's colour", **style.PAPER_LINE),
        Patch(label=f"{name}: outside the theorem (length > {reach})", **curves.OUTSIDE),
    ]
    note = f"Exact at every length; Index: integer queries; Retrieval: pair queries, {letters} letters"
    style.finish(figure, "Discrepancy of the two constructions against length", handles, note, 2)  # type: ignore[arg-type]
    return figure, pd.concat([index, retrieval, flat]).drop_duplicates()
