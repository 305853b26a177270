"""Data files: what is written is what is read, also through Hugging Face `datasets`; damage is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from posym.errors import InputError
from posym.tables import read_provenance
from posym.tasks.base import Task
from posym.tasks.dataset import long_input_cores, split_sequences
from posym.tasks.files import read_long_inputs, read_split, write_long_inputs, write_splits


@pytest.fixture
def folder(task: Task, tmp_path: Path) -> Path:
    write_splits(tmp_path, task, split_sequences(task, {"train": 80, "test": 2000}, seed=0), {"seed": 0})
    return tmp_path


def test_splits_return(task: Task, folder: Path) -> None:
    wanted = split_sequences(task, {"train": 80, "test": 2000}, seed=0)["test"]
    found = read_split(folder, "test")
    for name in ("tokens", "answer", "hops", "answer_slot", "path"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert read_provenance(folder / "test.parquet")["seed"] == 0


def test_columns_and_types_are_the_contracts(folder: Path, tmp_path: Path) -> None:
    schema = pq.read_schema(folder / "train.parquet")
    assert {field.name: str(field.type).replace("element", "item") for field in schema} == {
        "tokens": "fixed_size_list<item: uint16>[17]",
        "answer": "uint16",
        "hops": "uint8",
        "answer_slot": "uint8",
        "path": "list<item: uint8>",
    }
    loaded = Dataset.from_parquet(str(folder / "train.parquet"), cache_dir=str(tmp_path / "cache"))
    assert loaded.num_rows == 80
    assert len(loaded[0]["tokens"]) == 17
    vocabulary = json.loads((folder / "vocabulary.json").read_text())
    assert sorted(vocabulary["tokens"].values()) == list(range(len(vocabulary["tokens"])))


def test_long_inputs_return(task: Task, folder: Path) -> None:
    inputs = long_input_cores(task, read_split(folder, "test"), items=40, prefixes=20, seed=0)
    write_long_inputs(folder, task, inputs, [0, 5, 50], 0, {"seed": 0})
    found = list(read_long_inputs(folder))
    assert [extra for extra, _, _ in found] == [0, 5, 50]
    for extra, sequences, prefix in found:
        assert sequences.tokens.shape == (40, 17 + extra)
        np.testing.assert_array_equal(sequences.tokens[:, extra:], inputs.cores.tokens)
        np.testing.assert_array_equal(prefix, inputs.prefix)
        for row in range(40):
            solution = task.solve(sequences.tokens[row])
            assert (solution.answer, solution.answer_slot) == (sequences.answer[row], sequences.answer_slot[row])


@pytest.mark.parametrize("fault", ["flipped", "truncated", "swapped", "missing", "no manifest", "bad manifest"])
def test_damage_is_one_sentence(folder: Path, fault: str) -> None:
    file, manifest = folder / "test.parquet", folder / "manifest.json"
    content = bytearray(file.read_bytes())
    if fault == "flipped":
        content[len(content) // 3] ^= 1
        file.write_bytes(content)
    elif fault == "truncated":
        file.write_bytes(content[:-100])
    elif fault == "swapped":
        file.write_bytes((folder / "train.parquet").read_bytes())
    elif fault == "missing":
        file.unlink()
    elif fault == "no manifest":
        manifest.unlink()
    else:
        manifest.write_text('{"files"')
    with pytest.raises(InputError) as caught:
        read_split(folder, "test")
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
