"""A supervisor that kills processes of a run at random and starts it again, until it is done."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from workflow_runs import Checkout

VICTIMS = ("job", "controller", "everything")
PHASES = {"make_datasets": "datasets", "make_long_inputs": "long inputs", "train": "training", "score": "scores"}
PHASES |= {"extrapolate": "extrapolation", "theory": "theory", "draw": "figures", "draw_theory": "figures"}
PLANNING = "planning"  # the controller, while no job runs
IN_USE = "is in use by another process that trains this model"


def jobs(checkout: Checkout, group: int | None = None) -> list[tuple[psutil.Process, str]]:
    """The scripts that run in this checkout, each with its phase; only those of one process group, where that is given."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            words = process.cmdline()
            if len(words) < 2 or not words[1].startswith("workflow/scripts/"):
                continue
            if Path(process.cwd()) == checkout.folder and group in (None, os.getpgid(process.pid)):
                found.append((process, PHASES.get(Path(words[1]).stem, "mechanism")))
    return found


@dataclass
class Supervisor:
    """Runs `targets` of a checkout (none: the default), killing `quota` times in each phase; all choices from `random`.

    The choices are repeatable, what they hit is not: that depends on how fast the machine is, so it is noted in `kills`.
    """

    checkout: Checkout
    random: Random
    quota: dict[str, int]
    targets: Sequence[str] = ()
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)  # by phase and victim
    attempts: int = 0

    def __call__(self) -> None:
        """Start, kill and start again until a run gets to its end."""
        while not self._attempt():
            if any((self.checkout.folder / ".snakemake" / "locks").glob("*")):
                self.checkout.run("--unlock")

    def _attempt(self) -> bool:
        self.attempts += 1
        log = self.checkout.folder / f"attempt-{self.attempts}.txt"
        with log.open("w") as file:
            process = self.checkout.start("--cores", "2", *self.targets, start_new_session=True, stdout=file)
        killed = False
        while process.poll() is None:
            killed = self._disturb(process) or killed
        if killed or process.returncode == 0:
            return process.returncode == 0
        # An orphan of a killed controller may still be training; nothing else may stop a run that nobody disturbed.
        assert IN_USE in log.read_text(), log.read_text()
        for orphan, _ in jobs(self.checkout):
            with contextlib.suppress(psutil.Error):
                orphan.wait()
        return False

    def _left(self, phase: str) -> int:
        return self.quota.get(phase, 0) - sum(count for (hit, _), count in self.kills.items() if hit == phase)

    def _disturb(self, process: subprocess.Popen[str]) -> bool:
        """Wait for a phase that is still to be hit, then for a random time, and kill; false where the run ends first."""
        fewest = min(self.kills_of(victim) for victim in VICTIMS)
        victim = self.random.choice([victim for victim in VICTIMS if self.kills_of(victim) == fewest])
        delay, late, planning = self.random.uniform(0, 1), self.random.random() < 0.5, self._left(PLANNING) > 0
        started = time.monotonic()
        while process.poll() is None:
            time.sleep(0.1)  # looking at all processes of a machine is work
            running = jobs(self.checkout, process.pid)
            wanted = {phase for _, phase in running if self._left(phase) > 0}
            if not wanted and not (planning and not running and time.monotonic() > started + delay):
                continue
            if wanted == {"training"} and late:  # only after something has been saved to go on from
                while process.poll() is None and not self._saved():
                    time.sleep(0.002)
            elif wanted:
                time.sleep(delay)
            if process.poll() is None and self._kill(process, victim):
                return True
            delay = 0
        return False

    def kills_of(self, victim: str) -> int:
        """How often it was this kind of victim."""
        return sum(count for (_, kind), count in self.kills.items() if kind == victim)

    def _saved(self) -> bool:
        return any((self.checkout.folder / "results" / "tiny" / "resume").glob("*/*/state.safetensors"))

    def _kill(self, process: subprocess.Popen[str], victim: str) -> bool:
        running = jobs(self.checkout, process.pid)  # and not an orphan, whose end would disturb nothing
        if victim == "job" and not running:
            return False
        job, phase = self.random.choice(running) if running else (None, PLANNING)
        if victim == "job" and job is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                job.kill()
        elif victim == "controller":
            process.kill()  # its jobs live on as orphans
        else:
            os.killpg(process.pid, signal.SIGKILL)  # Snakemake and all its jobs at once, as a power cut does
        self.kills[phase, victim] += 1
        return True


def report(kills: Counter[tuple[str, str]]) -> str:
    """A table of kills: a row for each phase, a column for each kind of victim."""
    rows = {"killed during": list(VICTIMS)}
    rows |= {
        phase: [str(kills[phase, victim]) for victim in VICTIMS] for phase in sorted({phase for phase, _ in kills})
    }
    table = [f"{name:<14}" + "".join(f"{cell:>12}" for cell in cells) for name, cells in rows.items()]
    return "\n".join([*table, f"{sum(kills.values())} kills"])
