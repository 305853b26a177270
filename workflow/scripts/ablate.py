"""Rule `ablation`: accuracy by hop without the heads of each layer and of pairs of layers, at the last checkpoint of one model."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch", "safetensors")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.checkpoints import Checkpoints
    from posym.contracts.ablation import ABLATION
    from posym.devices import choose_device
    from posym.measure.ablation import ablate
    from posym.tables import write_table
    from posym.tasks.dataset import balanced_slice
    from posym.tasks.files import read_split

    torch.set_num_threads(args.threads)
    params = args.params["ablation"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    items = balanced_slice(read_split(args.data, "test"), params["items"])
    parameters = checkpoints.load(checkpoints.steps[-1])
    rows = ablate(
        parameters, items, params["interventions"], params["pairs"], params["bootstrap_samples"], params["seed"]
    )
    provenance = {"task": args.task, "seed": args.seed, "parameters": args.params}
    write_table(args.folder / "ablation.parquet", ABLATION, pd.DataFrame(rows), provenance)
    job.log.info("took out heads of %d layers on %d items", parameters.shape.layers, len(items))


if __name__ == "__main__":
    arguments = job.parser("ablation", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the table")
    job.run(arguments, stage, PACKAGES)
