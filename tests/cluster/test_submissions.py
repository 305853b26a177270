"""The tiny experiment through SLURM: what each job asked for, as SLURM itself tells it, and the same results as without."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from slurm_runs import WITH_PROFILE, jobs_of
from workflow_runs import FEW_FIGURES, ROOT, Checkout, copy_workflow, with_few_figures

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def submitted(join_cluster: Callable[[Checkout], Checkout], tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The tiny experiment with few figures, run on the cluster."""
    made = with_few_figures(join_cluster(copy_workflow(tmp_path_factory.mktemp("submitted") / "checkout")))
    made.run(*WITH_PROFILE)
    return made


def rules_resources() -> dict[str, tuple[int, int]]:
    """Memory in MB and minutes of every rule, as written in the rule files."""
    found = {}
    for rules in (ROOT / "workflow" / "rules").glob("*.smk"):
        for block in re.split(r"^rule ", rules.read_text(), flags=re.MULTILINE)[1:]:
            memory, minutes = re.search(r"mem_mb=(\d+),\s+runtime=(\d+),", block).groups()
            found[block.partition(":")[0]] = (int(memory), int(minutes))
    return found


def minutes(limit: str) -> int:
    """SLURM's [days-]hours:minutes:seconds in minutes."""
    days, _, clock = limit.rpartition("-")
    hours, rest, _ = map(int, clock.split(":"))
    return int(days or 0) * 1440 + hours * 60 + rest


def test_every_job_is_submitted_once_and_succeeds(submitted: Checkout) -> None:
    jobs = jobs_of(submitted)
    assert {job.state for job in jobs} == {"COMPLETED"}
    assert max(Counter((job.rule, job.wildcards) for job in jobs).values()) == 1
    made = submitted.jobs("--cores", "2", "--forceall")
    assert Counter(job.rule for job in jobs) == made
    assert made["figures"] == len(FEW_FIGURES)


def test_every_job_asks_for_what_its_rule_says(submitted: Checkout) -> None:
    wanted = rules_resources()
    for job in jobs_of(submitted):
        gpu = job.rule == "training"
        assert job["Partition"] == ("gpu" if gpu else "cpu"), job
        assert (job["MinMemoryNode"], minutes(job["TimeLimit"])) == (f"{wanted[job.rule][0]}M", wanted[job.rule][1]), (
            job
        )
        assert job["NumCPUs"] == "1", job
        assert job["JOB_GRES"] == ("gpu:1" if gpu else "(null)"), job
        assert job["Requeue"] == "0", job


def test_results_are_those_of_a_run_without_a_cluster(submitted: Checkout, finished_once: Checkout) -> None:
    made, wanted = submitted.products(), finished_once.products()
    compared = [
        name
        for name in made
        if re.match(r"(data/tiny|results/tiny/(models|measurements|theory|figures|tables))/", name)
    ]
    assert [name for name in compared if made[name] != wanted[name]] == []
    left_out = {name for name in set(wanted) - set(made) if not re.match(r"results/tiny/(figures|tables)/", name)}
    assert not left_out
    # The cluster gave each training a GPU that PyTorch does not see: `device: auto` then trains on the CPU, and says so.
    for path in submitted.folder.glob("results/tiny/models/*/*/manifest.json"):
        assert json.loads(path.read_text())["device"] == "cpu"
    for path in submitted.folder.glob("results/tiny/logs/training.*.log"):
        assert "this job was given GPU " in path.read_text()


def test_logs_lie_with_the_results_and_nowhere_else(submitted: Checkout) -> None:
    logs = list((submitted.folder / "results" / "tiny" / "logs").iterdir())
    assert len(logs) == len(jobs_of(submitted))
    assert all("done in" in log.read_text() for log in logs if log.suffix == ".log")
    assert not list(submitted.folder.glob(".snakemake/slurm_logs/**/*.log"))
    assert Path(jobs_of(submitted)[0]["StdOut"]).is_relative_to(submitted.folder / ".snakemake" / "slurm_logs")


@pytest.mark.parametrize(
    "arguments",
    [WITH_PROFILE, ("--cores", "2"), (*WITH_PROFILE, "--set-resources", "training:runtime=999", "scores:mem_mb=123")],
    ids=["again", "without the cluster", "other resources"],
)
def test_nothing_reruns(submitted: Checkout, arguments: tuple[str, ...]) -> None:
    assert submitted.jobs(*arguments) == {}


def test_the_cluster_keeps_no_accounts(submitted: Checkout) -> None:
    """What ran here runs on a site where only squeue answers."""
    sacct = subprocess.run(["sacct"], capture_output=True, text=True, check=False)
    assert (sacct.returncode, sacct.stderr.strip()) == (1, "Slurm accounting storage is disabled")
    assert jobs_of(submitted)
