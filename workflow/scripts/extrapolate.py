"""Rule `extrapolation`: accuracy by hop of one model on inputs longer than those of training."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch", "safetensors")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.checkpoints import Checkpoints
    from posym.contracts.extrapolation import EXTRAPOLATION
    from posym.devices import choose_device
    from posym.errors import InputError
    from posym.measure.extrapolation import answers_on_long_inputs, extrapolation_rows
    from posym.tables import write_table
    from posym.tasks.files import read_long_inputs

    torch.set_num_threads(args.threads)
    params = args.params["extrapolation"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    steps = sorted({*params["extra_steps"], checkpoints.steps[-1]})
    lengths = list(read_long_inputs(args.data))
    total = len(steps) * sum(sequences.tokens.shape[1] for _, sequences, _ in lengths)
    progress, done = job.Progress(total, "length units"), 0
    rows: list[dict[str, object]] = []
    for step in steps:
        parameters = checkpoints.load(step)
        for extra, sequences, prefix in lengths:
            length = sequences.tokens.shape[1]
            if length > parameters.shape.positions:
                raise InputError(
                    f"long_inputs.extra: {extra} makes {length} tokens, more than model.positions: {parameters.shape.positions}"
                )
            correct, margin = answers_on_long_inputs(
                parameters, sequences.tokens, sequences.answer, extra, prefix, params["batch_tokens"]
            )
            rows += extrapolation_rows(
                step,
                extra,
                length,
                sequences.hops,
                prefix,
                correct,
                margin,
                params["bootstrap_samples"],
                params["seed"],
            )
            done += length
            progress.update(done, f"{length} tokens")
    provenance = {"task": args.task, "seed": args.seed, "parameters": args.params}
    write_table(args.folder / "extrapolation.parquet", EXTRAPOLATION, pd.DataFrame(rows), provenance)
    job.log.info("measured %d lengths at steps %s", len(lengths), steps)


if __name__ == "__main__":
    arguments = job.parser("extrapolation", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the table")
    job.run(arguments, stage, PACKAGES)
