"""The data files: sequences to Parquet with a manifest, and back with checks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from posym.contracts.sequences import LONG_SEQUENCES, SEQUENCES
from posym.errors import InputError
from posym.files import file_digest, read_json, write_json
from posym.tables import content_digest, make_table, matrix, read_table, write_table
from posym.tasks.base import NO_SLOT, Array, Sequences, Task
from posym.tasks.dataset import LongInputs

MANIFEST = "manifest.json"
LONG_MANIFEST = "extrapolation.manifest.json"


def write_splits(folder: Path, task: Task, splits: dict[str, Sequences], provenance: dict[str, Any]) -> None:
    """Write `{split}.parquet`, `vocabulary.json` and, last, the manifest that later stages depend on."""
    files = {}
    for name, sequences in splits.items():
        table = _sequence_table(sequences)
        path = folder / f"{name}.parquet"
        digest = write_table(path, SEQUENCES, table, {"task": task.name, "split": name, **provenance})
        _check_with_datasets(path, digest)
        files[path.name] = {"rows": len(sequences), "digest": digest}
    vocabulary = folder / "vocabulary.json"
    write_json(
        vocabulary,
        {
            "tokens": {token: number for number, token in enumerate(task.vocabulary.tokens)},
            **{kind: list(ids) for kind, ids in task.vocabulary.kinds.items()},
        },
    )
    files[vocabulary.name] = {"rows": len(task.vocabulary.tokens), "digest": file_digest(vocabulary)}
    write_json(folder / MANIFEST, {"task": task.name, **provenance, "files": files})


def _sequence_table(sequences: Sequences) -> pa.Table:
    lengths = sequences.hops + 1
    flat = sequences.path[np.arange(sequences.path.shape[1]) < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = {
        "tokens": sequences.tokens,
        "answer": sequences.answer,
        "hops": sequences.hops,
        "answer_slot": sequences.answer_slot,
        "path": pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, pa.uint8())),
    }
    return make_table(SEQUENCES, columns)


def _check_with_datasets(path: Path, digest: str) -> None:
    """Read a file as a user of Hugging Face `datasets` will, and compare it with what was written."""
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()

    with tempfile.TemporaryDirectory() as cache:  # the shared cache below the home folder races between jobs
        loaded = Dataset.from_parquet(str(path), cache_dir=cache, keep_in_memory=True)
        if content_digest(pa.table(loaded.data.table).combine_chunks()) != digest:
            raise InputError(
                f"{path} reads differently through `datasets` than it was written: check the disk and rerun"
            )


def read_split(folder: Path, name: str) -> Sequences:
    """One split, checked against the manifest beside it."""
    file = f"{name}.parquet"
    table = read_table(folder / file, SEQUENCES, read_manifest(folder / MANIFEST)["files"][file]["digest"])
    path_column = table.column("path").combine_chunks()
    hops = table.column("hops").to_numpy().astype(np.int64)
    path = np.full((len(hops), int(hops.max()) + 1), NO_SLOT)
    path[np.arange(path.shape[1]) <= hops[:, None]] = path_column.flatten().to_numpy()
    return Sequences(
        tokens=matrix(table, "tokens").astype(np.int64),
        answer=table.column("answer").to_numpy().astype(np.int64),
        hops=hops,
        answer_slot=table.column("answer_slot").to_numpy().astype(np.int64),
        path=path,
    )


def read_manifest(path: Path) -> dict[str, Any]:
    """A data manifest; one without a list of files raises `InputError`."""
    manifest = read_json(path)
    if not isinstance(manifest, dict) or "files" not in manifest:
        raise InputError(f"{path} is no data manifest: delete it and run the `datasets` stage again")
    return manifest


def write_long_inputs(
    folder: Path, task: Task, inputs: LongInputs, axis: list[int], seed: int, provenance: dict[str, Any]
) -> None:
    """Write `extrapolation.parquet` (the cores at every number of extra tokens of `axis`) and, last, its manifest.

    A prefix at one length is the beginning of the same prefix at a longer one, so that one pass measures all lengths.
    """
    parts = []
    cores = inputs.cores
    for extra in axis:
        tokens = task.extend(np.random.default_rng([seed, 2]), cores, extra, inputs.prefix)
        flat = pa.array(tokens.reshape(-1), pa.uint16())
        offsets = pa.array(np.arange(len(tokens) + 1, dtype=np.int32) * tokens.shape[1])
        columns = {
            "extra": np.full(len(tokens), extra),
            "length": np.full(len(tokens), tokens.shape[1]),
            "prefix": inputs.prefix,
            "hops": cores.hops,
            "answer": cores.answer,
            "answer_slot": cores.answer_slot + extra,
            "tokens": pa.ListArray.from_arrays(offsets, flat),
        }
        parts.append(make_table(LONG_SEQUENCES, columns))
    path = folder / "extrapolation.parquet"
    table = pa.concat_tables(parts)
    digest = write_table(path, LONG_SEQUENCES, table, {"task": task.name, **provenance})
    _check_with_datasets(path, digest)
    files = {path.name: {"rows": table.num_rows, "digest": digest}}
    write_json(folder / LONG_MANIFEST, {"task": task.name, **provenance, "files": files})


def read_long_inputs(folder: Path) -> Iterator[tuple[int, Sequences, Array]]:
    """For each number of extra tokens: it, the long sequences (without paths), and the prefix each belongs to."""
    file = "extrapolation.parquet"
    table = read_table(folder / file, LONG_SEQUENCES, read_manifest(folder / LONG_MANIFEST)["files"][file]["digest"])
    extras = table.column("extra").to_numpy()
    for extra in np.unique(extras):
        part = table.filter(pa.array(extras == extra))
        columns = {
            name: part.column(name).to_numpy().astype(np.int64) for name in ("answer", "hops", "answer_slot", "prefix")
        }
        prefix = columns.pop("prefix")
        path = np.full((len(prefix), 1), NO_SLOT)
        yield int(extra), Sequences(tokens=matrix(part, "tokens").astype(np.int64), path=path, **columns), prefix
