"""Rule `restriction`: accuracy on long inputs with RoPE planes or one layer's attention held, at the last checkpoint of one model."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch", "safetensors")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.checkpoints import Checkpoints
    from posym.contracts.restriction import RESTRICTION
    from posym.devices import choose_device
    from posym.errors import InputError
    from posym.measure.restriction import restricted_answers, restriction_rows
    from posym.tables import write_table
    from posym.tasks.files import read_long_inputs

    torch.set_num_threads(args.threads)
    params = args.params["restriction"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    parameters = checkpoints.load(checkpoints.steps[-1])
    lengths = {extra: (sequences, prefix) for extra, sequences, prefix in read_long_inputs(args.data)}
    missing = sorted(set(params["extra"]) - set(lengths))
    if missing:
        raise InputError(
            f"mechanism.restriction.extra: {missing[0]} is not in the long inputs: add it to long_inputs.extra"
        )
    rows: list[dict[str, object]] = []
    progress = job.Progress(len(params["extra"]), "length")
    for done, extra in enumerate(sorted(params["extra"]), start=1):
        sequences, prefix = lengths[extra]
        correct = restricted_answers(
            parameters, sequences.tokens, sequences.answer, extra, prefix, params["batch_tokens"]
        )
        rows += restriction_rows(extra, sequences.hops, prefix, correct, params["bootstrap_samples"], params["seed"])
        progress.update(done, f"{extra} extra tokens")
    provenance = {"task": args.task, "seed": args.seed, "parameters": args.params}
    write_table(args.folder / "restriction.parquet", RESTRICTION, pd.DataFrame(rows), provenance)
    job.log.info("held %d layers at %d lengths", parameters.shape.layers, len(params["extra"]))


if __name__ == "__main__":
    arguments = job.parser("restriction", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the table")
    job.run(arguments, stage, PACKAGES)
