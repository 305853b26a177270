"""Writing tables with provenance, reading them with checks; what a table holds is said in `posym.contracts`.

Every table is one Parquet file. Its schema metadata holds, under `posym`, a JSON object with the table's name, a digest
of its content (not of its bytes: Parquet footers carry writer versions) and what made it. Reading checks all of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from posym.errors import InputError
from posym.files import replaced_file

if TYPE_CHECKING:
    import pandas as pd

METADATA_KEY = b"posym"


@dataclass(frozen=True)
class Contract:
    """Name and columns of one kind of table; a list column may be stored with a fixed size."""

    name: str
    columns: dict[str, pa.DataType]


def content_digest(table: pa.Table) -> str:
    """SHA-256 of names, types and values, independent of chunks, compression and file versions."""
    digest = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if column.null_count:
            raise InputError(f"column {name} has {column.null_count} missing values: no table here may")
        while pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
            digest.update(column.value_lengths().to_numpy(zero_copy_only=False).astype("<i8").tobytes())
            column = column.flatten()
        digest.update(f"{name}:{column.type}:{len(column)}\n".encode())
        if pa.types.is_string(column.type):
            digest.update("\0".join(column.to_pylist()).encode())
        else:
            values = column.to_numpy(zero_copy_only=False)
            digest.update(np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).tobytes())
    return digest.hexdigest()


def make_table(contract: Contract, columns: dict[str, Any] | pd.DataFrame) -> pa.Table:
    """The contract's columns in its order and types, from arrays (2-D arrays become fixed-size lists) or a frame."""
    unknown = sorted(set(columns) ^ set(contract.columns))
    if unknown:
        raise ValueError(f"table {contract.name}: columns {unknown} are missing or not in its contract")
    arrays = {}
    for name, kind in contract.columns.items():
        values = columns[name]
        if isinstance(values, np.ndarray) and values.ndim == 2:
            flat = pa.array(values.reshape(-1), kind.value_type)
            arrays[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        else:
            arrays[name] = pa.array(values, kind)
    return pa.table(arrays)


def write_table(
    path: Path, contract: Contract, columns: dict[str, Any] | pd.DataFrame | pa.Table, provenance: dict[str, Any]
) -> str:
    """Write a table in one piece and return its content digest. An empty table raises `InputError`."""
    table = columns if isinstance(columns, pa.Table) else make_table(contract, columns)
    if not table.num_rows:
        raise InputError(f"nothing to write to {path}: the {contract.name} table has no rows")
    digest = content_digest(table)
    metadata = {"table": contract.name, "digest": digest, "rows": table.num_rows, **provenance}
    table = table.replace_schema_metadata({METADATA_KEY: json.dumps(metadata, sort_keys=True)})
    with replaced_file(Path(path)) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
    return digest


def read_provenance(path: Path) -> dict[str, Any]:
    """The JSON object that `write_table` left in a table's schema metadata."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except FileNotFoundError:
        raise InputError(f"{path} is missing: run the stage that makes it again") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is no readable Parquet file ({_first_line(error)}): delete it and run the stage that makes it again"
        ) from None
    if METADATA_KEY not in metadata:
        raise InputError(
            f"{path} was not written by this workflow (no `posym` metadata): delete it and run the stage that makes it again"
        )
    try:
        return json.loads(metadata[METADATA_KEY])
    except ValueError:
        raise InputError(f"{path} is damaged (its metadata): delete it and run the stage that makes it again") from None


def read_table(path: Path, contract: Contract, digest: str | None = None) -> pa.Table:
    """Read a table and check it: columns, types, at least one row, and its content against its own digest.

    `digest` is the one that a manifest promises; another content raises `InputError` as every other fault does.
    """
    provenance = read_provenance(path)
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        found = content_digest(table) if table.num_rows else None
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is damaged ({_first_line(error)}): delete it and run the stage that makes it again"
        ) from None
    if found is None:
        raise InputError(f"{path} has no rows: delete it and run the stage that makes it again")
    for name, kind in contract.columns.items():
        if name not in table.column_names or not _same_type(table.schema.field(name).type, kind):
            have = table.schema.field(name).type if name in table.column_names else "nothing"
            raise InputError(f"{path} is no {contract.name} table: column {name} should be {kind}, found {have}")
    if found != provenance.get("digest") or digest not in (None, found):
        raise InputError(
            f"{path} holds other content than {'its manifest' if digest not in (None, found) else 'it was written with'}"
            " says: delete it and run the stage that makes it again"
        )
    return table.select(list(contract.columns))


def read_joined(
    paths: Iterable[Path], contracts: Iterable[Contract], reader: str, whole: Container[str] = ()
) -> dict[str, pd.DataFrame]:
    """The tables in `paths` by name, each joined over tasks and seeds, with the columns `task` and `seed` of their provenance.

    Tables named in `whole` are not of one task and seed: they are joined as they are. A table of no contract, or there
    twice for one task and seed, raises `InputError`, which names the `reader` that has no use for it.
    """
    import pandas as pd

    known = {contract.name: contract for contract in contracts}
    parts: dict[str, dict[tuple[str, ...], pd.DataFrame]] = {}
    for path in paths:
        provenance = read_provenance(path)
        name = provenance.get("table")
        if name not in known:
            raise InputError(f"{path} is a table {name!r}, which {reader} does not read: give it {', '.join(known)}")
        frame = read_table(path, known[name]).to_pandas()
        key: tuple[str, ...] = (str(path),)
        if name not in whole:
            if not {"task", "seed"} <= set(provenance):
                raise InputError(
                    f"{path} does not say its task and seed: delete it and run the stage that makes it again"
                )
            task, seed = str(provenance["task"]), int(provenance["seed"])
            frame, key = frame.assign(task=task, seed=seed), (task, str(seed))
            if key in parts.get(name, {}):
                raise InputError(f"{path} is a second {name} table of task {task}, seed {seed}: give each once")
        parts.setdefault(name, {})[key] = frame
    return {name: pd.concat(found.values(), ignore_index=True) for name, found in parts.items()}


def _same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_list(wanted) and pa.types.is_fixed_size_list(found):
        return bool(found.value_type == wanted.value_type)
    return bool(found == wanted)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def matrix(table: pa.Table, column: str) -> np.ndarray:
    """A list column whose lists all have one length, as a 2-D array [row, item]."""
    values = table.column(column).combine_chunks()
    flat = values.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(values), -1)
