"""Rule `flow`: attention of one example, at the last checkpoint and at the last one that answers it wrongly."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch", "safetensors")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.checkpoints import Checkpoints
    from posym.contracts.flow import FLOW
    from posym.devices import choose_device
    from posym.measure.flow import answer_of, chosen_example, flow_rows
    from posym.tables import write_table
    from posym.tasks import make_task
    from posym.tasks.files import read_split

    torch.set_num_threads(args.threads)
    params = args.params["flow"]
    checkpoints = Checkpoints(args.model, choose_device(args.params["device"]))
    task = make_task(args.task, args.params["sequences"], args.params["alphabet"])
    example = chosen_example(read_split(args.data, "test"), params["example"])
    last = checkpoints.steps[-1]
    followed = [last]
    rows = flow_rows(task, checkpoints.load(last), last, example)
    for step in reversed(checkpoints.steps[:-1]):
        parameters = checkpoints.load(step)
        if answer_of(parameters, example) != example.answer[0]:
            rows += flow_rows(task, parameters, step, example)
            followed.append(step)
            break
    provenance = {"task": args.task, "seed": args.seed, "parameters": args.params}
    write_table(args.folder / "flow.parquet", FLOW, pd.DataFrame(rows), provenance)
    job.log.info("followed example %d at steps %s", params["example"], followed)


if __name__ == "__main__":
    arguments = job.parser("flow", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the table")
    job.run(arguments, stage, PACKAGES)
