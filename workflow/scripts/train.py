"""Rule `training`: train one model of one task and seed from scratch."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pyarrow", "torch", "transformers", "safetensors", "filelock")


def stage(args: argparse.Namespace) -> None:
    import torch

    from posym.devices import choose_device
    from posym.files import combined_digest
    from posym.model import Shape
    from posym.tasks.files import read_manifest, read_split
    from posym.training.cpu import CpuEngine
    from posym.training.loop import Engine, Run, checkpoint_steps
    from posym.training.recipe import Recipe

    torch.set_num_threads(args.threads)
    params = args.params
    model, training = params["model"], params["training"]
    device = choose_device(params["device"])
    manifest = read_manifest(args.data / "manifest.json")
    sequences = read_split(args.data, "train")
    shape = Shape(
        vocabulary=manifest["files"]["vocabulary.json"]["rows"],
        layers=model["layers"],
        hidden_size=model["hidden_size"],
        mlp_size=model["mlp_size"],
        positions=model["positions"],
        layer_norm_epsilon=model["layer_norm_epsilon"],
    )
    recipe = Recipe(
        steps=training["steps"],
        batch_size=training["batch_size"],
        learning_rate=training["learning_rate"],
        warmup_steps=training["warmup_steps"],
        betas=(training["adam_beta1"], training["adam_beta2"]),
        epsilon=training["adam_epsilon"],
        weight_decay=training["weight_decay"],
        gradient_clip=training["gradient_clip"],
        dropout=model["dropout"],
        seed=args.seed,
    )
    tokens = torch.from_numpy(sequences.tokens).to(torch.uint8 if shape.vocabulary <= 256 else torch.int32)
    answers = torch.from_numpy(sequences.answer)

    def make_engine(parameters, moments) -> Engine:  # type: ignore[no-untyped-def]
        if device == "cuda":
            from posym.training.cuda import CudaEngine

            autocast = torch.bfloat16 if training["dtype"] == "bfloat16" else None
            return CudaEngine(parameters, tokens, answers, recipe, moments, autocast=autocast)
        return CpuEngine(parameters, tokens, answers, recipe, moments)

    identity = {
        "task": args.task,
        "seed": args.seed,
        "parameters": params,
        "data": manifest["files"]["train.parquet"]["digest"],
        "code": combined_digest(args.code),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "dtype": training["dtype"] if device == "cuda" else "float32",
        "threads": args.threads,
        "versions": job.versions(PACKAGES),
    }
    job.log.info("training on %s, %d sequences, %d steps", identity["device"], len(sequences), recipe.steps)
    schedule = checkpoint_steps(recipe.steps, training["checkpoint_every"], training["extra_checkpoints"])
    deviation = model["initializer_standard_deviation"]
    Run(args.folder, args.resume, identity, shape, recipe, schedule, deviation)(make_engine)


if __name__ == "__main__":
    arguments = job.parser("training", __doc__)
    arguments.add_argument("--task", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--data", type=Path, required=True, help="folder with the task's data")
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the results")
    arguments.add_argument("--resume", type=Path, required=True, help="folder for what a rerun goes on from")
    arguments.add_argument("--code", type=Path, nargs="+", required=True, help="files whose change means starting over")
    job.run(arguments, stage, PACKAGES)
