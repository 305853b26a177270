"""How the cost grows on one core: with length, layers, items and checkpoints, exponents fitted on logarithmic axes.

With `--write` it also draws benchmarks/cost.png, cost against length. CPU time of the one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

import common
from posym.measure.scores import measure_items
from posym.model import answer_logits, load_checkpoint, prefix_of, save_checkpoint

TAUS = [1e-4, 1e-3, 1e-2]
LENGTHS = [17, 50, 100, 200, 500, 1000, 2000, 5000]
LAYERS = [2, 4, 8, 16]
ITEMS = [60, 120, 240, 480]
CHECKPOINTS = [1, 2, 4, 8]
PLOT = common.ROOT / "benchmarks" / "cost.png"


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log cost against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def medians(work: Callable[[int], object], sizes: list[int], repetitions: int) -> list[float]:
    """CPU seconds of `work` at each size, sizes taking turns."""
    found = common.side_by_side({str(size): partial(work, size) for size in sizes}, repetitions)
    return [float(np.median(found[str(size)])) for size in sizes]


def draw(curves: dict[str, list[float]]) -> None:
    """Cost of an item against length, one line a way of computing it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    plot, axes = pyplot.subplots(figsize=(5, 3.4), layout="constrained")
    for name, seconds in curves.items():
        axes.loglog(LENGTHS, [1000 * value for value in seconds], marker="o", markersize=3, label=name)
    axes.set(
        xlabel="tokens", ylabel="CPU time of an item (ms)", title="Cost against length, the paper's model on one core"
    )
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    plot.savefig(PLOT, dpi=120)


def main() -> None:
    parser = common.parser(__doc__)
    parser.set_defaults(repetitions=3)
    arguments = parser.parse_args()
    parameters, token = common.paper_model(), torch.zeros(1, max(LENGTHS), dtype=torch.long)
    by_layers = {layers: common.paper_model(layers=layers) for layers in LAYERS}
    items = common.number_items(max(ITEMS))
    prefixes = {length: prefix_of(parameters, token[:, : length - 5]) for length in LENGTHS}

    @torch.inference_mode()
    def whole(length: int) -> None:
        for _ in range(max(1, 500 // length)):  # short ones often enough to be timed
            answer_logits(parameters, token[:, :1], prefix_of(parameters, token[:, : length - 1]))

    @torch.inference_mode()
    def core(length: int) -> None:
        for _ in range(10):
            answer_logits(parameters, token[:, :17].expand(5, -1), prefixes[length])

    def checkpoints(folder: Path, count: int) -> None:
        for _ in range(count):
            measure_items(load_checkpoint(folder), items[slice(0, 60)], TAUS)

    with common.one_thread(), TemporaryDirectory() as folder:
        step = Path(folder) / "step"
        save_checkpoint(parameters, step, dropout=0.1)
        repeat = arguments.repetitions
        each = [
            seconds / max(1, 500 // length)
            for length, seconds in zip(LENGTHS, medians(whole, LENGTHS, repeat), strict=True)
        ]
        against = [seconds / 50 for seconds in medians(core, LENGTHS, repeat)]
        layers = medians(lambda count: measure_items(by_layers[count], items[slice(0, 120)], TAUS), LAYERS, repeat)
        scored = medians(lambda count: measure_items(parameters, items[slice(0, count)], TAUS), ITEMS, repeat)
        several = medians(partial(checkpoints, step), CHECKPOINTS, repeat)
    curves = {
        "whole sequence": each,
        "5 items on one prefix": [one / 5 + more for one, more in zip(each, against, strict=True)],
        "17 tokens on a prefix at hand": against,
    }
    of = partial(common.figure, "growth", unit="exponent", repetitions=repeat)
    long = LENGTHS.index(500)
    rows = [
        of(f"forward pass, {LENGTHS[0]} to 500 tokens", ours=exponent(LENGTHS[: long + 1], each[: long + 1])),
        of("forward pass, 500 to 5000 tokens", ours=exponent(LENGTHS[long:], each[long:])),
        of("17 tokens on a prefix at hand, 500 to 5000 tokens", ours=exponent(LENGTHS[long:], against[long:])),
        of(f"scores, {LAYERS[0]} to {LAYERS[-1]} layers", ours=exponent(LAYERS, layers)),
        of(f"scores, {ITEMS[0]} to {ITEMS[-1]} items", ours=exponent(ITEMS, scored)),
        of(f"scores, {CHECKPOINTS[0]} to {CHECKPOINTS[-1]} checkpoints", ours=exponent(CHECKPOINTS, several)),
    ]
    common.report(rows, write=arguments.write)
    for name, seconds in curves.items():
        print(name, *(f"{length}: {1000 * value:.2f} ms" for length, value in zip(LENGTHS, seconds, strict=True)))
    if arguments.write:
        draw(curves)


if __name__ == "__main__":
    main()
