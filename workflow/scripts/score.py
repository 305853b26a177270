"""Rule `scores`: accuracy by hop and head scores of every checkpoint of one model."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch", "safetensors")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.checkpoints import Checkpoints
    from posym.contracts.scores import ACCURACY, SCORES
    from posym.devices import choose_device
    from posym.measure.scores import accuracy_rows, measure_items, score_rows
    from posym.tables import write_table
    from posym.tasks.dataset import balanced_slice
    from posym.tasks.files import read_split

    torch.set_num_threads(args.threads)
    params = args.params["scores"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    items = balanced_slice(read_split(args.data, "test"), params["items"])
    accuracies: list[dict[str, object]] = []
    scores: list[dict[str, object]] = []
    progress = job.Progress(len(checkpoints.steps), "checkpoint")
    for done, (step, parameters) in enumerate(checkpoints, start=1):
        correct, found = measure_items(parameters, items, params["taus"])
        accuracies += accuracy_rows(step, correct.numpy(), items.hops)
        scores += score_rows(step, found, items.hops, params["taus"], params["bootstrap_samples"], params["seed"])
        progress.update(done)
    provenance = {"task": args.task, "seed": args.seed, "parameters": args.params}
    write_table(args.folder / "accuracy.parquet", ACCURACY, pd.DataFrame(accuracies), provenance)
    write_table(args.folder / "scores.parquet", SCORES, pd.DataFrame(scores), provenance)
    job.log.info("scored %d checkpoints on %d items", len(checkpoints.steps), len(items))


if __name__ == "__main__":
    arguments = job.parser("scores", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the tables")
    job.run(arguments, stage, PACKAGES)
