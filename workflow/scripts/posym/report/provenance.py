"""How an experiment was run: its configuration in words, its models, its data, the versions behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posym.errors import InputError
from posym.files import read_json
from posym.job import duration
from posym.report.numbers import Table, number


def setting_rows(config: Mapping[str, Any], schema: Mapping[str, Any]) -> list[list[str]]:
    """Every key of the configuration with its value and what the schema says of it."""
    return [[key, value, text] for key, value, text in _walk(config, schema, "")]


def _walk(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            known = schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {}
            about = {"description": schema.get("description", ""), **known} if isinstance(known, dict) else {}
            yield from _walk(inner, about, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, inner in enumerate(value):
            yield from _walk(inner, schema.get("items", {}), f"{path}.{place}")
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield path, text, schema.get("description", "")


def facts(config: Mapping[str, Any], models: list[Any]) -> list[tuple[str, str]]:
    """What a reader wants to know of an experiment before anything else, as pairs of name and value."""
    found = [("Tasks", ", ".join(config["tasks"]))]
    if models:
        training, sequences = config["training"], config["sequences"]
        slots = sequences["target_window"] + sequences["pre_target_window"] + 1
        found += [
            ("Seeds", ", ".join(map(str, config["seeds"]))),
            (
                "Model",
                f"GPT-J, {number(config['model']['layers'])} layers of one head, width {config['model']['hidden_size']}",
            ),
            ("Training", f"{number(training['steps'])} steps of {training['batch_size']} inputs of {slots} tokens"),
            ("Trained on", ", ".join(sorted({model["device"] for model in models}))),
        ]
    return found


def model_table(manifests: list[Any]) -> Table:
    """One row a trained model."""
    table = Table(
        "Trained models", ["task and seed", "device", "arithmetic", "threads", "training took", "checkpoints"]
    )
    for manifest in manifests:
        table.rows.append(
            [
                f"{manifest['task']}, seed {manifest['seed']}",
                str(manifest["device"]),
                str(manifest["dtype"]),
                number(manifest["threads"]),
                duration(manifest["wall_seconds"]),
                number(len(manifest["checkpoints"])),
            ]
        )
    return table


def fingerprint_table(data: list[Any], models: list[Any], language_models: list[Any]) -> Table:
    """SHA-256 of the content of every data file and of each model's last checkpoint."""
    table = Table("SHA-256 of contents", ["what", "rows", "digest"])
    for manifest in data:
        for name, entry in manifest["files"].items():
            table.rows.append([f"{manifest['task']}, {name}", number(entry["rows"]), entry["digest"]])
    for manifest in models:
        step = max(manifest["checkpoints"])
        what = f"{manifest['task']}, seed {manifest['seed']}, {step}"
        table.rows.append([what, "", manifest["checkpoints"][step]])
    for manifest in language_models:
        for name, digest in manifest["files"].items():
            table.rows.append([f"{manifest['name']}, {name}", "", digest])
    return table


def version_table(manifests: list[Any]) -> Table:
    """Versions behind the models; where models differ, every version."""
    table = Table("Versions", ["package", "version"])
    found: dict[str, set[str]] = {}
    for manifest in manifests:
        for package, version in manifest["versions"].items():
            found.setdefault(package, set()).add(version)
    table.rows.extend([package, ", ".join(sorted(versions))] for package, versions in sorted(found.items()))
    return table


def read_manifests(paths: list[Path], *keys: str) -> list[Any]:
    """Manifests, in the order given; one that lacks a key raises `InputError`."""
    manifests = [read_json(path) for path in paths]
    for path, manifest in zip(paths, manifests, strict=True):
        for key in keys:
            if not isinstance(manifest, dict) or key not in manifest:
                raise InputError(f"{path} lacks {key!r}: delete it and run the stage that makes it again")
    return manifests


MODEL_KEYS = ("task", "seed", "device", "dtype", "threads", "wall_seconds", "checkpoints", "versions")
DATA_KEYS = ("task", "files")
LANGUAGE_MODEL_KEYS = ("name", "files", "versions")
