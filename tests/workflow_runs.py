"""Running Snakemake in a private copy of the workflow."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "config.yaml", "workflow", "envs", "profiles")


@dataclass
class Checkout:
    """A folder that holds the workflow and what it made."""

    folder: Path

    def start(self, *arguments: str, config: str | None = "tiny", **options: object) -> subprocess.Popen[str]:
        """Start Snakemake here; `config` names an overlay of workflow/config."""
        overlay = ["--configfile", f"workflow/config/{config}.yaml"] if config else []
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONHASHSEED": "0",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *overlay, *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,  # type: ignore[call-overload]
        )

    def run(self, *arguments: str, config: str | None = "tiny", check: bool = True) -> str:
        """Run Snakemake to its end and return what it printed."""
        process = self.start(*arguments, config=config)
        output, _ = process.communicate()
        assert not check or process.returncode == 0, output
        if not check:
            output += f"\nexit status {process.returncode}"
        return output

    def jobs(self, *arguments: str, config: str | None = "tiny") -> dict[str, int]:
        """What a dry run would do: jobs per rule, the default target left out."""
        output = self.run("-n", *arguments, config=config)
        table = re.findall(r"^(\w+) +(\d+)$", output, flags=re.MULTILINE)
        return {rule: int(count) for rule, count in table if rule not in ("all", "total")}

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace the one occurrence of `old` in a file."""
        file = self.folder / path
        text = file.read_text()
        assert text.count(old) == 1, f"{path} has {text.count(old)} times {old!r}"
        file.write_text(text.replace(old, new))


def copy_workflow(folder: Path) -> Checkout:
    """Copy the workflow's own files to a new folder."""
    folder.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / part)
    return Checkout(folder)
