"""What heads look at: function masses, planes, geometry and discrepancy, against hand-made cases and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posym.errors import InputError
from posym.measure.attention import head_logits, hop_queries, plane_logits
from posym.measure.discrepancy import discrepancy_rows, head_gaps, log_slope, resampled_medians, with_paths
from posym.measure.flow import answer_of, chosen_example, flow_rows
from posym.measure.frequencies import frequency_rows, measure_planes, plane_summaries
from posym.measure.functions import HopMasses, function_masses, function_rows, head_function, with_powers
from posym.measure.geometry import fit, geometry_rows, labels, plane_vectors, predictions, token_means
from posym.measure.scores import head_scores, scores_of_logits, slot_content_logits
from posym.model import LayerView, Parameters, answer_logits, plane_angles, prefix_of, rotate, rotations
from posym.tasks.base import NO_SLOT, Sequences, Task
from posym.tasks.dataset import long_input_cores
from small import small_model, small_task


@pytest.fixture(params=["number", "letter"])
def one(request: pytest.FixtureRequest) -> Task:
    return small_task(request.param)


def views(parameters: Parameters, tokens: np.ndarray) -> list[LayerView]:
    found: list[LayerView] = []
    answer_logits(parameters, torch.from_numpy(tokens), observe=found.append)
    return found


def test_functions_name_the_next_slot_of_the_path(one: Task) -> None:
    items = one.sample(np.random.default_rng(0), 80)
    named = one.named_slots(items.tokens)
    assert set(named) == {"reflexive", {"number": "index", "letter": "retrieval"}[one.name]}
    own = next(names for function, names in named.items() if function != "reflexive")
    for row in range(80):
        for hop in range(items.hops[row]):
            here = items.path[row, hop]
            assert own[row, here] == items.path[row, hop + 1]
            assert named["reflexive"][row, here] == here
        assert own[row, items.answer_slot[row]] == NO_SLOT


def test_powers_go_on_along_the_path(one: Task) -> None:
    items = one.sample(np.random.default_rng(0), 80)
    named = with_powers(one.named_slots(items.tokens), 4)
    own = {"number": "index", "letter": "retrieval"}[one.name]
    assert set(named) == {"reflexive", own, *(f"{own}-{power}" for power in (2, 3, 4))}
    for row in range(80):
        for hop in range(items.hops[row] - 1):
            assert named[f"{own}-2"][row, items.path[row, hop]] == items.path[row, hop + 2]
        last = items.path[row, items.hops[row] - 1]
        assert named[f"{own}-2"][row, last] == NO_SLOT


def test_functions_where_they_are_undefined() -> None:
    letter = small_task("letter")
    tokens = np.array([letter.vocabulary.encode("a1 a2 b1 ca bb ab ac")])
    assert letter.named_slots(tokens)["retrieval"].tolist() == [[-1, -1, -1, -1, 2, -1, 3]]
    number = small_task("number")
    assert number.named_slots(np.array([number.vocabulary.encode("c 3 1 2")]))["index"].tolist() == [[-1, -1, 1, 1]]


def test_masses_against_plain_attention(one: Task) -> None:
    items = one.sample(np.random.default_rng(0), 40)
    parameters = small_model(one)
    named = one.named_slots(items.tokens)
    found = function_masses(parameters, items, named)
    for view in views(parameters, items.tokens):
        turns = rotations(torch.arange(17), 8, torch.float64)
        logits = rotate(view.query, turns) @ rotate(view.key, turns).mT / 4
        attention = logits.masked_fill(torch.ones(17, 17).triu(1).bool(), -torch.inf).softmax(-1).numpy()
        for hop, at in found.items():
            for place, row in enumerate(at.rows):
                here, there = items.path[row, hop - 1 : hop + 1]
                for function, slot in (("reflexive", here), (next(iter(set(named) - {"reflexive"})), there)):
                    assert at.masses[function][place, view.layer] == pytest.approx(attention[row, here, slot])
                assert at.uniform[place] == 1 / (here + 1)


def test_function_rows_by_hand() -> None:
    masses = {"index": np.array([[0.9, 0.1], [0.7, 0.3], [np.nan, np.nan]]), "reflexive": np.array([[0.1, 0.4]] * 3)}
    found = {1: HopMasses(np.arange(3), masses, np.full(3, 1 / 17))}
    rows = function_rows(5, found, np.array([1, 2, 2]), threshold=0.5, samples=20, seed=0)
    by_place = {(row["layer"], row["function"], row["hops"]): row for row in rows}
    assert by_place[0, "index", 0]["mass"] == pytest.approx(0.8)
    assert by_place[0, "index", 0]["items"] == 2
    assert by_place[0, "index", 2]["mass"] == pytest.approx(0.7)
    assert {row["head_function"] for row in rows if row["layer"] == 0} == {"index"}
    assert {row["head_function"] for row in rows if row["layer"] == 1} == {"none"}
    assert head_function({}, 0.5) == "none"
    assert head_function({"index": 0.5, "reflexive": 0.2}, 0.5) == "index"


def test_plane_parts_add_up_to_the_logit(one: Task) -> None:
    items = one.sample(np.random.default_rng(0), 20)
    rows, slots = hop_queries(items, 2)
    for view in views(small_model(one), items.tokens):
        query, key = view.query[torch.from_numpy(rows), torch.from_numpy(slots)], view.key[torch.from_numpy(rows)]
        whole = slot_content_logits(query, torch.from_numpy(slots), key)
        parts = plane_logits(query, torch.from_numpy(slots), key)
        held = head_logits(view, rows, slots)
        seen = torch.arange(17) <= torch.from_numpy(slots)[:, None]  # what stands behind the query means nothing
        torch.testing.assert_close(parts.sum(1)[seen], whole[seen])
        torch.testing.assert_close(whole.diagonal(dim1=1, dim2=2)[seen], held[seen])
        summaries = plane_summaries(parts, torch.from_numpy(slots), 1e-4)
        torch.testing.assert_close(summaries[..., 1].sum(1), held.amax(-1))
        mean = held.masked_fill(~seen, 0).sum(-1) / seen.sum(-1)
        torch.testing.assert_close(summaries[..., 2].sum(1), held.amax(-1) - mean)


def test_plane_scores_are_those_of_a_head_with_that_plane_alone(one: Task) -> None:
    items = one.sample(np.random.default_rng(0), 12)
    tau = 1e-2
    found = measure_planes(small_model(one), items, tau)
    for view in views(small_model(one), items.tokens):
        rows, slots = (torch.from_numpy(part) for part in hop_queries(items, 1))
        for plane in range(8):
            alone = torch.zeros_like(view.query)
            alone[..., 2 * plane : 2 * plane + 2] = view.query[..., 2 * plane : 2 * plane + 2]
            wanted = head_scores(alone[rows, slots], slots, view.key[rows], [tau])
            np.testing.assert_allclose(found[view.layer, 1][:, plane, 3], wanted.positional[:, 0])
            np.testing.assert_allclose(found[view.layer, 1][:, plane, 4], wanted.symbolic[:, 0])


def test_scores_of_a_head_are_those_of_its_logits() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, slot = (
        torch.randn(3, 8, generator=generator),
        torch.randn(3, 6, 8, generator=generator),
        torch.tensor([5, 4, 3]),
    )
    one, other = (
        head_scores(query, slot, key, [0.1]),
        scores_of_logits(slot_content_logits(query, slot, key), slot, [0.1]),
    )
    assert torch.equal(one.positional, other.positional)
    assert torch.equal(one.symbolic, other.symbolic)


def test_mean_plane_by_hand() -> None:
    values = np.zeros((2, 4, 5))
    values[:, 1, 0], values[:, 3, 0], values[:, 0, 0] = 1.0, 3.0, -5.0
    values[:, 2, 2], values[:, 3, 2] = 1.0, 3.0
    rows = frequency_rows({(0, 1): values}, 1e-4)
    assert [row["plane"] for row in rows] == [1, 2, 3, 4]
    assert rows[0]["mean_plane"] == pytest.approx((2 * 1 + 4 * 3) / 4)
    assert rows[0]["flat_mean_plane"] == 2.5
    assert [row["share"] for row in rows] == [0, 0, 0.25, 0.75]
    assert [row["angle"] for row in rows] == plane_angles(4).tolist()
    flat = frequency_rows({(0, 1): np.ones((2, 4, 5))}, 1e-4)
    assert flat[0]["mean_plane"] == 2.5


@pytest.mark.parametrize("batch_tokens", [1, 10**6])
def test_gaps_with_a_shared_prefix_are_those_of_the_whole_input(one: Task, batch_tokens: int) -> None:
    test = one.sample(np.random.default_rng(0), 800)
    inputs = long_input_cores(one, test, items=16, prefixes=8, seed=0)
    tokens = one.extend(np.random.default_rng(0), inputs.cores, 9, inputs.prefix)
    parameters = small_model(one)
    bare = Sequences(
        inputs.cores.tokens, inputs.cores.answer, inputs.cores.hops, inputs.cores.answer_slot, np.full((16, 1), NO_SLOT)
    )
    cores = with_paths(one, bare)
    hops = cores.hops.max()
    assert (cores.path == inputs.cores.path[:, : hops + 1]).all()
    gaps = head_gaps(parameters, cores, tokens, inputs.prefix, batch_tokens)
    for view in views(parameters, tokens):
        for hop in range(1, hops + 1):
            rows, slots = hop_queries(cores, hop)
            logits = head_logits(view, rows, slots + 9).numpy()
            best = np.sort(logits, axis=1)
            np.testing.assert_allclose(gaps[hop][:, view.layer, 0], best[:, -1] - best[:, -2], atol=1e-9)
            own = logits[np.arange(len(rows)), cores.path[rows, hop] + 9]
            logits[np.arange(len(rows)), cores.path[rows, hop] + 9] = -np.inf
            np.testing.assert_allclose(gaps[hop][:, view.layer, 1], own - logits.max(1), atol=1e-9)


def test_head_logits_after_a_prefix() -> None:
    task = small_task("number")
    tokens = task.sample(np.random.default_rng(0), 6 * 4).tokens[:6]
    tokens[:, :4] = tokens[[0, 0, 0, 3, 3, 3], :4]
    parameters = small_model(task)
    shared = prefix_of(parameters, torch.from_numpy(tokens[::3, :4]))
    after: list[LayerView] = []
    answer_logits(parameters, torch.from_numpy(tokens[:, 4:]), shared, observe=after.append)
    rows, slots = np.array([5, 1]), np.array([9, 3])
    for whole, part in zip(views(parameters, tokens), after, strict=True):
        torch.testing.assert_close(head_logits(part, rows, slots, shared), head_logits(whole, rows, slots + 4))


def test_slope_of_a_power_law() -> None:
    lengths = [10, 20, 40, 80]
    prefix = np.repeat(np.arange(4), 5)
    cores = Sequences(
        np.zeros((20, 3), int), np.zeros(20, int), np.ones(20, int), np.zeros(20, int), np.zeros((20, 2), int)
    )
    noise = np.random.default_rng(0).uniform(0.9, 1.1, (20, 1, 1))
    gaps = [{1: noise * np.array([[[3.0 * length**-2.0, -1.0], [0.5, 1.0]]])} for length in lengths]
    rows = discrepancy_rows(lengths, gaps, cores, prefix, samples=50, seed=0)
    slopes = {row["layer"]: (row["slope_low"], row["slope"], row["slope_high"]) for row in rows}
    assert slopes[0] == pytest.approx((-2, -2, -2))
    assert slopes[1] == pytest.approx((0, 0, 0), abs=1e-9)
    assert [row["right"] for row in rows] == [0] * 4 + [1] * 4
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows)
    assert log_slope(np.array([1, 2]), np.array([1.0, 8.0])) == pytest.approx(3)
    same = resampled_medians(np.ones((20, 1)), prefix, 7, 0)
    assert same.shape == (7, 1)


def test_fit_of_constructed_angles() -> None:
    """Queries at -s theta and one key angle, as T_Index has them, fit without error; random ones do not."""
    theta, turn = 0.7, 1.3
    offsets = np.repeat(np.arange(1, 17), 10)
    predicted = {str(s): -s * theta for s in range(1, 17)}
    error, explained = fit(2.0 * np.exp(1j * (turn - offsets * theta)), offsets.astype(str), predicted)
    assert error == pytest.approx(0, abs=1e-9)
    assert explained == pytest.approx(1)
    random = np.random.default_rng(0)
    error, explained = fit(np.exp(1j * random.uniform(-np.pi, np.pi, 160)), offsets.astype(str), predicted)
    assert error > 1
    assert explained < 0.2
    task = small_task("letter")
    query = {"a": 1j, "b": -1.0 + 0j}
    wanted = predictions(task, theta, query, {"a": 2.0 + 0j, "b": 1j})
    assert wanted["query"] == pytest.approx({"a": 0.0, "b": np.pi / 2})
    assert wanted["key"]["a"] == pytest.approx(np.pi / 2)
    assert token_means(np.array([1, 3, 1j]), np.array(["a", "a", "b"])) == {"a": 2, "b": 1j}


def test_geometry_rows(one: Task) -> None:
    items = one.sample(np.random.default_rng(0), 80)
    parameters = small_model(one)
    found = plane_vectors(parameters, items)
    assert all(found.slot[row] in items.path[row, : items.hops[row]] for row in range(80))
    view = views(parameters, items.tokens)[1]
    np.testing.assert_allclose(found.query[1, 3, 0], complex(*view.query[3, found.slot[3], :2]))
    rows = geometry_rows(one, items, found)
    assert {row["role"] for row in rows} == {"query", "key"}
    assert {row["layer"] for row in rows} == {0, 1, 2}
    for role in ("query", "key"):
        part = [row for row in rows if row["layer"] == 1 and row["role"] == role]
        assert sum(row["items"] for row in part) == (80 if role == "query" else int((found.slot + 1).sum()))
        assert 0 <= part[0]["variance_explained"] <= 1
    names = labels(one, items.tokens[:1])
    if one.name == "letter":
        text = one.vocabulary.decode(items.tokens[0]).split()
        assert names["key"][0].tolist() == [pair[0] for pair in text]
        assert names["query"][0].tolist() == [pair[1:] for pair in text]


def test_flow_of_one_example(one: Task) -> None:
    test = one.sample(np.random.default_rng(0), 80)
    example = chosen_example(test, 2)
    assert example.hops.tolist() == [4]
    assert example.tokens[0].tolist() == test.tokens[np.flatnonzero(test.hops == 4)[2]].tolist()
    with pytest.raises(InputError, match="should be below 20"):
        chosen_example(test, 20)
    parameters = small_model(one)
    rows = flow_rows(one, parameters, 7, example)
    assert len(rows) == 2 * 17 * 18 // 2 + 17
    view = views(parameters, example.tokens)[1]
    path = example.path[0]
    weights = head_logits(view, np.array([0]), path[1:2]).softmax(-1)[0]
    mine = [row for row in rows if row["layer"] == 1 and row["hop"] == 2]
    assert [row["weight"] for row in mine] == pytest.approx(weights[: path[1] + 1].tolist())
    assert {row["slot_hop"]: row["slot"] for row in rows if row["slot_hop"]} == dict(enumerate(path.tolist(), start=1))
    assert rows[0]["correct"] == (answer_of(parameters, example) == example.answer[0])
