"""What a figure shows, in words: the docstrings of its module, read without importing it (standard library only)."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def caption(source: Path) -> str:
    """Title, empty line, description of the figure that `source` draws.

    The title is the first line of the module's docstring; the description is the docstring of its `draw` up to the
    sentence that starts with `Data:`, which is about the CSV file.
    """
    tree = ast.parse(source.read_text(encoding="utf-8"))
    title = (ast.get_docstring(tree) or "").partition("\n")[0].removesuffix(".")
    draws = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "draw"]
    shown = " ".join((ast.get_docstring(draw) or "").partition("Data:")[0] for draw in draws)
    return f"{title}\n\n{' '.join(shown.split())}"
