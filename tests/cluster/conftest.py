"""A SLURM for the session, and an experiment of four models that tests disturb."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from slurm_runs import RIG, set_up_site
from workflow_runs import Checkout, copy_workflow

CONFIGURATION = Path("/etc/slurm/slurm.conf")
# Four models, each long enough in training to be caught there.
MODELS = {"experiment": "cluster", "stages": ["training"], "seeds": [0, 1]}
TRAINING = {"steps": 600, "checkpoint_every": 30}


@pytest.fixture(scope="session")
def join_cluster() -> Generator[Callable[[Checkout], Checkout]]:
    """The cluster of tests/rigs/slurm, always taken down: what sets a folder up for it. One session of tests at a time."""
    with FileLock(Path(tempfile.gettempdir()) / "slurm-rig.lock"):
        try:
            subprocess.run([RIG / "up.sh"], check=True)
            yield set_up_site
        finally:
            subprocess.run([RIG / "down.sh"], check=True)
            assert not CONFIGURATION.exists()


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The four models, trained on this machine without a cluster and without a disturbance."""
    made = copy_workflow(tmp_path_factory.mktemp("undisturbed") / "checkout")
    tiny = yaml.safe_load((made.folder / "workflow/config/tiny.yaml").read_text())
    overlay = tiny | MODELS | {"training": tiny["training"] | TRAINING}
    (made.folder / "workflow/config/cluster.yaml").write_text(yaml.safe_dump(overlay))
    made.run("--cores", "2", config="cluster")
    return made


@pytest.fixture
def untrained(join_cluster: Callable[[Checkout], Checkout], undisturbed: Checkout, tmp_path: Path) -> Checkout:
    """The same with its data and without its models, on the cluster."""
    shutil.copytree(undisturbed.folder, tmp_path / "checkout", symlinks=True)
    shutil.rmtree(tmp_path / "checkout" / "results")
    return join_cluster(Checkout(tmp_path / "checkout"))
