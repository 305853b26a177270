"""Tables: content digests, and every way a file can be wrong."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from posym.errors import InputError
from posym.files import replaced_file, replaced_folder
from posym.tables import METADATA_KEY, Contract, content_digest, make_table, read_provenance, read_table, write_table

CONTRACT = Contract("example", {"a": pa.int32(), "b": pa.string(), "c": pa.list_(pa.uint16())})
ROWS = {"a": [1, 2], "b": ["x", "y"], "c": np.array([[1, 2], [3, 4]])}


def test_round_trip(tmp_path: Path) -> None:
    digest = write_table(tmp_path / "t.parquet", CONTRACT, ROWS, {"seed": 3})
    table = read_table(tmp_path / "t.parquet", CONTRACT, digest)
    assert table.to_pydict() == {"a": [1, 2], "b": ["x", "y"], "c": [[1, 2], [3, 4]]}
    assert read_provenance(tmp_path / "t.parquet")["seed"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=20), cut=st.integers(0, 20))
def test_digest_sees_values_not_chunks(values: list[int], cut: int) -> None:
    whole = pa.table({"a": pa.array(values, pa.int32())})
    parts = pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])
    assert content_digest(whole) == content_digest(parts)
    changed = pa.table({"a": pa.array([values[0] ^ 1, *values[1:]], pa.int32())})
    assert content_digest(whole) != content_digest(changed)
    assert content_digest(whole) != content_digest(whole.rename_columns(["b"]))


def test_digest_tells_strings_and_lists_apart() -> None:
    def digest(**columns: object) -> str:
        return content_digest(pa.table(columns))

    assert digest(a=["ab", "c"]) != digest(a=["a", "bc"])
    assert digest(a=[[1], [2, 3]]) != digest(a=[[1, 2], [3]])


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    digest = write_table(path, CONTRACT, ROWS, {})
    content = path.read_bytes()
    wanted = read_table(path, CONTRACT, digest).to_pydict()
    refused = 0
    for place in range(0, len(content), 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        try:
            assert read_table(path, CONTRACT, digest).to_pydict() == wanted
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("fault", ["no rows", "foreign", "other columns", "other types", "other content"])
def test_wrong_files_are_one_sentence(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "t.parquet"
    digest = write_table(path, CONTRACT, ROWS, {})
    table = pq.read_table(path)
    if fault == "no rows":
        pq.write_table(table.slice(0, 0), path)
    elif fault == "foreign":
        pq.write_table(table.replace_schema_metadata({}), path)
    elif fault == "other columns":
        pq.write_table(table.drop_columns(["b"]), path)
    elif fault == "other types":
        cast = table.set_column(0, "a", table.column("a").cast(pa.int64()))
        pq.write_table(cast.replace_schema_metadata({METADATA_KEY: table.schema.metadata[METADATA_KEY]}), path)
    else:
        write_table(path, CONTRACT, ROWS | {"a": [1, 3]}, {})
    with pytest.raises(InputError) as caught:
        read_table(path, CONTRACT, digest)
    assert str(path) in str(caught.value)


def test_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, CONTRACT, ROWS, {})
    before = path.read_bytes()
    with pytest.raises(InputError, match="no rows"):
        write_table(path, CONTRACT, {"a": [], "b": [], "c": np.empty((0, 2))}, {})
    with pytest.raises(ValueError, match="contract"):
        make_table(CONTRACT, {"a": [1]})
    with pytest.raises(RuntimeError, match="stop"), replaced_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError("stop")
    assert path.read_bytes() == before
    with pytest.raises(RuntimeError, match="stop"), replaced_folder(tmp_path / "folder") as folder:
        (folder / "x").write_text("half")
        raise RuntimeError("stop")
    assert os.listdir(tmp_path) == ["t.parquet"]  # noqa: PTH208


def test_replaced_folder_takes_the_place_of_an_old_one(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    for content in ("old", "new"):
        with replaced_folder(target) as folder:
            (folder / content).touch()
    assert [path.name for path in target.iterdir()] == ["new"]
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o777 & ~mask


def test_files_are_as_open_as_the_umask_says(tmp_path: Path) -> None:
    """Others in a shared folder can read them: safetensors writes private files, whatever the umask."""
    for mask, wanted in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            with replaced_file(tmp_path / "weights.safetensors") as temporary:
                save_file({"a": torch.zeros(2)}, temporary)
            with replaced_folder(tmp_path / "folder") as folder:
                save_file({"a": torch.zeros(2)}, folder / "weights.safetensors")
        finally:
            os.umask(before)
        for path in (tmp_path / "weights.safetensors", tmp_path / "folder" / "weights.safetensors"):
            assert path.stat().st_mode & 0o777 == wanted, (oct(mask), path.name)


def test_a_failed_write_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with pytest.raises(OSError, match="full") as caught, replaced_file(path):
        raise OSError(errno.ENOSPC, "full")  # as pyarrow and files do: without a name
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
