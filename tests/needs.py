"""What some tests need of the machine: one function per marker, that says in a sentence what is missing, or nothing."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

import torch


def gpu() -> str | None:
    """A CUDA device."""
    return None if torch.cuda.is_available() else "needs a GPU, and PyTorch sees none here"


def slurm() -> str | None:
    """SLURM's daemons, or the means to install them."""
    if os.geteuid() != 0:
        return "needs root, to start slurmctld, slurmd and munged"
    configuration = Path("/etc/slurm/slurm.conf")
    if configuration.exists() and not configuration.is_symlink():
        return f"needs a machine of no SLURM cluster, and this one has {configuration}"
    if shutil.which("slurmctld") or shutil.which("apt-get"):
        return None
    return "needs SLURM's daemons (slurmctld, slurmd, munge), and there is no apt-get to install them"


def environments() -> str | None:
    """A CPython that can be packed into a conda channel: Debian's own is patched and cannot."""
    if "deb_system" in sysconfig.get_scheme_names():
        return "needs an upstream build of Python 3.11 (pyenv's, uv's); this one is Debian's"
    return None


def mount() -> str | None:
    """Leave to mount a file system of limited size."""
    if os.geteuid() == 0 and shutil.which("mount"):
        return None
    return "needs root, to mount a small tmpfs"


def chromium() -> str | None:
    """The path of a Chromium or Chrome."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def browser() -> str | None:
    """Chromium, or the means to install it."""
    if chromium() or (os.geteuid() == 0 and shutil.which("apt-get")):
        return None
    return "needs Chromium or Chrome, and there is no root's apt-get to install it"


NEEDS = {"browser": browser, "gpu": gpu, "slurm": slurm, "environments": environments, "mount": mount}
