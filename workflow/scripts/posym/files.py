"""Writing so that a reader never meets half a file: a temporary name beside the target, then a rename."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from posym.errors import InputError


@contextmanager
def replaced_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target`; on success it takes the target's place, on an exception it is removed.

    The temporary name keeps the target's suffix, because some writers choose their format by it.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.stem}.{os.getpid()}.partial{target.suffix}")
    try:
        yield temporary
        temporary.chmod(_allowed(0o666))
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        temporary.replace(target)
    except OSError as error:
        error.filename = error.filename or str(target)  # a write to a full disk says it without a name
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _allowed(mode: int) -> int:
    """What the user's umask leaves of a mode; mkdtemp and safetensors make things private whatever it says."""
    mask = os.umask(0)
    os.umask(mask)
    return mode & ~mask


@contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `target`; on success it takes the target's place, which is removed first."""
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    try:
        yield temporary
        temporary.chmod(_allowed(0o777))
        for file in temporary.iterdir():
            if file.is_file():
                file.chmod(_allowed(0o666))
        if target.exists():
            shutil.rmtree(target)
        temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people and programs: sorted keys, indented, UTF-8, NaN refused."""
    with replaced_file(path) as temporary:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read JSON written by `write_json`; a missing or broken file raises `InputError`."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing: run the stage that makes it again") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is not readable JSON ({error}): delete it and run the stage that makes it again"
        ) from None


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, as hexadecimal text."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def combined_digest(paths: list[Path]) -> str:
    """SHA-256 over several files' contents, whatever their order or place."""
    return hashlib.sha256("".join(sorted(file_digest(path) for path in paths)).encode()).hexdigest()
