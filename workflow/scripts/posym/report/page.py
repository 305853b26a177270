"""The page: everything that was read, put into page.html.jinja with its style and script; the same input gives the same bytes."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from posym.errors import InputError
from posym.report.figures import Figure
from posym.report.numbers import TABLES, Table, number
from posym.report.scorecard import Claim, count
from posym.report.sections import OTHER, SECTIONS, Section, section_of

FILES = ("page.html.jinja", "page.css", "page.js")  # beside this module


@dataclass(frozen=True)
class Content:
    """What a page shows; `claims` is None where the experiment has no scorecard."""

    config: Mapping[str, Any]
    facts: list[tuple[str, str]]
    settings: list[list[str]]
    claims: list[Claim] | None
    figures: list[Figure]
    models: Table
    versions: Table
    fingerprints: Table


def render(content: Content) -> str:
    """The page as HTML."""
    folder = Path(__file__).parent
    style, script = ((folder / name).read_text(encoding="utf-8") for name in FILES[1:])
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"prose": prose, "number": number}
    return environment.get_template(FILES[0]).render(
        content=content,
        config=content.config,
        counts=count(content.claims) if content.claims is not None else {},
        sections=filled_sections(content.figures),
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
    )


def filled_sections(figures: list[Figure]) -> list[tuple[Section, list[tuple[Figure, Table | None]]]]:
    """The sections that have figures, each with them and the table of numbers that stands beside some."""
    filled = []
    for section in (*SECTIONS, OTHER):
        held = [figure for figure in figures if section_of(figure.name) == section]
        if held:
            filled.append((section, [(figure, _table(figure)) for figure in held]))
    return filled


def _table(figure: Figure) -> Table | None:
    if figure.name not in TABLES:
        return None
    try:
        return TABLES[figure.name](figure.data.rows)
    except (KeyError, ValueError) as error:
        raise InputError(
            f"{figure.data.name} is not the table of its figure ({error!r}): delete it and draw the figure again"
        ) from None


def policy(style: str, script: str) -> str:
    """A content security policy that allows this style and script, pictures inside the page, and nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def prose(text: str) -> Markup:
    """Escaped text in which `this` is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
