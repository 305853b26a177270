"""Jobs that die in three ways are submitted again by the profile and go on from their last state."""

from __future__ import annotations

import subprocess

import pytest

from slurm_runs import (
    WITH_PROFILE,
    Training,
    jobs_of,
    processes_in,
    scontrol,
    stopped_training,
    unfinished,
    wait_until,
    weights,
)
from workflow_runs import Checkout

pytestmark = pytest.mark.slurm


def kill(training: Training) -> None:
    training.process.kill()


def run_out_of_time(training: Training) -> None:
    """SLURM ends the job itself, at its next look at time limits; a limit of its own could not be under a minute."""
    scontrol("update", f"JobId={training.job.id}", "EndTime=now+1second")


def cancel(training: Training) -> None:
    subprocess.run(["scancel", str(training.job.id)], check=True)


DISTURBANCES = {
    "number_0": (kill, "FAILED"),
    "letter_0": (run_out_of_time, "TIMEOUT"),
    "number_1": (cancel, "CANCELLED"),
}


def test_disturbed_trainings_resume(untrained: Checkout, undisturbed: Checkout) -> None:
    controller = untrained.start(*WITH_PROFILE, config="cluster")
    left = set(DISTURBANCES)
    first = {}
    while left:
        training = stopped_training(untrained, left)
        disturb, _ = DISTURBANCES[training.model]
        disturb(training)
        left.remove(training.model)
        first[training.model] = training.job.id
    output, _ = controller.communicate()
    assert controller.returncode == 0, output
    assert weights(untrained) == weights(undisturbed)
    states = {}
    for job in jobs_of(untrained):
        states.setdefault(job.wildcards, []).append(job.state)
    assert states == {model: [state, "COMPLETED"] for model, (_, state) in DISTURBANCES.items()} | {
        "letter_1": ["COMPLETED"]
    }
    for model, job in first.items():
        task, seed = model.split("_")
        log = untrained.folder / "results" / "cluster" / "logs" / f"training.{task}.seed-{seed}.log"
        assert "going on from step" in log.read_text()
        # What SLURM itself caught of a failed job stays where docs/cluster.md says; of the others nothing is left.
        assert (untrained.folder / ".snakemake" / "slurm_logs" / "rule_training" / model / f"{job}.log").is_file()
    assert len(list(untrained.folder.glob(".snakemake/slurm_logs/**/*.log"))) == len(first)
    assert not unfinished(untrained)
    wait_until("the end of all processes", lambda: not processes_in(untrained), 60)
