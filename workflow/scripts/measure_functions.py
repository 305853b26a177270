"""Rule `functions`: attention mass of every checkpoint of one model on the slots that Index, Retrieval and Reflexive name."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch", "safetensors")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.checkpoints import Checkpoints
    from posym.contracts.functions import FUNCTIONS
    from posym.devices import choose_device
    from posym.measure.functions import function_masses, function_rows, with_powers
    from posym.tables import write_table
    from posym.tasks import make_task
    from posym.tasks.dataset import balanced_slice
    from posym.tasks.files import read_split

    torch.set_num_threads(args.threads)
    params = args.params["functions"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    task = make_task(args.task, args.params["sequences"], args.params["alphabet"])
    items = balanced_slice(read_split(args.data, "test"), params["items"])
    named = with_powers(task.named_slots(items.tokens), task.hops)
    rows: list[dict[str, object]] = []
    progress = job.Progress(len(checkpoints.steps), "checkpoint")
    for done, (step, parameters) in enumerate(checkpoints, start=1):
        found = function_masses(parameters, items, named)
        rows += function_rows(step, found, items.hops, params["threshold"], params["bootstrap_samples"], params["seed"])
        progress.update(done)
    provenance = {"task": args.task, "seed": args.seed, "parameters": args.params}
    write_table(args.folder / "functions.parquet", FUNCTIONS, pd.DataFrame(rows), provenance)
    job.log.info("measured %d checkpoints on %d items", len(checkpoints.steps), len(items))


if __name__ == "__main__":
    arguments = job.parser("functions", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the table")
    job.run(arguments, stage, PACKAGES)
