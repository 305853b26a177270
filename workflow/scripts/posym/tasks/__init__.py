"""The tasks by name: task `x` is the class `TASK` of the module `posym.tasks.x`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from posym.errors import InputError
from posym.tasks.base import Task

NOT_TASKS = {"__init__", "base", "dataset", "files"}


def task_names() -> list[str]:
    """Names of all tasks, found as files beside this one."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_TASKS)


def make_task(name: str, sizes: dict[str, int], alphabet: dict[str, Any]) -> Task:
    """The task `name` with `sizes` (target_window, pre_target_window, hops) and its own `alphabet` settings.

    Raises `InputError` for a name without a module and for settings that the task does not take or cannot work with.
    """
    if name not in task_names():
        raise InputError(f"tasks: {name!r} is unknown: write one of {', '.join(task_names())}")
    task: type[Task] = importlib.import_module(f"posym.tasks.{name}").TASK
    if set(alphabet) != set(task.alphabet):
        raise InputError(f"alphabets.{name}: has keys {sorted(alphabet)}: write exactly {', '.join(task.alphabet)}")
    return task(**sizes, **alphabet)
