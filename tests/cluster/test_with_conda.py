"""The profile as most sites keep it: each job, on its node, in its rule's environment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conda_runs import prefixes, witness_in, witnesses
from slurm_runs import WITH_PROFILE, jobs_of
from workflow_runs import Checkout, Environment

pytestmark = [pytest.mark.slurm, pytest.mark.environments]
TARGETS = [f"data/tiny/{task}/manifest.json" for task in ("number", "letter")]


def test_jobs_run_in_environments_that_were_made_before(
    join_cluster: Callable[..., Checkout], conda: Environment, checkout: Checkout
) -> None:
    """As docs/cluster.md says: environments on the login node first, then the run, which makes none."""
    site = join_cluster(checkout, with_conda=True)
    made = site.run(*WITH_PROFILE, "--conda-create-envs-only", "--", *TARGETS, environment=conda)
    assert made.count("Creating conda environment") == 1
    assert jobs_of(site) == []
    printed = site.run(*WITH_PROFILE, "--", *TARGETS, environment=conda | witness_in(site))
    assert "Creating conda environment" not in printed
    assert [(job.rule, job.state) for job in jobs_of(site)] == [("datasets", "COMPLETED")] * 2
    heard = [said for said in witnesses(site) if said[0] == "make_datasets.py"]
    assert heard == [("make_datasets.py", prefixes(site)["datasets"].resolve(), [])] * 2
