"""Files that are damaged, empty, swapped or cut off: the stage that reads one says so in a sentence, and the rest stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from workflow_runs import Checkout

DATA, MODELS, TABLES = Path("data/tiny"), Path("results/tiny/models"), Path("results/tiny/measurements")


def flip(path: Path) -> None:
    """Change one bit in the data. (Some bits of a header are harmless: what counts is the content that is read.)"""
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    """Leave the first half, as a copy that was broken off does."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def empty(path: Path) -> None:
    """No rows, and otherwise right."""
    pq.write_table(pq.read_table(path).slice(0, 0), path)


def write(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text) and None


def from_other_task(path: Path) -> None:
    """The number task's checkpoint, a sound file of another architecture."""
    shutil.copy(str(path).replace("letter", "number"), path)


# What happens to which file, the job that reads it and what its log says. Each job reads one damaged file alone.
Damage = tuple[Callable[[Path], None], Path, str, str, str]
FILES: list[Damage] = [
    (flip, DATA / "number/test.parquet", "scores", "number", "test.parquet"),
    (empty, DATA / "letter/extrapolation.parquet", "extrapolation", "letter", "extrapolation.parquet has no rows"),
    (cut, MODELS / "number/seed-0/checkpoints/step-00040/model.safetensors", "extrapolation", "number",
     "step-00040/model.safetensors is not the file its manifest describes: delete its model folder and run"),
    (from_other_task, MODELS / "letter/seed-0/checkpoints/step-00040/model.safetensors", "flow", "letter",
     "step-00040/model.safetensors is not the file its manifest describes: delete its model folder and run"),
]  # fmt: skip
MANIFESTS: list[Damage] = [
    (cut, DATA / "number/manifest.json", "scores", "number", "number/manifest.json is not readable JSON"),
    (write("{}"), DATA / "number/extrapolation.manifest.json", "extrapolation", "number",
     "extrapolation.manifest.json is no data manifest: delete it"),
    (write("[]\n"), MODELS / "letter/seed-0/manifest.json", "scores", "letter",
     "seed-0/manifest.json is no model manifest: delete it"),
]  # fmt: skip
MEASURED: list[Damage] = [
    (flip, TABLES / "number/seed-0/ablation.parquet", "figures", "ablation", "number/seed-0/ablation.parquet"),
    (empty, TABLES / "letter/seed-0/geometry.parquet", "figures", "geometry", "geometry.parquet has no rows"),
    (cut, TABLES / "letter/seed-0/extrapolation.parquet", "figures", "length",
     "extrapolation.parquet is no readable Parquet file"),
]  # fmt: skip


def output_of(rule: str, name: str) -> str:
    """A file that a job makes."""
    if rule == "figures":
        return f"results/tiny/figures/{name}.png"
    return str(TABLES / name / "seed-0" / f"{rule}.parquet")


def check_damage(checkout: Checkout, damages: list[Damage]) -> None:
    """Damage files and run the jobs that read them, and these alone: each log has its sentence, nothing else changes."""
    for damage, path, *_ in damages:
        damage(checkout.folder / path)
    before = checkout.products()
    rules = sorted({rule for _, _, rule, _, _ in damages})
    targets = [output_of(rule, name) for _, _, rule, name, _ in damages]
    run = ["--cores", "2", "--keep-going", "--allowed-rules", *rules, "--forcerun", *rules, "--", *targets]
    assert "exit status 1" in checkout.run(*run, check=False)
    for _, _, rule, name, sentence in damages:
        log = f"{rule}.{name}.log" if rule == "figures" else f"{rule}.{name}.seed-0.log"
        text = (checkout.folder / "results" / "tiny" / "logs" / log).read_text()
        (said,) = [line for line in text.splitlines() if "error: " in line]
        assert sentence in said
        assert "Traceback" not in text, text
    after = checkout.products()
    lost = {path for path in before if path not in after}  # Snakemake deletes what the failed jobs were to make again
    assert all(any(Path(target).stem in path for target in targets) or "accuracy" in path for path in lost), lost
    assert {path: after[path] for path in after} == {path: before[path] for path in after}


def test_damaged_files(finished: Checkout) -> None:
    check_damage(finished, FILES)


def test_damaged_manifests(finished: Checkout) -> None:
    check_damage(finished, MANIFESTS)


def test_damaged_tables_and_the_advice(finished: Checkout, finished_once: Checkout) -> None:
    """Deleting the file and running again, as the sentence says, makes everything what it was."""
    check_damage(finished, MEASURED)
    for _, path, *_ in MEASURED:
        (finished.folder / path).unlink()
    finished.run("--cores", "2", *(output_of(rule, name) for _, _, rule, name, _ in MEASURED))
    assert finished.products() == finished_once.products()


def test_a_broken_model_and_the_advice(finished: Checkout, finished_once: Checkout) -> None:
    """Without its model folder a model is trained again: the same one. A resume folder of something else is not used."""
    shutil.rmtree(finished.folder / MODELS / "number")
    resume = finished.folder / "results/tiny/resume/number-seed-0"
    stale = resume / "0123456789abcdef"  # of other code, settings, data or another device
    shutil.copytree(finished.folder / MODELS / "letter/seed-0/checkpoints", stale / "checkpoints")
    (stale / "state.safetensors").write_bytes(b"of another run")
    targets = [MODELS / "number/seed-0/manifest.json", TABLES / "number/seed-0/scores.parquet"]
    finished.run("--cores", "2", *map(str, targets))
    log = (finished.folder / "results/tiny/logs/training.number.seed-0.log").read_text()
    assert (
        f"another configuration, code, data set or device left {stale.relative_to(finished.folder)}: starting over"
        in log
    )
    assert "going on from" not in log
    assert finished.products() == finished_once.products()
    assert json.loads((finished.folder / MODELS / "number/seed-0/manifest.json").read_text())["task"] == "number"
