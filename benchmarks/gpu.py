"""Training, scoring and long inputs on one GPU, and the same results as on the CPU; under five minutes.

Compared with this machine's CPU on one core, wall time. Where there is no GPU it says so and does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

import common
from posym.measure.extrapolation import answers_on_long_inputs
from posym.measure.scores import measure_items
from posym.training.cpu import CpuEngine
from posym.training.cuda import CudaEngine
from posym.training.recipe import Recipe

TAUS = [1e-4, 1e-3, 1e-2]
STEPS, BATCH = 6750, 64
EXTRA, SHARED_BY, BATCH_TOKENS = 833, 5, 65_536


def recipe(dropout: float) -> Recipe:
    """The paper's."""
    return Recipe(STEPS, BATCH, 1e-4, 750, (0.95, 0.999), 1e-8, 1e-4, 1.0, dropout, 0)


def seconds_of(work: Callable[[], object]) -> float:
    """Wall seconds until the GPU is done too."""

    def finished() -> None:
        work()
        torch.cuda.synchronize()

    return common.timed(finished)


def main() -> None:
    parser = common.parser(__doc__)
    parser.set_defaults(repetitions=3)
    parser.add_argument(
        "--steps", type=int, default=1000, help="GPU training steps a repetition (default: %(default)s)"
    )
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU on this machine, so there is nothing to measure.")
        return
    device = torch.cuda.get_device_name()
    items, many = common.number_items(20_000), common.number_items(1200)
    tokens, answers = torch.from_numpy(items.tokens), torch.from_numpy(items.answer)

    def engine(where: str, dropout: float, autocast: torch.dtype | None = None) -> CpuEngine | CudaEngine:
        parameters = common.paper_model(device=where)
        if where == "cpu":
            return CpuEngine(parameters, tokens, answers, recipe(dropout))
        return CudaEngine(parameters, tokens, answers, recipe(dropout), autocast=autocast)

    with common.one_thread():
        steps = 50
        losses = {where: engine(where, dropout=0.0).run(0, steps)[0] for where in ("cpu", "cuda")}
        print(f"largest difference of losses over {steps} steps: {np.abs(losses['cpu'] - losses['cuda']).max():.1e}")
        cpu, cuda = common.paper_model(), common.paper_model(device="cuda")
        few = many[slice(0, 240)]
        found = {name: measure_items(model, few, TAUS)[1]["last"] for name, model in (("cpu", cpu), ("cuda", cuda))}
        pairs = zip(found["cpu"], found["cuda"], strict=True)
        difference = max(float((one.positional - other.positional).abs().max()) for one, other in pairs)
        print(f"largest difference of positional scores: {difference:.1e}")
        cores = common.number_items(200)
        prefix = np.repeat(np.arange(len(cores) // SHARED_BY), SHARED_BY)
        long = common.number_task().extend(np.random.default_rng(0), cores, EXTRA, prefix)
        given = (long, cores.answer, EXTRA, prefix, BATCH_TOKENS)
        few_long = (long[:20], cores.answer[:20], EXTRA, prefix[:20], BATCH_TOKENS)
        margins = [answers_on_long_inputs(model, *few_long)[1] for model in (cpu, cuda)]
        print(
            f"largest difference of logit margins at {EXTRA} extra tokens: {np.abs(margins[0] - margins[1]).max():.1e}"
        )

        def measured(work: Callable[[], object]) -> list[float]:
            seconds_of(work)  # set-up and capture
            return [seconds_of(work) for _ in range(arguments.repetitions)]

        def per(seconds: list[float], count: int) -> list[float]:
            return [value / count for value in seconds]

        slow = engine("cpu", dropout=0.1)
        slow_steps = per(measured(partial(slow.run, 0, 5)), 5)
        rows = []
        for name, autocast in (("float32", None), ("bfloat16", torch.bfloat16)):
            fast = engine("cuda", dropout=0.1, autocast=autocast)
            fast_steps = per(measured(partial(fast.run, 0, arguments.steps)), arguments.steps)
            print(f"{STEPS} steps in {name}: {STEPS * float(np.median(fast_steps)):.1f} s")
            rows.append(
                common.row(
                    *("train", f"the paper's model and batch, dropout 0.1, {name}, 1 GPU", "steps/s"),
                    *(fast_steps, slow_steps, "one core of its CPU"),
                    value=lambda seconds: 1 / seconds,
                    device=device,
                )
            )
        comparisons = {
            ("score", "all hop queries, three taus"): (
                per(measured(lambda: measure_items(cuda, many, TAUS)), len(many)),
                per(measured(lambda: measure_items(cpu, few, TAUS)), len(few)),
            ),
            ("extrapolate", f"{EXTRA} extra tokens, {SHARED_BY} items a prefix"): (
                per(measured(lambda: answers_on_long_inputs(cuda, *given)), len(long)),
                per(measured(lambda: answers_on_long_inputs(cpu, *few_long)), len(few_long[0])),
            ),
        }
    rows += [
        common.row(
            *(work, f"{case}, 1 GPU", "ms/item", ours, peer, "one core of its CPU"),
            value=lambda seconds: 1000 * seconds,
            device=device,
        )
        for (work, case), (ours, peer) in comparisons.items()
    ]
    common.report(rows, write=arguments.write)


if __name__ == "__main__":
    main()
