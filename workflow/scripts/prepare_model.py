"""Rule `llm_model`: make a local model ready for transformers, once."""

import argparse
import os
from pathlib import Path

from posym import job

PACKAGES = ("accelerate", "gguf", "huggingface_hub", "safetensors", "torch", "transformers")


def stage(args: argparse.Namespace) -> None:
    os.environ["TQDM_DISABLE"] = "1"  # the log has a line for each thing that matters; read on import

    import torch

    from posym.llm.models import prepare

    torch.set_num_threads(args.threads)
    model = args.params["model"]
    prepare(model["source"], args.folder, {"name": model["name"], "versions": job.versions(PACKAGES)})
    job.log.info("%s from %s is ready", model["name"], model["source"])


if __name__ == "__main__":
    arguments = job.parser("llm_model", __doc__)
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the manifest and converted weights")
    job.run(arguments, stage, PACKAGES)
