"""Queries and keys of a head in its dominant RoPE plane, token by token, before RoPE turns them.

The dominant plane is the one with the largest mean contrast (`posym.measure.frequencies`) over queries of all hops.
Angles are held against those of the constructions of paper section 4, up to one free turn:
Index (tasks with integers): the query of integer s stands at -s * theta, theta being the plane's angle, and every key at one
angle; Retrieval (tasks of pairs): the query of a right letter and the key of that left letter stand at one angle, whatever it is.
`angle_error` is the root mean square over tokens of the angle (radians) between a token's mean and the prediction; guessing
gives about pi / sqrt(3) = 1.81. `variance_explained` is the share of all vectors' squared length that the best multiple
of the predicted directions explains: 1 for equal vectors turned as predicted, near 0 when the prediction says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from posym.measure.attention import plane_logits
from posym.model import LayerView, Parameters, answer_logits, as_planes, plane_angles
from posym.tasks.base import Array, Sequences, Task

BATCH_ITEMS = 64
Vectors = NDArray[np.complex128]
Angles = NDArray[np.float64]
Labels = NDArray[np.str_]


@dataclass(frozen=True)
class PlaneVectors:
    """Of all heads: contrast [layer, plane], query [layer, item, plane], key [layer, item, slot, plane]; slot [item]."""

    contrast: NDArray[np.float64]
    query: Vectors
    key: Vectors
    slot: Array


@torch.inference_mode()
def plane_vectors(parameters: Parameters, items: Sequences) -> PlaneVectors:
    """Queries and keys before RoPE as complex numbers, one query an item: its hops take turns, so that all are met."""
    device, shape = parameters.flat.device, parameters.shape
    number = np.arange(len(items))
    slot = items.path[number, number // 2 % items.hops]
    contrast = np.zeros((shape.layers, shape.planes))
    queries = np.empty((shape.layers, len(items), shape.planes), dtype=np.complex128)
    keys = np.empty((shape.layers, *items.tokens.shape, shape.planes), dtype=np.complex128)
    for start in range(0, len(items), BATCH_ITEMS):
        rows = slice(start, start + BATCH_ITEMS)
        here = torch.from_numpy(slot[rows]).to(device)

        def observe(view: LayerView, rows: slice = rows, here: torch.Tensor = here) -> None:
            query = view.query[torch.arange(len(here), device=here.device), here]
            parts = plane_logits(query, here, view.key).diagonal(dim1=2, dim2=3)
            unseen = torch.arange(parts.shape[-1], device=here.device) > here[:, None]
            top = parts.sum(1).masked_fill(unseen, -torch.inf).argmax(-1)
            at_top = parts.gather(2, top[:, None, None].expand(-1, parts.shape[1], 1)).squeeze(-1)
            mean = parts.masked_fill(unseen[:, None], 0).sum(-1) / (here[:, None] + 1)
            contrast[view.layer] += (at_top - mean).sum(0).double().cpu().numpy() / len(items)
            queries[view.layer, rows] = as_planes(query).cpu().numpy()
            keys[view.layer, rows] = as_planes(view.key).cpu().numpy()

        answer_logits(parameters, torch.from_numpy(items.tokens[rows]).to(device), observe=observe)
    return PlaneVectors(contrast, queries, keys, slot)


def labels(task: Task, tokens: Array) -> dict[str, Labels]:
    """What each of `tokens` [...] goes by in each role, `query` and `key`: itself, or of a pair the letter that role reads."""
    names = np.array(task.vocabulary.tokens)
    if "pairs" not in task.vocabulary.kinds:
        return {"query": names[tokens], "key": names[tokens]}
    left, right = (np.array([name[part] for name in names]) for part in (slice(1), slice(1, None)))
    return {"query": right[tokens], "key": left[tokens]}


def token_means(vectors: Vectors, label: Labels) -> dict[str, complex]:
    """Mean of `vectors` [n] for each of their labels [n]."""
    names, which = np.unique(label, return_inverse=True)
    sums = np.zeros(len(names), dtype=np.complex128)
    np.add.at(sums, which, vectors)
    return dict(zip(names.tolist(), (sums / np.bincount(which)).tolist(), strict=True))


def fit(vectors: Vectors, label: Labels, predicted: dict[str, float]) -> tuple[float, float]:
    """(angle_error, variance_explained) of `vectors` [n] against the angle that each label should have, up to one turn.

    Labels without a predicted angle are left out.
    """
    known = np.isin(label, list(predicted))
    vectors, label = vectors[known], label[known]
    turned = vectors * np.exp(-1j * np.array([predicted[name] for name in label]))
    power = float((np.abs(turned) ** 2).mean())
    if power == 0:
        return float(np.pi / np.sqrt(3)), 0.0  # nothing to compare: as good as guessing
    along = turned.mean()
    means = token_means(turned, label)
    errors = np.angle(np.array(list(means.values())) * np.conj(along))
    return float(np.sqrt((errors**2).mean())), float(np.abs(along) ** 2 / power)


def predictions(
    task: Task, theta: float, query: dict[str, complex], key: dict[str, complex]
) -> dict[str, dict[str, float]]:
    """The angle that each label should have in each role, from the plane's angle and the token means of both roles."""
    if "pairs" in task.vocabulary.kinds:
        return {
            "query": {name: float(np.angle(mean)) for name, mean in key.items()},
            "key": {name: float(np.angle(mean)) for name, mean in query.items()},
        }
    return {"query": {name: -int(name) * theta for name in query}, "key": dict.fromkeys(key, 0.0)}


def geometry_rows(task: Task, items: Sequences, found: PlaneVectors) -> list[dict[str, object]]:
    """Rows of geometry.parquet for one checkpoint."""
    number = np.arange(len(items))
    seen = np.arange(items.tokens.shape[1]) <= found.slot[:, None]
    query_label = labels(task, items.tokens[number, found.slot])["query"]
    key_label = labels(task, items.tokens[seen])["key"]
    angles = plane_angles(found.contrast.shape[1]).numpy()
    rows: list[dict[str, object]] = []
    for layer, contrast in enumerate(found.contrast):
        plane = int(contrast.argmax())
        vectors = {"query": found.query[layer, :, plane], "key": found.key[layer][seen][:, plane]}
        label = {"query": query_label, "key": key_label}
        means = {role: token_means(vectors[role], label[role]) for role in vectors}
        wanted = predictions(task, float(angles[plane]), means["query"], means["key"])
        for role, by_token in means.items():
            error, explained = fit(vectors[role], label[role], wanted[role])
            for token, mean in by_token.items():
                rows.append(
                    {
                        "layer": layer,
                        "head": 0,
                        "token": token,
                        "plane": plane + 1,
                        "plane_angle": float(angles[plane]),
                        "role": role,
                        "angle": float(np.angle(mean)),
                        "radius": abs(mean),
                        "contrast": float(contrast[plane] / contrast.sum()) if contrast.sum() else 0.0,
                        "angle_error": error,
                        "variance_explained": explained,
                        "items": int((label[role] == token).sum()),
                    }
                )
    return rows
