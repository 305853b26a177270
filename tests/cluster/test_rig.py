"""The test cluster itself: it comes up once, and neither takes over nor ends what is not its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slurm_runs import RIG, scontrol

pytestmark = [pytest.mark.slurm, pytest.mark.usefixtures("join_cluster")]
LINKS = [Path("/etc/slurm/slurm.conf"), Path("/etc/slurm/gres.conf")]


def started() -> dict[str, str]:
    """Process id of each daemon of the running cluster."""
    return {path.stem: path.read_text() for path in LINKS[0].readlink().parent.glob("*.pid")}


def test_coming_up_again_changes_nothing() -> None:
    before = started()
    assert set(before) == {"munged", "slurmctld", "slurmd"}
    subprocess.run([RIG / "up.sh"], check=True)
    assert started() == before


def test_another_ones_cluster_is_left_alone(tmp_path: Path) -> None:
    """Seen from another state folder, the running cluster is somebody else's."""
    before, links = started(), [link.readlink() for link in LINKS]
    elsewhere = os.environ | {"SLURM_RIG": str(tmp_path / "other")}
    up = subprocess.run([RIG / "up.sh"], env=elsewhere, capture_output=True, text=True, check=False)
    assert up.returncode == 1
    assert "/etc/slurm/slurm.conf is there already and is not this rig's" in up.stderr
    subprocess.run([RIG / "down.sh"], env=elsewhere, check=True)
    assert (started(), [link.readlink() for link in LINKS]) == (before, links)
    assert not (tmp_path / "other").exists()


def test_it_is_the_cluster_that_tests_speak_of() -> None:
    node, config = scontrol("show", "node"), scontrol("show", "config")
    assert "Gres=gpu:2" in node
    assert "accounting_storage/none" in config
    assert [line.split()[0] for line in scontrol("show", "partition").splitlines() if line.startswith("Part")] == [
        "PartitionName=cpu",
        "PartitionName=gpu",
    ]
