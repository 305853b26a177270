"""Bad configurations: one sentence that names the key and says what to write, before any job starts."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posym import config as configuration
from posym.errors import InputError
from workflow_runs import ROOT, Checkout

SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
GOOD = yaml.safe_load((ROOT / "config.yaml").read_text())
FIGURES = GOOD["figures"]["names"]
DELETE = "(deleted)"  # text, so that every worker names the tests alike
LLM: dict[str, Any] = {
    "name": "openai/x",
    "source": "",
    "dtype": "float32",
    "methods": ["reply"],
    "options": {},
    "connections": 1,
}
LLM |= {"key": "X_API_KEY", "base_url": "", "price_in": 0, "price_out": 0, "budget": 0}


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
    ("stages", ["llm"], "llm.models: [] names no model, and stages asks for llm"),
    ("llm.lengths", [2, 12], "llm.lengths: 2 should be at least llm.slot_bands: 4"),
    ("llm.heads.blocks", 7, "llm.heads.length: 24 should be a multiple of llm.heads.blocks: 7"),
    ("llm.models", [LLM | {"key": ""}], "llm.models.0.key: 'openai/x' is behind an API: name the environment variable"),
    ("llm.models", [LLM | {"name": "x"}], "llm.models.0.name: 'x' should be provider/name"),
    ("llm.models", [LLM | {"name": "a b"}], 'llm.models.0.name: "a b" should match'),
    (
        "llm.models",
        [LLM, LLM | {"budget": 1}],
        "llm.models.1.name: 'openai/x' and 'openai/x' would write the same files",
    ),
    (
        "llm.models",
        [LLM | {"methods": ["next-token"]}],
        "llm.models.0.methods: next-token needs the model's own logits",
    ),
    ("llm.models", [LLM | {"source": "folder"}], "llm.models.0: 'openai/x' has a source, so it runs here"),
    ("training.learning_rate", float("nan"), "training.learning_rate: nan is no finite number"),
    ("figures.tau", float("inf"), "figures.tau: inf is no finite number"),
    ("scores.taus", [1.0e-4, float("nan")], "scores.taus.1: nan is no finite number"),
    ("training.steps", 6750.0, "training.steps: 6750.0 should be of type integer"),
    ("seeds", [1.0], "seeds.0: 1.0 should be of type integer"),
    ("seeds", [True], "seeds.0: true should be of type integer"),
    ("seeds", [2**31], "seeds.0: 2147483648 should be at most 2147483647"),
    ("alphabets.nubmer", {"letters": 10}, "alphabets: 'nubmer' is no task: write one of letter, number"),
    ("alphabets.number", {"leters": 10}, "alphabets.number: has keys ['leters']: write exactly letters"),
    ("long_inputs.extra", [], "long_inputs.extra: [] should have at least 1 entries"),
    ("long_inputs.extra", [0, 10], "mechanism.restriction.extra: 50 is not in long_inputs.extra: add it there"),
    ("mechanism.discrepancy.extra", [0, 7], "mechanism.discrepancy.extra: 7 is not in long_inputs.extra: add it"),
    ("mechanism.ablation.pairs", ["zero", "half"], 'mechanism.ablation.pairs.1: "half" should be one of zero, mean'),
    ("mechanism.ablation.interventions", ["zero"], "mechanism.ablation.pairs: mean is not in mechanism.ablation.inter"),
    ("mechanism.geometry.items", 1201, "mechanism.geometry.items: 1201 should be a multiple of sequences.hops: 4"),
    ("mechanism.functions.threshold", 0.4, "mechanism.functions.threshold: 0.4 should be at least 0.5"),
    ("theory_figures.index_theta", 0.7, "theory_figures.index_theta: 0.7 should be one of theory.discrepancy.index"),
    ("theory.construction.alphabets", [4], "theory.construction.alphabets: 4 should be above sequences.hops: 4"),
    ("figures.paper_reference", "false", 'figures.paper_reference: "false" should be of type boolean'),
    ("experiment", "", 'experiment: "" should match'),
    ("experiment", ".hidden", 'experiment: ".hidden" should match'),
    ("stages", [], "stages: [] should have at least 1 entries"),
    ("llm.models", [LLM | {"prize_in": 1}], "llm.models.0 has the unknown key 'prize_in'"),
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


KEYS = [".".join(leaf) for leaf in leaves(GOOD) if leaf]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**7) | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def near(draw: st.DrawFn, value: object) -> object:
    """A value of the same kind: what a person might write there by intention."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw(st.sampled_from([value + 1, value - 1, value * 2, value // 2, 2 * value // 3, 4 * value, -value]))
    if isinstance(value, float):
        return value * draw(st.sampled_from([0.1, 0.5, 2, 10, 1000]))
    if isinstance(value, list) and value:
        inner = st.sampled_from(value).flatmap(near)
        return draw(st.lists(st.sampled_from(value) | inner, min_size=1, max_size=len(value) + 1))
    if isinstance(value, str):
        return draw(st.sampled_from([value + "x", value.upper(), value[1:], f" {value}"]))
    return value


def at(config: dict[str, Any], path: str) -> Any:
    value: Any = config
    for part in path.split("."):
        value = value[part]
    return value


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, object]:
    """A key of the configuration and what to write there, of the right kind more often than not; or to leave it out."""
    path = draw(st.sampled_from(KEYS))
    return path, draw(st.just(DELETE) | near(at(GOOD, path)) | near(at(GOOD, path)) | ANYTHING)


@settings(max_examples=250, deadline=None)
@given(edit=edits())
def test_any_edit_is_accepted_or_refused_by_name(edit: tuple[str, object]) -> None:
    """The sentence has the edited key in full, or that of the block that now lacks it."""
    path, value = edit
    try:
        check(changed(path, value))
    except InputError as error:
        text = str(error)
        block, _, key = path.rpartition(".")
        named = f"{block or 'top level'} lacks the key {key!r}" if value is DELETE else path
        assert named in text or (value is DELETE and path.startswith("alphabets.") and "alphabets" in text)
        assert "\n" not in text


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(several=st.lists(edits(), min_size=30, max_size=30))
def test_what_is_accepted_can_be_planned(checkout_once: Checkout, several: list[tuple[str, object]]) -> None:
    """Edits on top of each other, each refused one left out: Snakemake plans the jobs of what is left."""
    config = copy.deepcopy(GOOD)
    for path, value in several:
        if value is DELETE:
            continue  # an overlay cannot take a key away
        tried = copy.deepcopy(config)
        *parents, last = path.split(".")
        block = tried
        for parent in parents:
            block = block[parent]
        block[last] = value
        try:
            check(tried)
        except InputError:
            continue
        config = tried
    (checkout_once.folder / "edited.yaml").write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    jobs = checkout_once.jobs("--cores", "4", "--configfile", "edited.yaml", config=None)
    assert jobs.get("training", 0) <= len(config["seeds"]) * len(config["tasks"])
    assert jobs


def test_every_key_is_described_and_required() -> None:
    def visit(schema: dict[str, Any], where: str) -> None:
        if "properties" in schema:
            assert schema["additionalProperties"] is False, where
            assert sorted(schema["required"]) == sorted(schema["properties"]), where
            for name, inner in schema["properties"].items():
                assert inner.get("description"), f"{where}.{name}"
                visit(inner, f"{where}.{name}")

    visit(yaml.safe_load(SCHEMA.read_text()), "")
