"""Rule `datasets`: one task's training, validation and test sequences as Parquet."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("datasets", "numpy", "pandas", "pyarrow")


def stage(args: argparse.Namespace) -> None:
    from posym.tasks import make_task
    from posym.tasks.dataset import split_sequences
    from posym.tasks.files import write_splits

    params = args.params
    task = make_task(args.task, params["sequences"], params["alphabet"])
    sizes = {split: params["datasets"][split] for split in ("train", "validation", "test")}
    seed = params["datasets"]["seed"]
    splits = split_sequences(task, sizes, seed)
    job.log.info("made %d sequences of task %s", sum(sizes.values()), task.name)
    write_splits(args.folder, task, splits, {"parameters": params, "seed": seed})


if __name__ == "__main__":
    arguments = job.parser("datasets", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--folder", type=Path, required=True, help="folder to write to")
    job.run(arguments, stage, PACKAGES)
