"""The one look of all figures: colours, lines, sizes, and files that come out the same byte for byte.

A thing has the same colour in every figure. Colours are Okabe and Ito's (with Tol's indigo), which readers with any
common kind of colour blindness can tell apart; line styles and markers tell the same things apart in greyscale.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from posym.files import replaced_file

PAGE_WIDTH_MM = 180.0
MM_PER_INCH = 25.4
POINTS_PER_INCH = 72
NOTE_MM = 4.5  # height of one line of the note in the corner
NOTE = "note"  # the label by which `save` finds that note
GREY = "#666666"

SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that figures are the same on every machine
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlepad": 4,
    "figure.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "legend.columnspacing": 1.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "svg.hashsalt": "posym",  # ids in an SVG are drawn at random otherwise
    "path.simplify": False,
}


@dataclass(frozen=True)
class Look:
    """How one thing is drawn."""

    colour: str
    line: str
    marker: str


TASKS = {"number": Look("#D55E00", "-", "o"), "letter": Look("#56B4E9", "--", "s")}
HOPS = {
    1: Look("#000000", "-", "o"),
    2: Look("#0072B2", "--", "s"),
    3: Look("#009E73", "-.", "^"),
    4: Look("#E69F00", ":", "D"),
}
KINDS = {"positional": Look("#332288", "-", "o"), "symbolic": Look("#CC79A7", "--", "s")}
PAPER_LINE: dict[str, Any] = {"linewidth": 3, "alpha": 0.35}
PAPER_MARKER: dict[str, Any] = {
    "linestyle": "",
    "marker": "o",
    "markersize": 5,
    "markerfacecolor": "none",
    "alpha": 0.6,
}
ENTROPY = Look(GREY, ":", "")
PAPER = Look(GREY, "-", "")  # in legends; beside a thing the paper's value has that thing's colour
# For tasks and hops added later.
MORE = (Look("#009E73", "-.", "^"), Look("#CC79A7", ":", "D"), Look("#000000", "-", "v"))

Draw = Callable[[dict[str, pd.DataFrame], dict[str, Any]], tuple[Figure, pd.DataFrame]]


def task_order(tasks: Iterable[str]) -> list[str]:
    """Tasks as panels and legends show them: the paper's two first, then others by name."""
    known = list(TASKS)
    return sorted(set(tasks), key=lambda task: (known.index(task) if task in known else len(known), task))


def task_looks(tasks: Iterable[str]) -> dict[str, Look]:
    """The look of each task, in `task_order`."""
    ordered = task_order(tasks)
    others = [task for task in ordered if task not in TASKS]
    return {task: TASKS.get(task) or MORE[others.index(task) % len(MORE)] for task in ordered}


def hop_look(hop: int) -> Look:
    """The look of a hop class, 1 and up."""
    return HOPS.get(hop) or MORE[hop % len(MORE)]


@contextmanager
def _this_style() -> Iterator[None]:
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        yield


def styled(draw: Draw) -> Draw:
    """A `draw` function that works under this style, whatever the caller's settings of matplotlib are."""

    @functools.wraps(draw)
    def wrapped(tables: dict[str, pd.DataFrame], settings: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
        with _this_style():
            return draw(tables, settings)

    return wrapped


def new_figure(height_mm: float) -> Figure:
    """An empty figure of the page's width; `finish` lays its panels out."""
    return Figure(figsize=(PAGE_WIDTH_MM / MM_PER_INCH, height_mm / MM_PER_INCH))


def plot(
    axes: Axes, rows: pd.DataFrame, x: str, look: Look, limits: tuple[float, float] = (0, 1), steps: bool = False
) -> None:
    """Line and band of one summary from `posym.figures.seeds`; bands are cut at `limits`, the quantity's own range.

    `steps` holds each value until the next one, for counts.
    """
    rows = rows.sort_values(x)
    low, high = (rows[side].clip(*limits) for side in ("low", "high"))
    if rows["low"].notna().any():
        axes.fill_between(
            rows[x], low, high, color=look.colour, alpha=0.2, linewidth=0, step="post" if steps else None, zorder=2
        )
    every = max(1, len(rows) // 8)
    axes.plot(
        rows[x],
        rows["mean"],
        color=look.colour,
        linestyle=look.line,
        marker=look.marker,
        markevery=every,
        drawstyle="steps-post" if steps else "default",
        zorder=3,
    )


def plot_paper(axes: Axes, x: Sequence[float], y: Sequence[float], look: Look, **changes: Any) -> None:
    """The paper's values as a faint broad line behind the run's own."""
    axes.plot(x, y, color=look.colour, linestyle=look.line, zorder=1, **PAPER_LINE, **changes)


def mark_paper(axes: Axes, x: Sequence[float], y: Sequence[float], look: Look) -> None:
    """The paper's values as faint hollow markers, which may stick out of the panel."""
    axes.plot(x, y, color=look.colour, clip_on=False, **PAPER_MARKER | {"marker": look.marker})


def handle(look: Look, label: str, **changes: Any) -> Line2D:
    """A legend entry; `changes` are properties of the line that differ from the look."""
    properties = {"color": look.colour, "linestyle": look.line, "marker": look.marker, "label": label, **changes}
    return Line2D([], [], **properties)


def hop_handles(hops: Iterable[int]) -> list[Line2D]:
    """The legend entries of hop classes."""
    return [handle(hop_look(hop), "1 hop" if hop == 1 else f"{hop} hops") for hop in hops]


def guess_handle() -> Line2D:
    """The legend entry of the guess level."""
    return Line2D([], [], color=GREY, linewidth=0.7, linestyle=(0, (1, 2)), label="guess level 1/8")


def guess_level(axes: Axes, level: float) -> None:
    """A thin line at the accuracy of guessing."""
    axes.axhline(level, color=GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)


def accuracy_axis(axes: Axes) -> None:
    """The y axis of an accuracy or score: from 0 to 1 with room for lines that lie on either."""
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])


def finish(figure: Figure, title: str, handles: Sequence[Line2D], note: str, columns: int | None = None) -> None:
    """Title above, legend below, and the note on bands in the lower right corner, each with room of its own.

    The legend has `columns` columns, or one row.
    """
    height_mm = figure.get_figheight() * MM_PER_INCH
    strip_mm = NOTE_MM * (note.count("\n") + 1)
    figure.set_layout_engine("constrained", rect=(0, strip_mm / height_mm, 1, 1 - strip_mm / height_mm))
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    # The layout keeps room for a legend but not for its distance from the edge (in font sizes): that is the strip.
    font_mm = SETTINGS["legend.fontsize"] * MM_PER_INCH / POINTS_PER_INCH
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns or len(handles), borderaxespad=strip_mm / font_mm
    )
    figure.text(0.99, 0.8 / height_mm, note, ha="right", va="bottom", fontsize=6.5, color=GREY, label=NOTE)
    # The layout's solver differs in the last digits from run to run, and ids in an SVG would show it: round, then keep.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(tuple(round(part, 5) for part in axes.get_position().bounds))


def save(figure: Figure, png: Path, svg: Path, dpi: float, caption: str = "") -> None:
    """Write a figure as PNG (`dpi` dots an inch) and SVG, each in one piece; equal figures give equal bytes.

    The SVG says what it shows in its metadata: title and description of `caption` (see `posym.captions`) and the note
    in the corner. Neither file holds a date; both depend on the version of matplotlib.
    """
    title, _, shown = caption.partition("\n\n")
    notes = [
        ". ".join(line.removesuffix(".") for line in text.get_text().splitlines())
        for text in figure.texts
        if text.get_label() == NOTE
    ]
    about = {"Title": title, "Description": "\n\n".join([shown, *notes])} if caption else {}
    with _this_style():
        with replaced_file(png) as temporary:
            figure.savefig(temporary, format="png", dpi=dpi, metadata={"Software": None})
        with replaced_file(svg) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": None, **about})


def save_data(data: pd.DataFrame, csv: Path) -> None:
    """Write the data that a figure shows, in one piece, ten digits a number; missing values are empty."""
    with replaced_file(csv) as temporary:
        data.to_csv(temporary, index=False, float_format="%.10g", lineterminator="\n")
