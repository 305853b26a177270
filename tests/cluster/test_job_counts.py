"""The numbers of jobs that the documentation states are those that Snakemake lists; no cluster is needed to ask."""

from __future__ import annotations

import re

from slurm_runs import WITH_PROFILE, set_up_site
from workflow_runs import ROOT, Checkout

CLUSTER = (ROOT / "docs" / "cluster.md").read_text()


def stated_jobs() -> dict[str, int]:
    """Jobs by rule, from the table of docs/cluster.md."""
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (\d+)\b", CLUSTER, flags=re.MULTILINE)
    return {rule: int(count) for rules, count in rows for rule in re.findall(r"\w+", rules)}


def test_jobs_of_two_tasks_and_twenty_seeds(checkout: Checkout) -> None:
    (checkout.folder / "many.yaml").write_text(f"experiment: many\nseeds: {list(range(20))}\n")
    listed = set_up_site(checkout).jobs(*WITH_PROFILE, "--configfile", "many.yaml", config=None)
    assert listed == stated_jobs()
    text = CLUSTER + (ROOT / "README.md").read_text()
    assert set(re.findall(r"20 seeds[^.]*?(\d+)\s+jobs", text)) == {str(sum(listed.values()))}
