"""Rule `patching`: what single activations restore in minimal counterfactuals, at the last checkpoint of one model."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch", "safetensors")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.checkpoints import Checkpoints
    from posym.contracts.patching import PATCHING
    from posym.devices import choose_device
    from posym.measure.patching import counterfactual_pairs, patched_differences, patching_rows
    from posym.tables import write_table
    from posym.tasks import make_task
    from posym.tasks.files import read_split

    torch.set_num_threads(args.threads)
    params = args.params["patching"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    task = make_task(args.task, args.params["sequences"], args.params["alphabet"])
    test = read_split(args.data, "test")
    parameters = checkpoints.load(checkpoints.steps[-1])
    rows: list[dict[str, object]] = []
    cases = [(hops, hop) for hops in range(1, task.hops + 1) for hop in range(1, hops + 1)]
    progress = job.Progress(len(cases), "counterfactual")
    for done, (hops, hop) in enumerate(cases, start=1):
        pairs = counterfactual_pairs(task, test, hops, hop, params["items"], params["seed"])
        clean, changed, patched = patched_differences(parameters, pairs, hop)
        rows += patching_rows(hops, hop, clean, changed, patched, params["bootstrap_samples"], params["seed"])
        progress.update(done)
    provenance = {"task": args.task, "seed": args.seed, "parameters": args.params}
    write_table(args.folder / "patching.parquet", PATCHING, pd.DataFrame(rows), provenance)
    job.log.info("patched counterfactuals of %d hops", len(cases))


if __name__ == "__main__":
    arguments = job.parser("patching", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the table")
    job.run(arguments, stage, PACKAGES)
