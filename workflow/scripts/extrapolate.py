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
    from posym.measure.extrapolation import answers_along_axis, extrapolation_rows
    from posym.tables import write_table
    from posym.tasks.files import read_long_inputs

    torch.set_num_threads(args.threads)
    params = args.params["extrapolation"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    steps = sorted({*params["extra_steps"], checkpoints.steps[-1]})
    lengths = list(read_long_inputs(args.data))
    axis = [extra for extra, _, _ in lengths]
    sequences, prefix = lengths[0][1:]  # answers, hops and prefixes are the same at every length
    prefixes = len(set(prefix.tolist()))
    progress = job.Progress(len(steps) * prefixes, "prefix")
    rows: list[dict[str, object]] = []
    for number, step in enumerate(steps):
        parameters = checkpoints.load(step)
        longest = max(long.tokens.shape[1] for _, long, _ in lengths)
        if longest > parameters.shape.positions:
            raise InputError(
                f"long_inputs.extra: {max(axis)} makes {longest} tokens, more than model.positions: {parameters.shape.positions}"
            )
        found = answers_along_axis(
            parameters,
            [long.tokens for _, long, _ in lengths],
            sequences.answer,
            axis,
            prefix,
            params["batch_tokens"],
            tell=lambda done, before=number * prefixes: progress.update(before + done),  # type: ignore[misc]
        )
        for (extra, long, _), answers in zip(lengths, found, strict=True):
            rows += extrapolation_rows(
                step,
                extra,
                long.tokens.shape[1],
                long.hops,
                prefix,
                answers.correct,
                answers.margin,
                params["bootstrap_samples"],
                params["seed"],
            )
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
