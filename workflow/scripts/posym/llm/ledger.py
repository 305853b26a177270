"""Replies on disk as they arrive, so that a killed job asks again only for what it has not got.

One JSON line a reply, appended and synced before the next step; a line that a kill cut off is ignored. The file is named by
a digest of everything a reply depends on besides its prompt; API keys are no part of it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posym.errors import InputError


@dataclass(frozen=True)
class Reply:
    """One reply to one prompt: its text, why the model stopped, and tokens read and written as the provider counts them."""

    item: str
    text: str
    stop_reason: str
    tokens_in: int
    tokens_out: int


def item_key(task: str, prompt: str, run: int, number: int) -> str:
    """The name of one prompt in the ledger: task, run, place among the run's prompts, and a digest of the text."""
    return f"{task}-{run}-{number}-{hashlib.sha256(prompt.encode()).hexdigest()[:16]}"


class Ledger:
    """The replies of one model under one set of options."""

    def __init__(
        self, folder: Path, identity: dict[str, Any], tell: Callable[[int], None] = lambda _replies: None
    ) -> None:
        """`tell` is called with the number of replies each time one is added."""
        self.tell = tell
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
        self.path = folder / f"{digest}.jsonl"
        self.replies: dict[str, Reply] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self._read()
        if not self.path.exists() or not self.path.stat().st_size:
            self._append({"identity": identity})

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole, _, cut = content.rpartition(b"\n")
        if cut:  # a kill in the middle of a line: what follows must start on a new one
            with self.path.open("r+b") as file:
                file.truncate(len(whole) + 1 if whole else 0)
        for number, line in enumerate(whole.split(b"\n") if whole else []):
            try:
                record = json.loads(line)
                if number:
                    reply = Reply(**record)
                    self.replies.setdefault(reply.item, reply)
            except (ValueError, TypeError):
                raise InputError(
                    f"{self.path}: line {number + 1} is damaged: delete this line to ask for that reply again"
                ) from None

    def _append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, sort_keys=True, ensure_ascii=False) + "\n"
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def add(self, reply: Reply) -> None:
        """Keep a reply; a second one to the same prompt is not counted."""
        if reply.item not in self.replies:
            self._append(asdict(reply))
            self.replies[reply.item] = reply
            self.tell(len(self.replies))
