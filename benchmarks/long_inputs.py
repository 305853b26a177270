"""Cost of long inputs on one core: shared prefixes against the plain forward pass, and the paper's whole axis.

Each length is compared on the same sequences, which have to get the same answers both ways. The whole axis is run for a few
prefixes and counted for all: the cost grows with their number, nothing else is shared. CPU time of the one thread is
compared.
"""

from __future__ import annotations

import multiprocessing
import resource
from functools import partial
from multiprocessing.connection import Connection

import numpy as np
import torch
from numpy.typing import NDArray

import common
from posym.measure.extrapolation import answers_along_axis, answers_on_long_inputs
from posym.model import Parameters, answer_logits, prefix_of
from posym.tasks.base import Sequences

AXIS = [*range(0, 100, 10), *range(100, 801, 100), 833, 900, *range(1000, 5001, 500)]
ITEMS, PREFIXES, BATCH_TOKENS = 1000, 200, 16384  # the paper's experiment in config.yaml
SHARED_BY = ITEMS // PREFIXES


def long_inputs(prefixes: int, axis: list[int]) -> tuple[list[NDArray[np.int64]], Sequences, NDArray[np.int64]]:
    """Tokens at every length of `axis`, the cores, and the prefix of each item."""
    task, cores = common.number_task(), common.number_items(4 * SHARED_BY * prefixes)[slice(0, SHARED_BY * prefixes)]
    prefix = np.repeat(np.arange(prefixes), SHARED_BY)
    return [task.extend(np.random.default_rng(0), cores, extra, prefix) for extra in axis], cores, prefix


@torch.inference_mode()
def plain_margins(parameters: Parameters, tokens: NDArray[np.int64], answer: NDArray[np.int64]) -> NDArray[np.float64]:
    """The answer's logit minus the largest other one [item], every sequence run whole, short ones in batches."""
    at_once = max(1, BATCH_TOKENS // 4 // tokens.shape[1])
    margins = []
    for start in range(0, len(tokens), at_once):
        whole = torch.from_numpy(tokens[start : start + at_once])
        wanted = torch.from_numpy(answer[start : start + at_once])[:, None]
        # All but the query is taken as a prefix, which has the faster attention for long sequences.
        logits = answer_logits(parameters, whole[:, -1:], prefix_of(parameters, whole[:, :-1]))
        margins.append(logits.gather(1, wanted)[:, 0] - logits.scatter(1, wanted, -torch.inf).amax(-1))
    return torch.cat(margins).double().numpy()


def largest_difference(parameters: Parameters, extra: int) -> float:
    """Between the margins of both ways; other answers than the plain way's are an error."""
    (tokens,), cores, prefix = long_inputs(1, [extra])
    correct, margin = answers_on_long_inputs(parameters, tokens, cores.answer, extra, prefix, BATCH_TOKENS)
    plain = plain_margins(parameters, tokens, cores.answer)
    if not (correct == (plain > 0)).all():
        raise SystemExit(f"error: shared prefixes give other answers at {extra} extra tokens")
    return float(np.abs(margin - plain).max())


def _peak_of(parameters: Parameters, extra: int, prefixes: int, answer: Connection) -> None:
    torch.set_num_threads(1)
    given = [long_inputs(count, [length]) for count, length in ((1, 100), (prefixes, extra))]
    for length, ((tokens,), cores, prefix) in zip((100, extra), given, strict=True):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # of the second: what the library keeps for itself
        answers_on_long_inputs(parameters, tokens, cores.answer, length, prefix, 10**9)
    answer.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def kilobytes_per_token(parameters: Parameters, extra: int = 5000, prefixes: int = 4) -> float:
    """Peak memory for each distinct token of one batch, in a process of its own."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_peak_of, args=(parameters, extra, prefixes, sender))
    process.start()
    found = receiver.recv()
    process.join()
    return float(found) / (prefixes * (extra + SHARED_BY * 17))


def main() -> None:
    parser = common.parser(__doc__)
    parser.set_defaults(repetitions=3)
    parser.add_argument("--extra", type=int, nargs="+", default=[0, 100, 833, 2000, 5000], help="lengths to compare at")
    parser.add_argument("--prefixes", type=int, default=3, help="prefixes to run the whole axis with")
    arguments = parser.parse_args()
    parameters = common.paper_model()
    rows = []
    with common.one_thread():
        memory = kilobytes_per_token(parameters)  # first: a forked child would reuse what earlier work has freed
        for extra in arguments.extra:
            prefixes = max(1, 1000 // (extra + 1))
            (tokens,), cores, prefix = long_inputs(prefixes, [extra])
            difference = largest_difference(parameters, extra)
            seconds = common.side_by_side(
                {
                    "ours": partial(
                        answers_on_long_inputs, parameters, tokens, cores.answer, extra, prefix, BATCH_TOKENS
                    ),
                    "peer": partial(plain_margins, parameters, tokens, cores.answer),
                },
                arguments.repetitions,
            )
            count = len(tokens)
            rows.append(
                common.row(
                    "extrapolate",
                    f"{extra} extra tokens, {SHARED_BY} items a prefix, 12 layers, float32, 1 core;"
                    f" answers equal, logit margins to {difference:.0e}",
                    "ms/item",
                    seconds["ours"],
                    seconds["peer"],
                    "every sequence run whole",
                    value=lambda value, count=count: 1000 * value / count,  # type: ignore[misc]
                )
            )
        every, cores, prefix = long_inputs(arguments.prefixes, AXIS)

        def length_by_length() -> None:
            for extra, tokens in zip(AXIS, every, strict=True):
                answers_on_long_inputs(parameters, tokens, cores.answer, extra, prefix, BATCH_TOKENS)

        seconds = common.side_by_side(
            {
                "ours": lambda: answers_along_axis(parameters, every, cores.answer, AXIS, prefix, BATCH_TOKENS),
                "peer": length_by_length,
            },
            arguments.repetitions,
        )
        rows.append(
            common.row(
                "extrapolate",
                f"whole axis 0..5000, {len(AXIS)} lengths, {ITEMS} items, {PREFIXES} prefixes (from {arguments.prefixes})",
                "core-minutes",
                seconds["ours"],
                seconds["peer"],
                "a pass over the prefixes for each length",
                value=lambda value: value * PREFIXES / arguments.prefixes / 60,
            )
        )
    rows.append(
        common.figure(
            "extrapolate", "peak memory of a batch at 5000 extra tokens, for each distinct token", "kB", memory
        )
    )
    common.report(rows, write=arguments.write)


if __name__ == "__main__":
    main()
