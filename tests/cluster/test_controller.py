"""Snakemake itself, the controller of the cluster's jobs: a second one, its end by signals, and what docs/cluster.md says to do."""

from __future__ import annotations

import re
import signal
import subprocess

import pytest

from slurm_runs import WITH_PROFILE, jobs_of, processes_in, stopped_training, unfinished, wait_until, weights
from workflow_runs import ROOT, Checkout

pytestmark = pytest.mark.slurm
MODELS = {f"{task}_{seed}" for task in ("number", "letter") for seed in (0, 1)}


def written(marker: str) -> str:
    """The command of docs/cluster.md that holds some text."""
    text = (ROOT / "docs" / "cluster.md").read_text()
    (command,) = [line for line in re.findall(r"^[^#|`].*$", text, flags=re.MULTILINE) if line.startswith(marker)]
    return command.partition("  #")[0]


def test_interrupt_leaves_nothing_and_a_killed_controller_can_be_followed(
    untrained: Checkout, undisturbed: Checkout
) -> None:
    controller = untrained.start(*WITH_PROFILE, config="cluster")
    stopped_training(untrained, MODELS)
    refusal = untrained.run(*WITH_PROFILE, config="cluster", check=False)
    assert "Directory cannot be locked" in refusal
    assert "exit status 1" in refusal
    assert unfinished(untrained)

    controller.send_signal(signal.SIGINT)
    output, _ = controller.communicate()
    assert controller.returncode == 1, output
    wait_until("an empty queue", lambda: not unfinished(untrained), 60)
    wait_until("the end of all processes", lambda: not processes_in(untrained), 60)

    # No unlocking after an interrupt. Now the controller dies without a word, and its jobs do not.
    controller = untrained.start(*WITH_PROFILE, config="cluster")
    held = stopped_training(untrained, MODELS)
    controller.kill()
    controller.communicate()
    assert held.job.id in {job.id for job in unfinished(untrained)}
    assert "Directory cannot be locked" in untrained.run(*WITH_PROFILE, config="cluster", check=False)
    untrained.run("--unlock", config="cluster")

    # Whoever goes on without ending the old jobs first is kept from training the same model beside them.
    task, seed = held.model.split("_")
    model = f"results/cluster/models/{task}/seed-{seed}/manifest.json"
    output = untrained.run(*WITH_PROFILE, "--retries", "0", "--", model, config="cluster", check=False)
    assert "is in use by another process that trains this model: wait for it or stop it" in output
    assert "exit status 1" in output

    subprocess.run(["bash", "-c", written("grep")], cwd=untrained.folder, check=True)
    wait_until("an empty queue", lambda: not unfinished(untrained), 60)
    before = {job.id for job in jobs_of(untrained)}
    untrained.run(*WITH_PROFILE, config="cluster")
    assert weights(untrained) == weights(undisturbed)
    assert {job.state for job in jobs_of(untrained) if job.id not in before} == {"COMPLETED"}
    log = untrained.folder / "results" / "cluster" / "logs" / f"training.{task}.seed-{seed}.log"
    assert "going on from step" in log.read_text()


def test_termination_lets_submitted_jobs_finish(untrained: Checkout, undisturbed: Checkout) -> None:
    controller = untrained.start(*WITH_PROFILE, "--jobs", "1", config="cluster")
    held = stopped_training(untrained, MODELS)
    controller.send_signal(signal.SIGTERM)
    held.process.resume()
    output, _ = controller.communicate()
    assert controller.returncode == 1, output
    assert [(job.wildcards, job.state) for job in jobs_of(untrained)] == [(held.model, "COMPLETED")]
    (folder,) = weights(untrained)
    assert weights(untrained)[folder] == weights(undisturbed)[folder]
    assert untrained.jobs(*WITH_PROFILE, config="cluster") == {"training": len(MODELS) - 1}


def test_a_job_without_its_gpu_says_so(untrained: Checkout) -> None:
    """The cluster's GPUs are none: `device: cuda` refuses, where `auto` trains on the CPU."""
    untrained.edit("workflow/config/cluster.yaml", "experiment: cluster", "experiment: cluster\ndevice: cuda")
    model = "results/cluster/models/number/seed-0/manifest.json"
    output = untrained.run(*WITH_PROFILE, "--retries", "0", "--", model, config="cluster", check=False)
    assert "device: cuda is asked for, but PyTorch sees no GPU here: write device: auto or cpu" in output
    assert "exit status 1" in output
