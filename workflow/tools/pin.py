"""Raise (or lower) one package's version everywhere it is pinned: requirements*.txt and envs/*.yaml.

    make pin PACKAGE=numpy==2.5.0

Then `make test`; the environments that changed are made anew at the next run with --use-conda, and their rules run again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def normal(name: str) -> str:
    """A package's name as the index compares names: PyYAML is pyyaml, inspect_ai is inspect-ai."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pin(root: Path, package: str, version: str) -> list[str]:
    """Write the version in every file below `root` that pins the package, and return their names."""
    changed = []
    line = re.compile(r"^(\s*(?:- )?)([A-Za-z0-9._-]+)==(\S+)$", re.MULTILINE)
    for path in (*sorted(root.glob("requirements*.txt")), *sorted(root.glob("envs/*.yaml"))):
        text = path.read_text(encoding="utf-8")
        new = line.sub(
            lambda found: f"{found[1]}{found[2]}=={version}" if normal(found[2]) == normal(package) else found[0], text
        )
        if new != text:
            path.write_text(new, encoding="utf-8")
            changed.append(str(path.relative_to(root)))
    return changed


def main(arguments: list[str]) -> int:
    """Run the command; one sentence and exit status 2 for what it cannot do."""
    wanted = re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][0-9A-Za-z.!+]*)", arguments[0]) if len(arguments) == 1 else None
    if wanted is None:
        print("error: say which package and version, for example: make pin PACKAGE=numpy==2.5.0", file=sys.stderr)
        return 2
    changed = pin(ROOT, wanted[1], wanted[2])
    if not changed:
        print(
            f"error: no requirements*.txt or envs/*.yaml pins {wanted[1]} at another version than {wanted[2]}: check the spelling",
            file=sys.stderr,
        )
        return 2
    print(f"{wanted[0]} in {', '.join(changed)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
