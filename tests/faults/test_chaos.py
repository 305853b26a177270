"""Killed at random, again and again: in the end every byte is that of the run nobody disturbed.

`POSYM_CHAOS_KILLS=100 pytest tests/faults/test_chaos.py -s` kills at least so often, in every phase of the whole
experiment; `POSYM_CHAOS_SEED` repeats the choices of an earlier test.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from killing import PLANNING, VICTIMS, Supervisor, report

from workflow_runs import Checkout, copy_workflow

KILLS = int(os.environ.get("POSYM_CHAOS_KILLS", "0"))
# The short form leaves out what is alike: one of eight mechanism rules, two of eleven figures, no theory.
TARGETS = ["results/tiny/figures/accuracy.png", "results/tiny/figures/length.png"]
TARGETS += [f"results/tiny/measurements/{task}/seed-0/flow.parquet" for task in ("number", "letter")]
QUOTA = {PLANNING: 1, "datasets": 1, "training": 2, "scores": 1, "extrapolation": 1, "figures": 1}
LONG_QUOTA = {PLANNING: 2, "datasets": 2, "long inputs": 2, "training": 5, "scores": 3, "extrapolation": 2}
LONG_QUOTA |= {"mechanism": 5, "theory": 1, "figures": 3}
ROUNDS = 10 + KILLS  # a run that is over too soon is made again, but not for ever


def enough(kills: Counter[tuple[str, str]]) -> bool:
    """Whether so many were killed, of every kind, and in training and at least three other phases."""
    phases, victims = {phase for phase, _ in kills}, {victim for _, victim in kills}
    return kills.total() >= KILLS and victims == set(VICTIMS) and "training" in phases and len(phases) >= 4


def test_killed_at_random_and_still_the_same(finished_once: Checkout, tmp_path: Path) -> None:
    seed = int(os.environ.get("POSYM_CHAOS_SEED", Random().randrange(10**6)))
    print(f"POSYM_CHAOS_SEED={seed}")
    random, kills, rounds = Random(seed), Counter[tuple[str, str]](), 0
    while not enough(kills):
        rounds += 1
        assert rounds <= ROUNDS, report(kills)
        checkout = copy_workflow(tmp_path / f"round-{rounds}")
        supervisor = Supervisor(checkout, random, LONG_QUOTA if KILLS else QUOTA, () if KILLS else TARGETS)
        supervisor()
        kills += supervisor.kills
        print(f"round {rounds}, {supervisor.attempts} runs, together so far:\n{report(kills)}", flush=True)
        found, wanted = checkout.products(), finished_once.products()
        assert {path: wanted[path] for path in found} == found
        assert set(TARGETS) <= set(found)
        assert not KILLS or found == wanted
        assert checkout.jobs("--cores", "2", *supervisor.targets) == {}, "everything is noted as done"


@pytest.mark.parametrize("done", [True, False])
def test_another_runs_resume_folder_is_left_alone(finished: Checkout, done: bool) -> None:
    """A run that ends well clears away what its own finished models went on from, not what is still being trained."""
    resume, figure = (
        finished.folder / "results" / "tiny" / "resume" / "number-seed-0",
        "results/tiny/figures/length.png",
    )
    resume.mkdir(parents=True)
    (resume / "state").touch()
    manifest = finished.folder / "results" / "tiny" / "models" / "number" / "seed-0" / "manifest.json"
    theory = "results/tiny/theory/construction.parquet"
    if not done:
        manifest.unlink()  # as while it is trained by another run
    finished.run("--cores", "2", "--forcerun", "theory", "--", theory)
    assert resume.exists() != done
    assert (finished.folder / figure).exists()
