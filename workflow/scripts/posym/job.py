"""What every stage's script does around its one library call: arguments, environment checks, log, progress, errors.

Standard library only, so that a stage whose environment misses a package can say so in one sentence.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from posym.errors import InputError

log = logging.getLogger("posym")


def parser(rule: str, description: str | None) -> argparse.ArgumentParser:
    """An argument parser for the script of `rule` with what all stages share: `--params`, `--threads`, `--log`."""
    made = argparse.ArgumentParser(description=description, allow_abbrev=False)
    made.set_defaults(rule=rule)
    made.add_argument("--params", type=json.loads, required=True, help="the stage's settings as JSON")
    made.add_argument("--threads", type=int, required=True, help="CPU threads to use")
    made.add_argument("--log", type=Path, required=True, help="log file; the same lines go to standard error")
    return made


def run(
    arguments: argparse.ArgumentParser, stage: Callable[[argparse.Namespace], None], packages: Sequence[str]
) -> None:
    """Parse, check that `packages` come from this interpreter's own environment, run the stage, and exit with its status.

    `InputError` and operating-system errors become one sentence in log and standard error (exit status 1).
    """
    parsed = arguments.parse_args()
    started = time.monotonic()
    try:
        _start_log(parsed.log, parsed.rule)
        _check_packages(parsed.rule, packages)
        _use_threads(parsed)
        log.info("python %s, %s", platform.python_version(), ", ".join(f"{p} {_version(p)}" for p in packages))
        log.info("host %s, %s, %d of %s CPUs", platform.node(), platform.machine(), parsed.threads, os.cpu_count())
        log.info("settings %s", json.dumps(parsed.params, sort_keys=True))
        stage(parsed)
    except InputError as error:
        log.error("error: %s", error)
        raise SystemExit(1) from None
    except OSError as error:
        log.error(
            "error: %s: %s (free space, permissions?); results that were complete are untouched",
            error.filename,
            error.strerror or error,
        )
        raise SystemExit(1) from None
    except Exception:
        log.exception("this is a bug in the workflow:")
        raise SystemExit(1) from None
    log.info("done in %s", duration(time.monotonic() - started))


def _start_log(path: Path, rule: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    label = path.stem.replace(".", " ") if path.stem.startswith(rule) else f"{rule} {path.stem}"
    style = logging.Formatter(f"%(asctime)s [{label}] %(message)s", "%H:%M:%S")
    log.setLevel(logging.INFO)
    # A path beyond ASCII is no valid text where the locale is not UTF-8; as standard error does, say it with escapes.
    file = logging.FileHandler(path, mode="w", encoding="utf-8", errors="backslashreplace")
    for handler in (logging.StreamHandler(), file):
        handler.setFormatter(style)
        log.addHandler(handler)


def _check_packages(rule: str, packages: Sequence[str]) -> None:
    for package in packages:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise InputError(
                f"package {package} is not installed in {sys.prefix}: add it to envs/{rule}.yaml (or, without conda, to requirements.txt)"
            )
        if not Path(found.origin).resolve().is_relative_to(Path(sys.prefix).resolve()):
            raise InputError(
                f"package {package} comes from {found.origin}, outside the environment {sys.prefix}: add it to envs/{rule}.yaml"
            )


def _use_threads(parsed: argparse.Namespace) -> None:
    wanted = parsed.params.get("threads", parsed.threads)
    if wanted != parsed.threads:
        raise InputError(
            f"{parsed.threads} CPU threads given where the configuration says {wanted}, and other threads give other numbers:"
            f" run with --cores {wanted} or more, or set threads: {parsed.threads}"
        )
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(parsed.threads)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Versions of Python and `packages`, for a manifest."""
    return {"python": platform.python_version(), **{package: _version(package) for package in packages}}


def duration(seconds: float) -> str:
    """Seconds for people: `42 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Progress:
    """Says every ten seconds how far a loop is and when it will end; `done` starts at what an earlier run did."""

    def __init__(self, total: float, what: str, done: float = 0, every: float = 10.0) -> None:
        self.total, self.what, self.every = total, what, every
        self.first = self.done = done
        self.started = self.said = time.monotonic()

    def update(self, done: float, note: Any = "") -> None:
        """Set how much is done (not by how much more)."""
        self.done = done
        now = time.monotonic()
        if now - self.said < self.every or done <= self.first:
            return
        self.said = now
        rate = (done - self.first) / (now - self.started)
        log.info(
            "%s %.0f of %.0f (%.0f %%), %s left%s",
            self.what, done, self.total, 100 * done / self.total, duration((self.total - done) / rate), f", {note}" if note else "",
        )  # fmt: skip
