"""Bad configurations: one sentence that names the key and says what to write, before any job starts."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from posym import config as configuration
from posym.errors import InputError
from workflow_runs import ROOT, Checkout

SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
GOOD = yaml.safe_load((ROOT / "config.yaml").read_text())
FIGURES = GOOD["figures"]["names"]
DELETE = object()


def check(config: dict[str, Any]) -> None:
    configuration.check(config, SCHEMA, FIGURES)


def changed(path: str, value: object) -> dict[str, Any]:
    config = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    block = config
    for parent in parents:
        block = block[parent]
    if value is DELETE:
        del block[last]
    else:
        block[last] = value
    return config


BAD: list[tuple[str, object, str]] = [
    ("experiment", "my experiment", 'experiment: "my experiment" should match'),
    ("experiment", "../elsewhere", "experiment"),
    ("sedes", [1], "top level has the unknown key 'sedes': its keys are experiment"),
    ("seeds", DELETE, "top level lacks the key 'seeds'"),
    ("seeds", [], "seeds: [] should have at least 1 entries"),
    ("seeds", [0, 0], "seeds: [0, 0] names something twice"),
    ("seeds", [-1], "seeds.0: -1 should be at least 0"),
    ("seeds", 3, "seeds: 3 should be of type array"),
    ("seeds", ["0"], 'seeds.0: "0" is text: write 0'),
    ("stages", ["train"], 'stages.0: "train" should be one of datasets, training'),
    ("tasks", ["number", "words"], "tasks: 'words' is unknown: write one of letter, number"),
    ("tasks", [], "tasks: [] should have at least 1"),
    ("device", "gpu", 'device: "gpu" should be one of auto, cpu, cuda'),
    ("sequences.target_window", 0, "sequences.target_window: 0 should be at least 2"),
    ("sequences.hops", 10, "sequences.hops: 10 is too many"),
    ("sequences.hops", 2.5, "sequences.hops: 2.5 should be of type integer"),
    ("alphabets.letter", DELETE, "alphabets: lacks 'letter', which tasks names"),
    ("alphabets.number.letters", "many", 'alphabets.number.letters: "many" should be of type integer'),
    ("alphabets.letter", {"letters": 3, "integers": 8}, "alphabets.letter.letters: 3 is too few for sequences.hops: 4"),
    ("alphabets.letter", {"letters": 8}, "alphabets.letter: has keys ['letters']: write exactly letters, integers"),
    ("datasets.train", 432001, "datasets.train: 432001 should be a multiple of sequences.hops: 4"),
    ("datasets.test", 0, "datasets.test: 0 should be at least 1"),
    ("datasets.tets", 10, "datasets has the unknown key 'tets'"),
    ("long_inputs.extra", [0, 6000], "long_inputs.extra: 6000 extra tokens make 6017, more than model.positions: 5120"),
    ("long_inputs.extra", [-5], "long_inputs.extra.0: -5 should be at least 0"),
    ("long_inputs.items", 999, "long_inputs.items: 999 should be a multiple of long_inputs.prefixes: 200"),
    ("long_inputs.prefixes", 50, "long_inputs.prefixes: 50 should be a multiple of sequences.hops: 4"),
    ("long_inputs.items", 60000, "long_inputs.items: 60000 should be at most datasets.test"),
    ("model.hidden_size", 127, "model.hidden_size: 127 should be a multiple of 2"),
    ("model.layers", 0, "model.layers: 0 should be at least 1"),
    ("model.dropout", 1, "model.dropout: 1 should be below 1"),
    ("model.positions", 10, "more than model.positions: 10"),
    ("model.heads", 1, "model has the unknown key 'heads'"),
    ("training.learning_rate", "1e-4", 'training.learning_rate: "1e-4" is text: write 1.0e-4'),
    ("training.learning_rate", 0, "training.learning_rate: 0 should be above 0"),
    ("training.learning_rate", True, "training.learning_rate: true should be of type number"),
    ("training.steps", "6750", 'training.steps: "6750" is text: write 6750'),
    ("training.warmup_steps", 6750, "training.warmup_steps: 6750 should be below training.steps: 6750"),
    ("training.extra_checkpoints", [7000], "training.extra_checkpoints: 7000 is beyond training.steps: 6750"),
    ("training.checkpoint_every", 0, "training.checkpoint_every: 0 should be at least 1"),
    ("training.adam_beta1", 1.0, "training.adam_beta1: 1.0 should be below 1"),
    ("training.dtype", "float16", 'training.dtype: "float16" should be one of float32, bfloat16'),
    ("training.threads", 0, "training.threads: 0 should be at least 1"),
    ("scores.items", 1201, "scores.items: 1201 should be a multiple of sequences.hops: 4"),
    ("scores.items", 60000, "scores.items: 60000 should be at most datasets.test: 45600"),
    ("scores.taus", [1.0e-3], "figures.tau: 0.0001 should be one of scores.taus"),
    ("scores.taus", [0], "scores.taus.0: 0 should be above 0"),
    ("extrapolation.extra_steps", [75], "extrapolation.extra_steps: 75 has no checkpoint"),
    ("extrapolation.batch_tokens", None, "extrapolation.batch_tokens: null should be of type integer"),
    ("figures.names", ["acuracy"], "figures.names: 'acuracy' is unknown: write one of accuracy"),
    ("figures.gammas", [0.5], "figures.gammas.0: 0.5 should be below 0.5"),
    ("figures.dpi", 10, "figures.dpi: 10 should be at least 30"),
    ("figures", None, "figures: null should be of type object"),
]


def test_the_shipped_configuration_is_good() -> None:
    check(GOOD)


@pytest.mark.parametrize(("path", "value", "sentence"), BAD, ids=lambda value: str(value)[:40])
def test_bad_configurations(path: str, value: object, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        check(changed(path, value))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def leaves(block: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if isinstance(block, dict):
        return [path, *(leaf for key, value in block.items() for leaf in leaves(value, (*path, key)))]
    return [path]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**7) | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(path=st.sampled_from([leaf for leaf in leaves(GOOD) if leaf]), value=ANYTHING)
def test_any_edit_is_accepted_or_refused_by_name(path: tuple[str, ...], value: object) -> None:
    try:
        check(changed(".".join(path), value))
    except InputError as error:
        text = str(error)
        assert any(part in text for part in path)
        assert "\n" not in text


def test_every_key_is_described_and_required() -> None:
    def visit(schema: dict[str, Any], where: str) -> None:
        if "properties" in schema:
            assert schema["additionalProperties"] is False, where
            assert sorted(schema["required"]) == sorted(schema["properties"]), where
            for name, inner in schema["properties"].items():
                assert inner.get("description"), f"{where}.{name}"
                visit(inner, f"{where}.{name}")

    visit(yaml.safe_load(SCHEMA.read_text()), "")


@pytest.mark.parametrize(
    ("overlay", "sentence"),
    [
        ("training: {learning_rate: 1e-4}", 'configuration: training.learning_rate: "1e-4" is text: write 1.0e-4'),
        ("trianing: {steps: 5}", "configuration: top level has the unknown key 'trianing'"),
        ("seeds: [1, 1]", "configuration: seeds: [1, 1] names something twice"),
    ],
)
def test_snakemake_stops_with_the_sentence(checkout: Checkout, overlay: str, sentence: str) -> None:
    (checkout.folder / "bad.yaml").write_text(overlay + "\n")
    output = checkout.run("-n", "--configfile", "bad.yaml", config=None, check=False)
    assert sentence in output
    assert "Traceback" not in output
    assert "exit status 1" in output
