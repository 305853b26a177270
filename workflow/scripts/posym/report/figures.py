"""Figures and the numbers in them, read from the files that the drawing rules left."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from posym.errors import InputError
from posym.report.sections import place

DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
PIXELS_PER_POINT = 96 / 72
KEPT_IN_URIS = " ,.:;/()=+-_[]'"  # what may stand as it is in a data URI; what is rare in numbers stays out


@dataclass(frozen=True)
class Data:
    """A CSV file that travels with the page."""

    name: str
    columns: list[str]
    rows: list[dict[str, str]]
    uri: str


@dataclass(frozen=True)
class Figure:
    """A figure with its words, as its SVG has them, and its numbers."""

    name: str
    title: str
    paragraphs: list[str]
    width: int
    height: int
    uri: str
    data: Data


def read_figures(svgs: Iterable[Path], tables: Iterable[Path]) -> list[Figure]:
    """The figures in the report's order, each with the table of the same name; files without a partner raise `InputError`."""
    pictures, data = ({path.stem: path for path in paths} for paths in (svgs, tables))
    for name in sorted(pictures.keys() ^ data.keys()):
        raise InputError(f"figure {name} came without its {'table' if name in pictures else 'picture'}: give both")
    return [_read_figure(pictures[name], read_data(data[name])) for name in sorted(pictures, key=place)]


def _read_figure(path: Path, data: Data) -> Figure:
    content = _bytes(path)
    try:
        root = ElementTree.fromstring(content)
        width, height = (
            round(float(root.attrib[side].removesuffix("pt")) * PIXELS_PER_POINT) for side in ("width", "height")
        )
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise InputError(f"{path} is no SVG of this workflow ({error}): delete it and draw it again") from None
    words = [(root.findtext(f".//{DUBLIN_CORE}{part}") or "").strip() for part in ("title", "description")]
    kind, _, of_model = path.stem.partition(".")
    title = words[0] or kind.replace("_", " ").capitalize()
    return Figure(
        name=path.stem,
        title=f"{title}: {of_model}" if of_model else title,
        paragraphs=[paragraph for paragraph in words[1].split("\n\n") if paragraph],
        width=width,
        height=height,
        uri="data:image/svg+xml;base64," + base64.b64encode(content).decode("ascii"),
        data=data,
    )


def read_data(path: Path) -> Data:
    """One CSV file; an empty or broken one raises `InputError`."""
    try:
        text = _bytes(path).decode("utf-8")
        reader = csv.DictReader(io.StringIO(text), strict=True)
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is no readable CSV ({error}): delete it and draw its figure again") from None
    if not rows:
        raise InputError(f"{path} has no rows: delete it and draw its figure again")
    return Data(
        path.name, list(reader.fieldnames or []), rows, f"data:text/csv;charset=utf-8,{quote(text, safe=KEPT_IN_URIS)}"
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} is missing: draw it again") from None
