"""Rule `discrepancy`: how well separated each head's first choice is at growing lengths, at the last checkpoint of one model."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch", "safetensors")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.checkpoints import Checkpoints
    from posym.contracts.discrepancy import DISCREPANCY
    from posym.devices import choose_device
    from posym.errors import InputError
    from posym.measure.discrepancy import discrepancy_rows, head_gaps, with_paths
    from posym.tables import write_table
    from posym.tasks import make_task
    from posym.tasks.base import Sequences
    from posym.tasks.files import read_long_inputs

    torch.set_num_threads(args.threads)
    params = args.params["discrepancy"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    task = make_task(args.task, args.params["sequences"], args.params["alphabet"])
    parameters = checkpoints.load(checkpoints.steps[-1])
    lengths = {extra: (sequences, prefix) for extra, sequences, prefix in read_long_inputs(args.data)}
    missing = sorted(set(params["extra"]) - set(lengths))
    if missing:
        raise InputError(
            f"mechanism.discrepancy.extra: {missing[0]} is not in the long inputs: add it to long_inputs.extra"
        )
    first, prefix = lengths[min(lengths)]
    core = first.tokens[:, -task.slots :]
    cores = with_paths(task, Sequences(core, first.answer, first.hops, first.answer_slot, first.path))
    gaps, totals = [], []
    progress = job.Progress(len(params["extra"]), "length")
    for done, extra in enumerate(sorted(params["extra"]), start=1):
        sequences, prefix = lengths[extra]
        gaps.append(head_gaps(parameters, cores, sequences.tokens, prefix, params["batch_tokens"]))
        totals.append(sequences.tokens.shape[1])
        progress.update(done, f"{extra} extra tokens")
    rows = discrepancy_rows(totals, gaps, cores, prefix, params["bootstrap_samples"], params["seed"])
    provenance = {"task": args.task, "seed": args.seed, "parameters": args.params}
    write_table(args.folder / "discrepancy.parquet", DISCREPANCY, pd.DataFrame(rows), provenance)
    job.log.info("measured %d heads at %d lengths", parameters.shape.layers, len(totals))


if __name__ == "__main__":
    arguments = job.parser("discrepancy", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the table")
    job.run(arguments, stage, PACKAGES)
