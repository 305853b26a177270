"""Which files of the library a script imports, read from the sources without running them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = "posym"


def imported_files(root: Path, *sources: str) -> list[Path]:
    """All library files below `root` that `sources` (paths below `root`) import, directly or not, themselves left out.

    Imports inside functions count; parent packages count, since importing a module runs them.
    """
    waiting, found = [root / source for source in sources], set()
    while waiting:
        for file in _imports(root, waiting.pop()):
            if file not in found:
                found.add(file)
                waiting.append(file)
    return sorted(found - {root / source for source in sources})


@cache
def _imports(root: Path, source: Path) -> list[Path]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)  # each may be a module
    if source.is_relative_to(root / PACKAGE):  # a module runs its parent packages
        names.update(".".join(parent.parts) for parent in source.relative_to(root).parents if parent.parts)
    files = []
    for name in names:
        parts = name.split(".")
        if parts[0] != PACKAGE:
            continue
        for length in range(1, len(parts) + 1):
            base = root.joinpath(*parts[:length])
            files += [file for file in (base / "__init__.py", base.with_suffix(".py")) if file.is_file()]
    return files


def constant(source: Path, name: str) -> tuple[str, ...]:
    """The tuple of strings that a module assigns to `name` at its top level (none: empty), read without importing it."""
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return tuple(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return ()
