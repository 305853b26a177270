"""What the length curve hangs on: the checkpoint, the extra tokens, and the mix of hops.

    python studies/length_curve.py --experiment paper --out docs/reference/length-study.csv

Reads the trained models of an experiment and its test sequences, and measures accuracy at a few lengths with extra tokens
made in other ways than the `long_inputs` rule makes them, at several checkpoints. One row a task, seed, step, kind of extra
tokens, length and hop class (0: all). Limits are 95 % bootstrap intervals over prefixes. Kinds of extra tokens:

- `shared`: as the rule makes them, several items share one prefix;
- `own`: a prefix for every item, so that no interval hangs on few prefixes;
- `without answer`: number, never the answer's letter; letter, never a pair with the answer's integer;
- `one token`: the same allowed token over and over, another one for every item.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow" / "scripts"))

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from posym.checkpoints import Checkpoints
from posym.files import read_json
from posym.measure.extrapolation import answers_along_axis, extrapolation_rows
from posym.tasks import make_task
from posym.tasks.base import Sequences, Task
from posym.tasks.dataset import long_input_cores
from posym.tasks.files import read_manifest, read_split

KINDS = ("shared", "own", "without answer", "one token")


def allowed_tokens(task: Task, cores: Sequences, kind: str) -> NDArray[np.bool_]:
    """Tokens that may be prepended to each sequence under one kind: boolean [row, vocabulary]."""
    allowed = task.fillers(cores)
    if kind == "without answer":
        names = np.array(task.vocabulary.tokens)
        for row, answer in enumerate(cores.answer):
            wanted = names[answer]
            same = names == wanted if task.name == "number" else np.char.endswith(names, wanted[1:])
            allowed[row] &= ~same
    if kind == "one token":
        random = np.random.default_rng(0)
        for row in range(len(allowed)):
            chosen = random.choice(np.flatnonzero(allowed[row]))
            allowed[row] = False
            allowed[row, chosen] = True
    return allowed


def measure(
    task: Task, model: Path, test: Sequences, arguments: argparse.Namespace, seed: int
) -> list[dict[str, object]]:
    """All rows of one model."""
    checkpoints = Checkpoints(model, "cpu")
    last = checkpoints.steps[-1]
    rows: list[dict[str, object]] = []
    for kind in KINDS:
        prefixes = arguments.items // (arguments.share if kind == "shared" else 1)
        inputs = long_input_cores(task, test, items=arguments.items, prefixes=prefixes, seed=0)
        allowed = allowed_tokens(task, inputs.cores, kind)
        tokens = [
            task.extend(np.random.default_rng([0, 2]), inputs.cores, extra, inputs.prefix, allowed)
            for extra in arguments.extra
        ]
        for step in [*arguments.steps, last] if kind == "own" else [last]:
            answers = answers_along_axis(
                checkpoints.load(step), tokens, inputs.cores.answer, arguments.extra, inputs.prefix, 16384
            )
            for extra, long, found in zip(arguments.extra, tokens, answers, strict=True):
                made = extrapolation_rows(
                    step, extra, long.shape[1], inputs.cores.hops, inputs.prefix, found.correct, found.margin, 1000, 0
                )
                rows += [{"task": task.name, "seed": seed, "kind": kind, **row} for row in made]
            print(
                f"{task.name} seed {seed} step {step} {kind}: {rows[-1]['length']} tokens done",
                file=sys.stderr,
                flush=True,
            )
    return rows


def main() -> None:
    """Measure every model of an experiment; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiment", required=True, help="its data and results folders are read")
    parser.add_argument("--out", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--extra", type=int, nargs="+", default=[100, 300, 500, 833], help="extra tokens")
    parser.add_argument(
        "--steps", type=int, nargs="*", default=[], help="checkpoints besides the last one (kind `own`)"
    )
    parser.add_argument("--items", type=int, default=400, help="items a length")
    parser.add_argument("--share", type=int, default=5, help="items that share a prefix in the kind `shared`")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for models in sorted(Path("results", arguments.experiment, "models").iterdir()):
        data = Path("data", arguments.experiment, models.name)
        parameters = read_manifest(data / "manifest.json")["parameters"]
        task = make_task(models.name, parameters["sequences"], parameters["alphabet"])
        test = read_split(data, "test")
        for model in sorted(models.iterdir()):
            if (model / "manifest.json").exists():
                rows += measure(task, model, test, arguments, int(read_json(model / "manifest.json")["seed"]))
    pd.DataFrame(rows).drop(columns="logit_margin").to_csv(arguments.out, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
