"""Rule `long_inputs`: test sequences of one task with extra target-type tokens in front."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("datasets", "numpy", "pandas", "pyarrow")


def stage(args: argparse.Namespace) -> None:
    from posym.tasks import make_task
    from posym.tasks.dataset import long_input_cores
    from posym.tasks.files import read_manifest, read_split, write_long_inputs

    params = args.params
    settings = params["long_inputs"]
    task = make_task(args.task, params["sequences"], params["alphabet"])
    test = read_split(args.folder, "test")
    seed = settings["seed"]
    inputs = long_input_cores(task, test, items=settings["items"], prefixes=settings["prefixes"], seed=seed)
    digest = read_manifest(args.folder / "manifest.json")["files"]["test.parquet"]["digest"]
    provenance = {"parameters": params, "seed": seed, "cores_from": digest}
    write_long_inputs(args.folder, task, inputs, sorted(settings["extra"]), seed, provenance)
    job.log.info("made %d items at %d lengths", len(inputs.cores), len(settings["extra"]))


if __name__ == "__main__":
    arguments = job.parser("long_inputs", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--folder", type=Path, required=True, help="folder with the task's data, and to write to")
    job.run(arguments, stage, PACKAGES)
