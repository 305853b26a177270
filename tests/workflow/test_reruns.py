"""What reruns when: exactly what a change touches."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workflow_runs import Checkout

FIGURES = {"figures": 11, "report": 1}
MECHANISM = ("ablation", "discrepancy", "flow", "frequencies", "functions", "geometry", "patching", "restriction")
MEASURE = dict.fromkeys(("scores", "extrapolation", *MECHANISM), 2)
MEASURE_ONE_TASK = dict.fromkeys(MEASURE, 1)
JUDGED = {"scorecard": 1, "report": 1}
THEORY = {"theory": 1, "theory_figures": 1, **JUDGED}
EVERYTHING = {"datasets": 2, "long_inputs": 2, "training": 2, **MEASURE, **FIGURES, **JUDGED}
TINY = "workflow/config/tiny.yaml"
LIBRARY = "workflow/scripts/posym"


def append(path: str) -> Callable[[Checkout], None]:
    """An edit of a source file that changes nothing it does."""
    return lambda checkout: checkout.edit(
        path, "from __future__ import annotations\n", "from __future__ import annotations\n\n# edited\n"
    )


def touch_everything(checkout: Checkout) -> None:
    for part in ("Snakefile", "config.yaml", "workflow", "envs", "data", "results"):
        for path in (checkout.folder / part, *(checkout.folder / part).rglob("*")):
            path.touch()


def big_then_touch(checkout: Checkout) -> None:
    """A file above 1 MB, which Snakemake does not compare by content, is guarded by its manifest."""
    train = checkout.folder / "data" / "tiny" / "number" / "train.parquet"
    with train.open("ab") as file:
        file.truncate(3_000_000)
    time.sleep(0.01)
    train.touch()


CASES: dict[str, tuple[Callable[[Checkout], object], dict[str, int]]] = {
    "nothing": (lambda _: None, {}),
    "everything touched": (touch_everything, {}),
    "large file touched": (big_then_touch, {}),
    "learning rate": (
        lambda c: c.edit(TINY, "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),
        {"training": 2, **MEASURE, **FIGURES, **JUDGED},
    ),
    "data seed": (lambda c: c.edit("config.yaml", "test: 45600\n  seed: 0", "test: 45600\n  seed: 1"), EVERYTHING),
    "one alphabet": (
        lambda c: c.edit(TINY, "letters: 10", "letters: 11"),
        {"datasets": 1, "long_inputs": 1, "training": 1, **MEASURE_ONE_TASK, **FIGURES, **THEORY},
    ),
    "long axis": (
        lambda c: c.edit(TINY, "long_inputs:\n  extra: [0, 5, 20]", "long_inputs:\n  extra: [0, 5, 20, 30]"),
        {"long_inputs": 2, "extrapolation": 2, "discrepancy": 2, "restriction": 2, "figures": 3, **JUDGED},
    ),
    "scored items": (
        lambda c: c.edit(TINY, "scores:\n  items: 40", "scores:\n  items: 20"),
        {"scores": 2, "figures": 4, **JUDGED},  # accuracy, scores, pure_heads, functions
    ),
    "figure setting": (lambda c: c.edit(TINY, "dpi: 60", "dpi: 70"), FIGURES),
    "seed added": (
        lambda c: c.edit(TINY, "seeds: [0]", "seeds: [0, 1]"),
        {"training": 2, **MEASURE, **FIGURES, **JUDGED},
    ),
    "task removed": (lambda c: c.edit("config.yaml", "tasks: [number, letter]", "tasks: [number]"), FIGURES | JUDGED),
    "scoring module": (append(f"{LIBRARY}/measure/scores.py"), {"scores": 2, "frequencies": 2, "figures": 5, **JUDGED}),
    "extrapolation module": (
        append(f"{LIBRARY}/measure/extrapolation.py"),
        {"extrapolation": 2, "figures": 1, **JUDGED},
    ),
    "one task's module": (
        append(f"{LIBRARY}/tasks/number.py"),
        {"datasets": 1, "long_inputs": 1, "training": 1, **MEASURE_ONE_TASK, **FIGURES, **THEORY},
    ),
    "engine": (append(f"{LIBRARY}/training/cpu.py"), {"training": 2, **MEASURE, **FIGURES, **JUDGED}),
    "one figure": (append(f"{LIBRARY}/figures/length.py"), {"figures": 1, "report": 1}),
    "configuration module": (append(f"{LIBRARY}/config.py"), {}),
    "thread count": (
        lambda c: c.edit("config.yaml", "dtype: float32\n  threads: 1", "dtype: float32\n  threads: 2"),
        {"training": 2, **MEASURE, **FIGURES, **JUDGED},
    ),
    "ablation module": (append(f"{LIBRARY}/measure/ablation.py"), {"ablation": 2, "figures": 1, **JUDGED}),
    "theory module": (append(f"{LIBRARY}/theory/discrepancy.py"), THEORY),
    "table lost": (
        lambda c: (c.folder / "results/tiny/measurements/number/seed-0/accuracy.parquet").unlink(),
        {"scores": 1, "figures": 4, **JUDGED},
    ),
    "report module": (append(f"{LIBRARY}/report/numbers.py"), {"report": 1}),
    "report's style": (
        lambda c: c.edit(f"{LIBRARY}/report/page.css", "* { box-sizing", "/* edited */ * { box-sizing"),
        {"report": 1},
    ),
    "claims module": (append(f"{LIBRARY}/claims/heads.py"), JUDGED),
    "scorecard setting": (
        lambda c: c.edit(TINY, "scorecard:\n  bootstrap_samples: 50", "scorecard:\n  bootstrap_samples: 60"),
        JUDGED,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_reruns(finished: Checkout, case: str) -> None:
    change, wanted = CASES[case]
    change(finished)
    assert finished.jobs("--cores", "2") == wanted


def test_an_edit_taken_back_reruns_nothing(finished: Checkout) -> None:
    path = finished.folder / LIBRARY / "measure" / "scores.py"
    before = path.read_text()
    append(f"{LIBRARY}/measure/scores.py")(finished)
    path.write_text(before)
    assert finished.jobs("--cores", "2") == {}


def test_another_folder_reruns_nothing(finished: Checkout, tmp_path: Path) -> None:
    moved = Checkout(tmp_path / "moved elsewhere")
    shutil.move(finished.folder, moved.folder)
    assert moved.jobs("--cores", "2") == {}


def test_lost_checkpoint_is_named(finished: Checkout) -> None:
    lost = finished.folder / "results/tiny/models/letter/seed-0/checkpoints/step-00020/model.safetensors"
    lost.unlink()
    assert finished.jobs("--cores", "2") == {}
    output = finished.run("--cores", "2", "--forcerun", "scores", check=False)
    assert "step-00020/model.safetensors is missing: run the `training` stage again" in output
