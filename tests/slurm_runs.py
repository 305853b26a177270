"""Running Snakemake through the SLURM of tests/rigs/slurm: a site's profile, and what SLURM itself says of the jobs."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

import psutil

from workflow_runs import ROOT, Checkout

RIG = ROOT / "tests" / "rigs" / "slurm"
PROFILE = "workflow/profiles/slurm/config.yaml"
WITH_PROFILE = ("--workflow-profile", "workflow/profiles/slurm")
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL")


@dataclass(frozen=True)
class Job:
    """A job as `scontrol show job` describes it."""

    fields: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.fields[name]

    @property
    def id(self) -> int:
        return int(self["JobId"])

    @property
    def rule(self) -> str:
        return self["Comment"].removeprefix("rule_").partition("_wildcards_")[0]

    @property
    def wildcards(self) -> str:
        return self["Comment"].partition("_wildcards_")[2]

    @property
    def state(self) -> str:
        return self["JobState"]


def scontrol(*arguments: str) -> str:
    """What scontrol prints."""
    return subprocess.run(["scontrol", *arguments], check=True, capture_output=True, text=True).stdout


def jobs_of(checkout: Checkout) -> list[Job]:
    """All jobs ever submitted from a folder, by their number."""
    lines = scontrol("--details", "--oneliner", "show", "job").splitlines()
    jobs = [Job(dict(re.findall(r"(\S+?)=(\S*)", line))) for line in lines if line.startswith("JobId=")]
    return sorted((job for job in jobs if job["WorkDir"] == str(checkout.folder)), key=lambda job: job.id)


def unfinished(checkout: Checkout) -> list[Job]:
    """Jobs that wait or run."""
    return [job for job in jobs_of(checkout) if job.state not in OVER]


def processes_in(checkout: Checkout) -> list[psutil.Process]:
    """Processes whose working directory is this folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(checkout.folder):
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait_until(what: str, condition: Callable[[], Any], seconds: float = 600, every: float = 0.05) -> Any:
    """The condition's first true value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(every)
    return value


def set_up_site(checkout: Checkout, with_conda: bool = False) -> Checkout:
    """Edit the profile as its lines marked SITE say, for the test cluster: no accounts, GPUs of no type; most without conda."""
    for partition in ("cpu", "gpu"):
        checkout.edit(PROFILE, f'# slurm_partition: "{partition}"', f'slurm_partition: "{partition}"')
    if not with_conda:
        checkout.edit(PROFILE, "software-deployment-method: conda\n", "")
    checkout.edit(PROFILE, "before-status-checks: 30", "before-status-checks: 5")
    return checkout


@dataclass(frozen=True)
class Training:
    """A training that was stopped (not ended) in its middle: SIGSTOP, as a node that hangs."""

    model: str  # number_0: as in the job's comment
    process: psutil.Process
    job: Job


def stopped_training(checkout: Checkout, models: Container[str]) -> Training:
    """Wait until the training of one of these models has saved a state, and stop its process there."""
    results = checkout.folder / "results" / "cluster"

    def find() -> Training | None:
        for state in results.glob("resume/*/*/state.safetensors"):
            model = state.parts[-3].replace("-seed-", "_")
            for process in processes_in(checkout) if model in models else []:
                with contextlib.suppress(psutil.Error, FileNotFoundError):
                    if trained_model(process.cmdline()) != model or state.stat().st_mtime < process.create_time():
                        continue  # another one's process, or one that has not got so far
                    process.suspend()
                    assert not list(results.glob(f"models/{model.replace('_', '/seed-')}/manifest.json")), "too quick"
                    (job,) = [job for job in unfinished(checkout) if (job.rule, job.wildcards) == ("training", model)]
                    return Training(model, process, job)
        return None

    return wait_until("a training that has saved a state", find)


def trained_model(command: list[str]) -> str:
    """Task and seed of a training's own command line, not of the shells around it."""
    if len(command) < 2 or not command[1].endswith("scripts/train.py"):
        return ""
    return "_".join(command[command.index(option) + 1] for option in ("--task", "--seed"))


def weights(checkout: Checkout) -> dict[str, dict[str, str]]:
    """Digest of every checkpoint, by model."""
    manifests = sorted(checkout.folder.glob("results/*/models/*/*/manifest.json"))
    return {
        str(path.parent.relative_to(checkout.folder)): json.loads(path.read_text())["checkpoints"] for path in manifests
    }
