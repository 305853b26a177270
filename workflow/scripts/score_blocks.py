"""Rule `llm_heads`: positional and symbolic scores of a pretrained model's heads and RoPE planes by block swaps."""

import argparse
import os
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "safetensors", "torch", "transformers")


def stage(args: argparse.Namespace) -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"  # the rule llm_model fetched what there is to fetch; read on import

    import pandas as pd
    import torch

    from posym.contracts.llm import HEADS
    from posym.devices import choose_device
    from posym.llm import heads, models
    from posym.llm.onehop import make_items
    from posym.tables import write_table

    torch.set_num_threads(args.threads)
    model, settings = args.params["model"], args.params["heads"]
    path = models.location(args.model)
    network, tokenizer = models.load(path, model["dtype"], choose_device(args.params["device"]))
    rows: list[dict[str, object]] = []
    for task in args.tasks:
        items = make_items(task, settings["seed"], settings["length"], settings["items"], 1)
        longest = max(map(len, heads.block_inputs(tokenizer, task, items)[0]))
        models.check_context(model["name"], network.config, longest)
        progress = job.Progress(len(items), f"prompts of the {task} game")
        scores, rope = heads.measure_heads(
            network, tokenizer, task, items, settings["blocks"], settings["tau"], progress.update
        )
        rows += heads.head_rows(model["name"], task, scores, rope, settings["bootstrap_samples"], settings["seed"])
    provenance = {"model": model["name"], "parameters": args.params, "versions": job.versions(PACKAGES)}
    write_table(args.table, HEADS, pd.DataFrame(rows), provenance)
    job.log.info("%s: scored %d heads and planes", model["name"], len(rows))


if __name__ == "__main__":
    arguments = job.parser("llm_heads", __doc__)
    arguments.add_argument("--tasks", nargs="+", required=True)
    arguments.add_argument(
        "--model", type=Path, required=True, help="folder of a local model that llm_model made ready"
    )
    arguments.add_argument("--table", type=Path, required=True)
    job.run(arguments, stage, PACKAGES)
