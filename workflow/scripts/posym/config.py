"""The configuration: checked against its schema, then against itself, with one sentence for each mistake."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from posym.errors import InputError
from posym.llm import configuration as llm
from posym.tasks import make_task, task_names

Config = dict[str, Any]
Loader = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)  # every job reads the schema: ten times as fast where there is libyaml
# The blocks of the configuration that a rule's numbers depend on, its own one naming its threads; `a.b` is block b of a.
BLOCKS: dict[str, tuple[str, ...]] = {
    "datasets": ("sequences", "datasets"),
    "long_inputs": ("sequences", "long_inputs"),
    "training": ("device", "model", "training"),
    "scores": ("device", "scores"),
    "extrapolation": ("device", "extrapolation"),
    "functions": ("sequences", "device", "mechanism.functions"),
    "frequencies": ("device", "mechanism.frequencies"),
    "ablation": ("device", "mechanism.ablation"),
    "patching": ("sequences", "device", "mechanism.patching"),
    "restriction": ("device", "mechanism.restriction"),
    "geometry": ("sequences", "device", "mechanism.geometry"),
    "flow": ("sequences", "device", "mechanism.flow"),
    "discrepancy": ("sequences", "device", "mechanism.discrepancy"),
    "figures": ("figures",),
    "theory": ("sequences", "alphabets", "theory"),
    "theory_figures": ("theory_figures",),
    "scorecard": ("scorecard",),
}
MODEL_STAGES = {"training", "scores", "extrapolation", "mechanism", "figures"}  # those that bring trained models
# What the report leaves out of the configuration where none of these stages is asked for.
SHOWN_FOR: tuple[tuple[set[str], set[str]], ...] = (
    (MODEL_STAGES, {"seeds", "model", "training", "scores", "extrapolation", "mechanism", "figures"}),
    (MODEL_STAGES | {"datasets"}, {"datasets", "long_inputs"}),
    ({"theory"}, {"theory", "theory_figures"}),
    ({"llm"}, {"llm"}),
    ({"scorecard"}, {"scorecard"}),
)
JUDGED_STAGES = ("scores", "extrapolation", "mechanism", "theory", "llm")


# JSON Schema takes 40.0 for an integer; Python's range does not, and a seed 1.0 would be another folder than a seed 1.
Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def check_files(paths: Iterable[Path | str]) -> None:
    """Raise `InputError` where a configuration file has a key twice in one block: YAML silently keeps the last."""
    for path in map(Path, paths):
        try:
            root = yaml.compose(path.read_text(encoding="utf-8"), Loader)
        except (OSError, ValueError, yaml.YAMLError):
            continue  # Snakemake reads the same files, and says what is wrong with them
        blocks = [root]
        while blocks:
            block = blocks.pop()
            if isinstance(block, yaml.SequenceNode):
                blocks += block.value
            elif isinstance(block, yaml.MappingNode):
                lines: dict[str, int] = {}
                for key, value in block.value:
                    name, line = str(key.value), key.start_mark.line + 1
                    if name in lines:
                        raise InputError(
                            f"configuration: {path} has the key {name!r} in line {lines[name]} and again in line {line}: leave one"
                        )
                    lines[name] = line
                    blocks.append(value)


def check(config: Config, schema_file: Path, figure_names: list[str]) -> None:
    """Raise `InputError` for the first mistake in a configuration: the key, its value, and what to write instead."""
    for key, value in _numbers(config):
        if not math.isfinite(value):
            raise InputError(f"configuration: {key}: {value} is no finite number: write one")
    schema = yaml.load(schema_file.read_text(encoding="utf-8"), Loader)
    errors = sorted(Validator(schema).iter_errors(config), key=lambda error: (len(error.path), str(error.path)))
    if errors:
        raise InputError(f"configuration: {_sentence(errors[0])}")
    for problem in _contradictions(config, figure_names):
        raise InputError(f"configuration: {problem}")


def _numbers(block: Any, key: str = "") -> Iterator[tuple[str, float]]:
    inner = block.items() if isinstance(block, dict) else enumerate(block) if isinstance(block, list) else ()
    for name, value in inner:
        yield from _numbers(value, f"{key}.{name}" if key else str(name))
    if isinstance(block, float):
        yield key, block


def _sentence(error: ValidationError) -> str:
    key = ".".join(str(part) for part in error.absolute_path) or "top level"
    value = json.dumps(error.instance, default=str)
    help_text = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
    hint = f" ({help_text})" if help_text else ""
    if error.validator == "additionalProperties":
        known = ", ".join(error.schema["properties"])
        unknown = sorted(set(error.instance) - set(error.schema["properties"]), key=str)
        return f"{key} has the unknown key {unknown[0]!r}: its keys are {known}"
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return f"{key} lacks the key {missing[0]!r}: write it out, nothing has a default"
    if error.validator == "type" and isinstance(error.instance, str) and _is_number(error.instance):
        return (
            f"{key}: {value} is text: write {_with_point(error.instance)} in a configuration file, without quotes"
            " (YAML takes 1e-4 for text, and Snakemake's --config everything inside brackets)"
        )
    rules: dict[str, Callable[[Any], str]] = {
        "type": lambda wanted: f"should be of type {wanted}",
        "enum": lambda wanted: f"should be one of {', '.join(str(one) for one in wanted)}",
        "minimum": lambda least: f"should be at least {least}",
        "maximum": lambda most: f"should be at most {most}",
        "exclusiveMinimum": lambda least: f"should be above {least}",
        "exclusiveMaximum": lambda most: f"should be below {most}",
        "multipleOf": lambda factor: f"should be a multiple of {factor}",
        "uniqueItems": lambda _: "names something twice: leave one",
        "minItems": lambda least: f"should have at least {least} entries",
        "minProperties": lambda least: f"should have at least {least} keys",
        "pattern": lambda pattern: f"should match {pattern}",
    }
    return f"{key}: {value} {rules[error.validator](error.validator_value)}{hint}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _with_point(text: str) -> str:
    mantissa, exponent, power = text.lower().partition("e")
    return f"{mantissa}{'' if '.' in mantissa or not exponent else '.0'}{exponent}{power}"


def _contradictions(config: Config, figure_names: list[str]) -> Iterator[str]:
    sequences, datasets, long_inputs = config["sequences"], config["datasets"], config["long_inputs"]
    training, scores, hops = config["training"], config["scores"], config["sequences"]["hops"]
    slots = sequences["target_window"] + sequences["pre_target_window"] + 1
    if hops > sequences["pre_target_window"] + 1:
        yield f"sequences.hops: {hops} is too many: sequences.pre_target_window + 1 is {sequences['pre_target_window'] + 1}"
    for task in config["tasks"]:
        if task in task_names() and task not in config["alphabets"]:
            yield f"alphabets: lacks {task!r}, which tasks names: add its settings"
        else:
            try:
                make_task(task, sequences, config["alphabets"].get(task, {}))
            except InputError as error:
                yield str(error)
    for task in config["alphabets"]:
        if task not in task_names():
            yield f"alphabets: {task!r} is no task: write one of {', '.join(task_names())}"
    for figure in config["figures"]["names"]:
        if figure not in figure_names:
            yield f"figures.names: {figure!r} is unknown: write one of {', '.join(figure_names)}"
    for split in ("train", "validation", "test"):
        if datasets[split] % hops:
            yield f"datasets.{split}: {datasets[split]} should be a multiple of sequences.hops: {hops}"
    if scores["items"] % hops:
        yield f"scores.items: {scores['items']} should be a multiple of sequences.hops: {hops}"
    if scores["items"] > datasets["test"]:
        yield f"scores.items: {scores['items']} should be at most datasets.test: {datasets['test']}"
    if long_inputs["prefixes"] % hops:
        yield f"long_inputs.prefixes: {long_inputs['prefixes']} should be a multiple of sequences.hops: {hops}"
    if long_inputs["items"] % long_inputs["prefixes"]:
        yield f"long_inputs.items: {long_inputs['items']} should be a multiple of long_inputs.prefixes: {long_inputs['prefixes']}"
    if long_inputs["items"] > datasets["test"]:
        yield f"long_inputs.items: {long_inputs['items']} should be at most datasets.test: {datasets['test']}"
    if max(long_inputs["extra"]) + slots > config["model"]["positions"]:
        yield (
            f"long_inputs.extra: {max(long_inputs['extra'])} extra tokens make {max(long_inputs['extra']) + slots},"
            f" more than model.positions: {config['model']['positions']}"
        )
    if training["warmup_steps"] >= training["steps"]:
        yield f"training.warmup_steps: {training['warmup_steps']} should be below training.steps: {training['steps']}"
    for step in training["extra_checkpoints"]:
        if step > training["steps"]:
            yield f"training.extra_checkpoints: {step} is beyond training.steps: {training['steps']}"
    on_schedule = {
        *range(0, training["steps"] + 1, training["checkpoint_every"]),
        *training["extra_checkpoints"],
        training["steps"],
    }
    for step in config["extrapolation"]["extra_steps"]:
        if step not in on_schedule:
            yield f"extrapolation.extra_steps: {step} has no checkpoint: add it to training.extra_checkpoints"
    mechanism = config["mechanism"]
    for name in ("functions", "frequencies", "ablation", "geometry"):
        if mechanism[name]["items"] % hops:
            yield f"mechanism.{name}.items: {mechanism[name]['items']} should be a multiple of sequences.hops: {hops}"
        if mechanism[name]["items"] > datasets["test"]:
            yield f"mechanism.{name}.items: {mechanism[name]['items']} should be at most datasets.test: {datasets['test']}"
    for name in ("restriction", "discrepancy"):
        for extra in mechanism[name]["extra"]:
            if extra not in long_inputs["extra"]:
                yield f"mechanism.{name}.extra: {extra} is not in long_inputs.extra: add it there"
    for kind in mechanism["ablation"]["pairs"]:
        if kind not in mechanism["ablation"]["interventions"]:
            yield f"mechanism.ablation.pairs: {kind} is not in mechanism.ablation.interventions: add it there"
    if config["figures"]["tau"] not in scores["taus"]:
        yield f"figures.tau: {config['figures']['tau']} should be one of scores.taus: {scores['taus']}"
    if "scorecard" in config["stages"] and not set(JUDGED_STAGES) & set(config["stages"]):
        yield f"stages: scorecard judges what other stages measure: add one of {', '.join(JUDGED_STAGES)}"
    yield from llm.contradictions(config)
    if "theory" in config["stages"]:
        yield from _theory_contradictions(config)


def _theory_contradictions(config: Config) -> Iterator[str]:
    construction, discrepancy = config["theory"]["construction"], config["theory"]["discrepancy"]
    drawn, hops = config["theory_figures"], config["sequences"]["hops"]
    for task in ("number", "letter"):
        if task not in config["alphabets"]:
            yield f"alphabets: lacks {task!r}, which the theory stage needs: add its settings"
    if construction["items"] % hops:
        yield f"theory.construction.items: {construction['items']} should be a multiple of sequences.hops: {hops}"
    for letters in construction["alphabets"]:
        if letters <= hops:
            yield f"theory.construction.alphabets: {letters} should be above sequences.hops: {hops}"
    for key, among in (
        ("index_theta", "index_thetas"),
        ("retrieval_theta", "retrieval_thetas"),
        ("alphabet", "alphabets"),
    ):
        if drawn[key] not in discrepancy[among]:
            yield f"theory_figures.{key}: {drawn[key]} should be one of theory.discrepancy.{among}: {discrepancy[among]}"


def _block(config: Config, name: str) -> Any:
    value: Any = config
    for key in name.split("."):
        value = value[key]
    return value


def report_settings(config: Config) -> str:
    """Canonical JSON of the configuration as the report shows it: what the configured stages read, without the places on
    this machine or network that language models come from.
    """
    hidden = {key for stages, keys in SHOWN_FOR if not stages & set(config["stages"]) for key in keys}
    shown = {key: value for key, value in config.items() if key not in hidden}
    if "llm" in shown:
        models = [
            {key: value for key, value in model.items() if key != "base_url" and not _is_place(key, value)}
            for model in config["llm"]["models"]
        ]
        shown["llm"] = {**config["llm"], "models": models}
    return json.dumps({"config": shown}, sort_keys=True)


def _is_place(key: str, value: Any) -> bool:
    return key == "source" and value.startswith(("/", "~", "."))


def settings(config: Config, rule: str, task: str | None = None) -> str:
    """Canonical JSON of what a rule's numbers depend on: Snakemake reruns the rule exactly when this text changes."""
    chosen = {block.split(".")[-1]: _block(config, block) for block in BLOCKS[rule]}
    if task is not None:
        chosen["alphabet"] = config["alphabets"][task]
    threads = chosen.get(rule, {}).get("threads")
    if threads is not None:
        chosen["threads"] = threads
    return json.dumps(chosen, sort_keys=True)
