"""Rule `llm_games`: both games asked of one model, by its replies and, for a local model, its next-token choice."""

import argparse
import os
from pathlib import Path

from posym import job

PACKAGES = (
    "accelerate",
    "anthropic",
    "inspect_ai",
    "numpy",
    "openai",
    "pandas",
    "pyarrow",
    "safetensors",
    "torch",
    "transformers",
)


def stage(args: argparse.Namespace) -> None:
    model, requests = args.params["model"], args.params["requests"]
    if args.model:
        os.environ["HF_HUB_OFFLINE"] = "1"  # the rule llm_model fetched what there is to fetch; read on import

    import pandas as pd
    import torch

    from posym.contracts.llm import GAMES, REPLIES
    from posym.devices import choose_device
    from posym.llm import games, models, next_token
    from posym.llm.onehop import read_items
    from posym.tables import write_table

    torch.set_num_threads(args.threads)
    device = choose_device(args.params["device"])
    folder = args.prompts[0].parent
    asked = [question for task in args.tasks for question in games.questions(task, read_items(folder, task))]
    path = models.location(args.model) if args.model else ""
    answered = []
    if path:
        network, tokenizer = models.load(path, model["dtype"], device)
        longest = max((question.text for question in asked), key=len)
        needed = len(models.chat(tokenizer, longest)) + requests["max_tokens"]
        models.check_context(model["name"], network.config, needed)
        if games.NEXT_TOKEN in model["methods"]:
            progress = job.Progress(len(asked), "next-token choice")
            answered += next_token.choose(network, tokenizer, asked, progress.update)
        del network
    if games.REPLY in model["methods"]:
        progress = job.Progress(len(asked), "reply")
        answered += games.ask(model, requests, asked, args.work, job.log.info, path, device, progress.update)
    provenance = {"model": model["name"], "parameters": args.params, "versions": job.versions(PACKAGES)}
    write_table(args.replies, REPLIES, pd.DataFrame(games.reply_rows(answered)), provenance)
    write_table(args.table, GAMES, pd.DataFrame(games.table_rows(model["name"], answered)), provenance)
    job.log.info("%s: %d answers", model["name"], len(answered))


if __name__ == "__main__":
    arguments = job.parser("llm_games", __doc__)
    arguments.add_argument("--tasks", nargs="+", required=True)
    arguments.add_argument(
        "--prompts", type=Path, nargs="+", required=True, help="the prompts' manifests, beside their tables"
    )
    arguments.add_argument("--model", type=Path, help="folder of a local model that llm_model made ready")
    arguments.add_argument(
        "--work", type=Path, required=True, help="folder for replies as they arrive and for logs; kept"
    )
    arguments.add_argument("--table", type=Path, required=True)
    arguments.add_argument("--replies", type=Path, required=True)
    job.run(arguments, stage, PACKAGES)
