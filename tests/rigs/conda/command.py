"""As much of the command `conda` as Snakemake calls: py-rattler solves and installs packages, uv the pip section.

conda calls pip there, which unpacks PyTorch anew for each environment; uv unpacks it once and links it, with pip's settings.

The channels of an environment file are looked up below the address in CONDA_CHANNEL_ALIAS, as conda does. It is not conda: it
is there to run what Snakemake does with `--use-conda` where no conda server can be reached.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import rattler
import yaml

VERSION = "24.7.1"  # Snakemake asks for this one or a later one
ROOT = Path(__file__).parent
UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
}


class CondaError(Exception):
    """What conda would print before it gives up."""


async def install(channels: list[str], specs: list[str], prefix: Path) -> None:
    """Solve `specs` strictly by channel and install what that gives."""
    alias = os.environ["CONDA_CHANNEL_ALIAS"].rstrip("/")
    cache = ROOT / "packages"
    try:
        records = await rattler.solve(
            sources=[rattler.Channel(f"{alias}/{name}") for name in channels],
            specs=[rattler.MatchSpec(spec) for spec in specs],
            gateway=rattler.Gateway(cache_dir=cache / "index"),
            virtual_packages=rattler.VirtualPackage.detect(),
            channel_priority=rattler.ChannelPriority.Strict,
        )
    except Exception as error:  # py-rattler's own classes differ from version to version
        raise CondaError(f"cannot solve {', '.join(specs)} from {', '.join(channels)}: {error}") from None
    await rattler.install(records, target_prefix=prefix, cache_dir=cache, show_progress=False)


def create(file: Path, prefix: Path) -> None:
    """`conda env create`: the packages of an environment file, then its pip section."""
    if (prefix / "conda-meta").exists():
        raise CondaError(f"prefix already exists: {prefix}")
    wanted = yaml.safe_load(file.read_text(encoding="utf-8"))
    specs = [part for part in wanted["dependencies"] if isinstance(part, str)]
    pins = [pin for part in wanted["dependencies"] if isinstance(part, dict) for pin in part["pip"]]
    asyncio.run(install(wanted["channels"], specs, prefix))
    if not pins:
        return
    command = [ROOT / "venv" / "bin" / "uv", "pip", "install", "--quiet", "--python", prefix / "bin" / "python"]
    done = subprocess.run([*command, "--cache-dir", ROOT / "wheels", *pins], env=settings(), check=False)
    if done.returncode:
        raise CondaError(f"the pins of {file} were not installed")


def settings() -> dict[str, str]:
    """The process environment with what pip is told by files and variables (index, wheels, certificates) in uv's words."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    told: dict[str, str] = {}
    # Variables win over files, so they come last.
    for line in sorted(listed.stdout.splitlines(), key=lambda line: line.startswith(":env:")):
        option, _, value = line.partition("=")
        if (name := UV.get(option.rpartition(".")[2])) is not None:
            told[name] = ast.literal_eval(value)
    if "UV_FIND_LINKS" in told:
        told["UV_FIND_LINKS"] = ",".join(told["UV_FIND_LINKS"].split())
    kept = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    # pip takes the best version of all indexes; uv would stay with the first index that has the package.
    return kept | {"UV_LINK_MODE": "hardlink", "UV_INDEX_STRATEGY": "unsafe-best-match"} | told


def arguments() -> argparse.Namespace:
    """The command lines that Snakemake writes."""
    parser = argparse.ArgumentParser(prog="conda")
    parser.add_argument("--version", action="version", version=f"conda {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info").add_argument("--json", action="store_true")
    config = commands.add_parser("config")
    config.add_argument("--get")
    config.add_argument("--set", nargs=2)
    config.add_argument("--json", action="store_true")
    clean = commands.add_parser("clean")  # the package cache is small and shared: nothing is cleaned
    for flag in ("-y", "--tarballs", "--packages"):
        clean.add_argument(flag, action="store_true")
    made = commands.add_parser("env").add_subparsers(dest="what", required=True).add_parser("create")
    made.add_argument("--file", type=Path, required=True)
    made.add_argument("--prefix", type=Path, required=True)
    for flag in ("--quiet", "--no-default-packages", "--yes"):
        made.add_argument(flag, action="store_true")
    return parser.parse_args()


def main() -> None:
    """Run one command."""
    given = arguments()
    if given.command == "info":
        print(json.dumps({"conda_prefix": str(ROOT), "platform": "linux-64", "conda_version": VERSION}))
    elif given.command == "config" and given.get:
        print(json.dumps({"success": True, "get": {given.get: "strict"}}))
    elif given.command == "env":
        create(given.file, given.prefix)


if __name__ == "__main__":
    status = 0
    try:
        main()
    except CondaError as failure:
        print(f"\nCondaError: {failure}\n", file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # py-rattler's threads can crash a normal exit
