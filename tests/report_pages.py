"""Reading a report's HTML: what stands in it, and what must hold of every such page."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote

VOID = {"meta", "link", "img", "input", "br"}
REFERENCES = ("for", "aria-labelledby", "data-csv")


@dataclass
class Element:
    """One element with all the text below it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    parents: list[Element] = field(default_factory=list)


class Page(HTMLParser):
    """All elements of a page in order; a tag that is not closed in its place is an AssertionError."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        assert not self._open, [element.tag for element in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs}, parents=list(self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag, f"</{tag}> closes something else, line {self.getpos()[0]}"

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, style: str = "") -> list[Element]:
        """The elements with this tag, and this class where one is named."""
        found = [element for element in self.elements if element.tag == tag]
        return [one for one in found if not style or style in one.attributes.get("class", "").split()]

    def one(self, tag: str) -> Element:
        """The only element with this tag."""
        (found,) = self.all(tag)
        return found

    @property
    def ids(self) -> list[str]:
        """Every id, in order."""
        return [element.attributes["id"] for element in self.elements if "id" in element.attributes]

    def data(self) -> dict[str, str]:
        """What each download link holds, by the file name it is saved under."""
        links = [element.attributes for element in self.all("a") if "download" in element.attributes]
        return {link["download"]: unquote(link["href"].partition(",")[2]) for link in links}

    def pictures(self) -> list[bytes]:
        """The bytes of each picture."""
        return [base64.b64decode(image.attributes["src"].partition(",")[2]) for image in self.all("img")]


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV text."""
    return list(csv.DictReader(io.StringIO(text)))


def check(page: Page) -> None:
    """What holds of every report: one self-contained document whose references lead somewhere and whose parts have names."""
    assert page.html.startswith("<!DOCTYPE html>")
    assert page.one("html").attributes["lang"] == "en"
    assert page.one("title").text.strip()
    assert len(page.ids) == len(set(page.ids))
    for element in page.elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on"), f"{element.tag} has a handler {name}"
            assert name != "style", f"{element.tag} has a style of its own"
            if name in ("src", "href"):
                assert value.startswith(("#", "data:")), value[:80]
                assert not value.startswith("#") or value[1:] in page.ids, value
            if name in REFERENCES:
                assert value in page.ids, f"{name}={value}"
    _check_policy(page)
    levels = [int(element.tag[1]) for element in page.elements if re.fullmatch("h[1-6]", element.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    for image in page.all("img"):
        assert len(image.attributes["alt"]) > 10
        assert "figure" in [parent.tag for parent in image.parents]
    assert len(page.all("figure")) == len(page.all("figcaption")) == len(page.all("img"))
    for head in page.all("th"):
        assert head.attributes["scope"] in ("row", "col")
    tables = page.all("table")
    assert len(tables) == len(page.all("caption"))
    assert all(caption.text.strip() for caption in page.all("caption"))


def _check_policy(page: Page) -> None:
    """The policy allows the page's own style and script by their hash, and no other source."""
    (policy,) = [
        meta.attributes["content"]
        for meta in page.all("meta")
        if meta.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts["img-src"] == "data:"
    for tag in ("style", "script"):
        source = page.one(tag).text
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert parts[f"{tag}-src"] == f"'sha256-{digest}'"
        assert not re.search(r"url\(|@import|https?:|fetch\(|eval\(|innerHTML", source)
