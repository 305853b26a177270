"""Which token of the window a local model finds likeliest as its answer: what small models can do that write no clean reply.

The prompt is the bare text, continued after its last `Output:` as the worked examples are: without a chat template, which small
models take as an invitation to talk.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

from posym.llm.games import NEXT_TOKEN, Answered, Question
from posym.llm.scorer import CORRECT, WRONG


def common_prefix(rows: list[list[int]]) -> int:
    """How many first ids all rows share."""
    shortest, longest = min(rows), max(rows)
    for place, (one, other) in enumerate(zip(shortest, longest, strict=False)):
        if one != other:
            return place
    return min(len(shortest), len(longest))


@torch.inference_mode()
def choose(
    model: Any, tokenizer: Any, asked: list[Question], progress: Callable[[int], None] = lambda _: None
) -> list[Answered]:
    """For each question, the window token with the largest log probability as the whole reply, given the prompt.

    Guess level is one over the number of different tokens in the window. The part that all prompts of a task share is run once.
    `progress` is told how many questions are done.
    """
    answered: list[Answered] = []
    for task in dict.fromkeys(question.task for question in asked):
        mine = [question for question in asked if question.task == task]
        rows = [list(tokenizer(question.text)["input_ids"]) for question in mine]
        shared = min(common_prefix(rows), min(map(len, rows)) - 1)
        start = torch.tensor([rows[0][:shared]], device=model.device)
        cache = model(start, use_cache=True, logits_to_keep=1).cache if shared else None
        for question, row in zip(mine, rows, strict=True):
            candidates = list(dict.fromkeys(question.item.window.split()[:-1]))
            ids = [tokenizer(f" {candidate}", add_special_tokens=False)["input_ids"] for candidate in candidates]
            scores = continuation_scores(model, row[shared:], ids, cache)
            best = candidates[int(scores.argmax())]
            judged = CORRECT if best == question.item.answer else WRONG
            answered.append(Answered(question, NEXT_TOKEN, best, "", judged, len(row), 0))
            progress(len(answered))
    return answered


@torch.inference_mode()
def continuation_scores(model: Any, prompt: list[int], candidates: list[list[int]], prefix: Any = None) -> torch.Tensor:
    """Log probability [candidate] of each candidate's ids after `prompt`; `prefix` is a cache of what stands before it."""
    device = model.device
    cache = copy.deepcopy(prefix)
    run = model(torch.tensor([prompt], device=device), cache=cache, use_cache=True, logits_to_keep=1)
    first = run.logits[0, -1].float().log_softmax(-1)
    scores = torch.stack([first[ids[0]] for ids in candidates])
    starts = sorted({tuple(ids[:-1]) for ids in candidates if len(ids) > 1})
    if not starts:
        return scores.cpu()
    width = max(map(len, starts))
    batch = torch.tensor([[*start, *[0] * (width - len(start))] for start in starts], device=device)
    cache = run.cache
    cache.batch_repeat_interleave(len(starts))
    later = model(batch, cache=cache, use_cache=True).logits.float().log_softmax(-1)
    for number, ids in enumerate(candidates):
        if len(ids) > 1:
            row = later[starts.index(tuple(ids[:-1]))]
            scores[number] += sum(row[place, token] for place, token in enumerate(ids[1:]))
    return scores.cpu()
