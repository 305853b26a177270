"""Attention of every layer on one example, at the last checkpoint and at the last one that answers it wrongly (paper Fig. 3)."""

from __future__ import annotations

import numpy as np
import torch

from posym.errors import InputError
from posym.measure.restriction import attention_weights
from posym.model import Parameters, answer_logits
from posym.tasks.base import Sequences, Task


def chosen_example(test: Sequences, number: int) -> Sequences:
    """Sequence `number` (from 0) of those with the most hops, alone; one that is not there raises `InputError`."""
    rows = np.flatnonzero(test.hops == test.hops.max())
    if number >= len(rows):
        raise InputError(
            f"mechanism.flow.example: {number} should be below {len(rows)}, the test sequences of most hops"
        )
    return test[rows[number : number + 1]]


@torch.inference_mode()
def answer_of(parameters: Parameters, example: Sequences) -> int:
    """The token that the model answers with."""
    tokens = torch.from_numpy(example.tokens).to(parameters.flat.device)
    return int(answer_logits(parameters, tokens).argmax())


@torch.inference_mode()
def flow_rows(task: Task, parameters: Parameters, step: int, example: Sequences) -> list[dict[str, object]]:
    """Rows of flow.parquet for one checkpoint: every layer, query and slot in view; the last layer has the last query only.

    `hop` is k at hop-k's query and 0 elsewhere; `slot_hop` is k where the slot is path[k - 1], the answer being one more
    than the number of hops, and 0 elsewhere.
    """
    tokens = torch.from_numpy(example.tokens).to(parameters.flat.device)
    names = [task.vocabulary.tokens[token] for token in example.tokens[0]]
    path = example.path[0, : example.hops[0] + 1].tolist()
    place = {slot: number for number, slot in enumerate(path, start=1)}
    predicted, answer = answer_of(parameters, example), int(example.answer[0])
    rows: list[dict[str, object]] = []
    for layer, weights in enumerate(attention_weights(parameters, tokens)):
        first = len(names) - weights.shape[1]
        for query in range(first, len(names)):
            rows.extend(
                {
                    "step": step,
                    "layer": layer,
                    "head": 0,
                    "query": query,
                    "hop": place.get(query, 0) if place.get(query, 0) < len(path) else 0,
                    "slot": slot,
                    "slot_hop": place.get(slot, 0),
                    "token": names[slot],
                    "weight": float(weights[0, query - first, slot]),
                    "answer": task.vocabulary.tokens[answer],
                    "predicted": task.vocabulary.tokens[predicted],
                    "correct": predicted == answer,
                }
                for slot in range(query + 1)
            )
    return rows
