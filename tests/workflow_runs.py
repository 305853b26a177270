"""Running Snakemake in a private copy of the workflow."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
Environment = dict[str, str | None]
NOTHING: Environment = {}
FEW_FIGURES = ["accuracy", "length"]
# Where it is told how long a training took, and how.
WALL_TIMES = {"manifest.json": rb'"wall_seconds": [0-9.]+', "report.html": rb"<td>(\d+ min )?\d+ s</td>"}
PARTS = ("Snakefile", "config.yaml", "workflow", "envs", "profiles")


@dataclass
class Checkout:
    """A folder that holds the workflow and what it made."""

    folder: Path

    def start(
        self, *arguments: str, config: str | None = "tiny", environment: Environment = NOTHING, **options: object
    ) -> subprocess.Popen[str]:
        """Start Snakemake here; `config` names an overlay of workflow/config, `environment` what is set or (None) unset."""
        overlay = ["--configfile", f"workflow/config/{config}.yaml"] if config else []
        merged = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONHASHSEED": "0"}
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *overlay, *arguments],
            cwd=self.folder,
            env={name: value for name, value in (merged | environment).items() if value is not None},
            text=True,
            # A shell gives what it starts in the background a SIGINT that does nothing; Python would then leave it so.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options},  # type: ignore[call-overload]
        )

    def run(self, *arguments: str, config: str | None = "tiny", check: bool = True, **options: Any) -> str:
        """Run Snakemake to its end and return what it printed; `options` are those of `start`."""
        process = self.start(*arguments, config=config, **options)
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

    def products(self, experiment: str = "tiny") -> dict[str, str]:
        """Digest of every file of data and results: bytes, so the last bit of every number.

        Logs, times, and the half-written files that killed jobs leave behind (`.*.partial*`) are not looked at.
        """
        found = {}
        for top in (f"data/{experiment}", f"results/{experiment}"):
            for path in sorted((self.folder / top).rglob("*")):
                name = path.relative_to(self.folder).as_posix()
                if path.is_dir() or ".partial" in name or name.startswith((f"{top}/logs/", f"{top}/benchmarks/")):
                    continue
                content = path.read_bytes()
                if told := WALL_TIMES.get(path.name):
                    content = re.sub(told, b"", content)
                found[name] = hashlib.sha256(content).hexdigest()
        return found


def with_few_figures(checkout: Checkout) -> Checkout:
    """The tiny experiment with two figures only: each is a job of the same rule."""
    path = checkout.folder / "workflow" / "config" / "tiny.yaml"
    tiny = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(tiny | {"figures": tiny["figures"] | {"names": FEW_FIGURES}}))
    return checkout


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
