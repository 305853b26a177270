"""Bring up a `conda` for `snakemake --use-conda` on a machine that reaches a Python package index but no conda server.

    python tests/rigs/conda/rig.py FOLDER     then run Snakemake with the two variables that it prints

FOLDER then holds the command, the channel and the package cache; a second call with the same Python reuses them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

from channel import make_channel

PACKAGES = ("py-rattler==0.28.0", "PyYAML==6.0.4", "uv==0.13.8")
HERE = Path(__file__).parent


def bring_up(folder: Path) -> dict[str, str]:
    """Make the rig in `folder` and return the environment variables that Snakemake needs: PATH begins with the command."""
    folder = folder.resolve()
    python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = folder / "venv" / "bin" / "python"
    if not interpreter.exists():
        venv.create(folder / "venv", with_pip=True)
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "--progress-bar", "off", *PACKAGES], check=True)
    if not (folder / "channels").exists():
        make_channel(folder / "channels.partial" / "conda-forge", python)
        (folder / "channels.partial").rename(folder / "channels")
    (folder / "bin").mkdir(exist_ok=True)
    shutil.copyfile(HERE / "activate", folder / "bin" / "activate")
    shutil.copyfile(HERE / "command.py", folder / "command.py")
    command = folder / "bin" / "conda"
    command.write_text(f'#!/bin/sh\nexec "{interpreter}" -I "{folder / "command.py"}" "$@"\n')
    command.chmod(0o755)
    return {"PATH": str(folder / "bin"), "CONDA_CHANNEL_ALIAS": (folder / "channels").as_uri()}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    made = bring_up(Path(sys.argv[1]))
    print(f'export PATH="{made["PATH"]}:$PATH" CONDA_CHANNEL_ALIAS="{made["CONDA_CHANNEL_ALIAS"]}"')
