"""The `llm` block of the configuration: what each rule of the stage depends on, and mistakes a schema cannot see.

Standard library only: the Snakefile reads this in every job.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

Config = dict[str, Any]
PROMPT_KEYS = ("lengths", "runs", "items", "slot_bands")
REQUEST_KEYS = ("max_tokens", "attempt_seconds", "retries", "failures")


def slug(name: str) -> str:
    """A model's name as it stands in file names: every character outside [A-Za-z0-9.-] becomes `_`."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", name)


def is_local(model: Config) -> bool:
    """Whether a model of the list runs here; others are behind an API."""
    return bool(model["source"])


def slugs(config: Config, local: bool = False) -> list[str]:
    """File names of the configured models, of the local ones only where `local`."""
    return [slug(model["name"]) for model in config["llm"]["models"] if is_local(model) or not local]


def pattern(config: Config) -> str:
    """A regular expression for the models' file names; it matches nothing where there are none."""
    return "|".join(map(re.escape, slugs(config))) or "(?!)"


def drawings(config: Config) -> list[str]:
    """Names of the stage's figures: the games of all models, and the heads of each local one."""
    return ["llm_games", *(f"llm_heads.{model}" for model in slugs(config, local=True))]


def find_model(config: Config, wanted: str) -> Config:
    """The model of the list with this file name."""
    return next(model for model in config["llm"]["models"] if slug(model["name"]) == wanted)


def keys(config: Config) -> list[str]:
    """Environment variables that hold the configured models' API keys; none where the stage is not asked for."""
    models = config["llm"]["models"] if "llm" in config["stages"] else []
    return sorted({model["key"] for model in models if model["key"]})


def settings(config: Config, rule: str, model: str | None = None) -> str:
    """Canonical JSON of what a rule of the stage depends on, for the model with this file name where it has one."""
    block = config["llm"]
    chosen: Config = {}
    if rule == "onehop":
        chosen["prompts"] = {key: block[key] for key in PROMPT_KEYS}
    elif rule == "llm_figures":
        chosen = {"dpi": config["figures"]["dpi"]}
    else:
        assert model is not None
        entry = find_model(config, model)
        chosen = {"device": config["device"], "threads": block["threads"]}
        if rule == "llm_games":
            chosen |= {"model": entry, "requests": {key: block[key] for key in REQUEST_KEYS}}
        else:
            chosen["model"] = {key: entry[key] for key in ("name", "source", "dtype")}
        if rule == "llm_model":
            del chosen["device"]
        if rule == "llm_heads":
            chosen["heads"] = block["heads"]
    return json.dumps(chosen, sort_keys=True)


def contradictions(config: Config) -> Iterator[str]:
    """Mistakes in the `llm` block, one sentence each."""
    block = config["llm"]
    if "llm" in config["stages"] and not block["models"]:
        yield "llm.models: [] names no model, and stages asks for llm: see workflow/config/llm-local.yaml"
    if min(block["lengths"]) < block["slot_bands"]:
        yield f"llm.lengths: {min(block['lengths'])} should be at least llm.slot_bands: {block['slot_bands']}"
    heads = block["heads"]
    if heads["length"] % heads["blocks"]:
        yield f"llm.heads.length: {heads['length']} should be a multiple of llm.heads.blocks: {heads['blocks']}"
    seen: dict[str, str] = {}
    for number, model in enumerate(block["models"]):
        where, name = f"llm.models.{number}", model["name"]
        if slug(name) in seen:
            yield f"{where}.name: {name!r} and {seen[slug(name)]!r} would write the same files: rename one"
        seen[slug(name)] = name
        if is_local(model):
            if model["key"] or model["base_url"]:
                yield f"{where}: {name!r} has a source, so it runs here: leave key and base_url empty"
        else:
            if "/" not in name:
                yield f"{where}.name: {name!r} should be provider/name, such as openai/..; a local model needs a source"
            if "next-token" in model["methods"]:
                yield f"{where}.methods: next-token needs the model's own logits: leave it to models with a source"
            if not model["key"]:
                yield f"{where}.key: {name!r} is behind an API: name the environment variable that holds its key"
