"""Rule `onehop`: one game's prompts for language models."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow")


def stage(args: argparse.Namespace) -> None:
    from posym.llm.onehop import write_items

    count = write_items(args.folder, args.task, args.params["prompts"])
    job.log.info("made %d prompts of the %s game", count, args.task)


if __name__ == "__main__":
    arguments = job.parser("onehop", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--folder", type=Path, required=True, help="folder to write to")
    job.run(arguments, stage, PACKAGES)
