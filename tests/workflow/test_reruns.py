"""What reruns when: exactly what a change touches."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workflow_runs import Checkout, copy_workflow

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


def append_script(name: str) -> Callable[[Checkout], None]:
    """An edit of a rule's own script that changes nothing it does."""
    return lambda checkout: checkout.edit(f"workflow/scripts/{name}.py", "\nPACKAGES = ", "\n# edited\nPACKAGES = ")


def edit_what_no_number_depends_on(checkout: Checkout) -> None:
    """Schema, rules' comments, profile, another overlay, tests."""
    checkout.edit("workflow/schemas/config.schema.yaml", "Number of layers.", "Layers.")
    checkout.edit("workflow/rules/training.smk", "\nrule training:", "\n# edited\nrule training:")
    checkout.edit("profiles/default/config.yaml", "printshellcmds: false", "printshellcmds: true")
    checkout.edit("workflow/config/quick.yaml", "steps: 1800", "steps: 1900")
    (checkout.folder / "tests").mkdir()
    (checkout.folder / "tests" / "test_more.py").write_text("assert True\n")


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
    "datasets script": (append_script("make_datasets"), EVERYTHING),
    "long inputs script": (
        append_script("make_long_inputs"),
        {"long_inputs": 2, "extrapolation": 2, "discrepancy": 2, "restriction": 2, "figures": 3, **JUDGED},
    ),
    "model": (append(f"{LIBRARY}/model.py"), {"training": 2, **MEASURE, **FIGURES, **JUDGED}),
    "discrepancy module": (append(f"{LIBRARY}/measure/discrepancy.py"), {"discrepancy": 2, "figures": 1, **JUDGED}),
    "flow module": (append(f"{LIBRARY}/measure/flow.py"), {"flow": 2, "figures": 1, "report": 1}),
    "frequencies module": (append(f"{LIBRARY}/measure/frequencies.py"), {"frequencies": 2, "figures": 1, **JUDGED}),
    "functions module": (append(f"{LIBRARY}/measure/functions.py"), {"functions": 2, "figures": 1, **JUDGED}),
    "geometry module": (append(f"{LIBRARY}/measure/geometry.py"), {"geometry": 2, "figures": 1, "report": 1}),
    "patching module": (append(f"{LIBRARY}/measure/patching.py"), {"patching": 2}),  # no figure draws it
    "restriction module": (
        append(f"{LIBRARY}/measure/restriction.py"),
        {"restriction": 2, "flow": 2, "figures": 2, "report": 1},
    ),
    "constructions": (append(f"{LIBRARY}/theory/constructions.py"), THEORY),
    "theory figure": (append(f"{LIBRARY}/theory_figures/curves.py"), {"theory_figures": 1, "report": 1}),
    "look of all figures": (append(f"{LIBRARY}/figures/style.py"), {**FIGURES, "theory_figures": 1}),
    "columns of one table": (
        lambda c: c.edit(f"{LIBRARY}/contracts/flow.py", "\nFLOW = ", "\n# edited\nFLOW = "),
        {"flow": 2, **FIGURES},  # every figure may read every table
    ),
    "what no number depends on": (edit_what_no_number_depends_on, {"report": 1}),  # it shows what the schema says
    "environment, without conda": (
        lambda c: c.edit("envs/scores.yaml", "numpy==", "numpy>="),
        {},
    ),
    "experiment renamed": (
        lambda c: c.edit(TINY, "experiment: tiny", "experiment: other"),
        {**EVERYTHING, **THEORY},
    ),
    "fewer stages": (
        lambda c: c.edit(
            "config.yaml", "extrapolation, mechanism, theory, figures, scorecard, report]", "extrapolation]"
        ),
        {},
    ),
    "data lost": (lambda c: shutil.rmtree(c.folder / "data"), EVERYTHING),
    "one model lost": (
        lambda c: shutil.rmtree(c.folder / "results/tiny/models/number"),
        {"training": 1, **MEASURE_ONE_TASK, **FIGURES, **JUDGED},
    ),
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

LLM = "llm-local"
LLM_CASES: dict[str, tuple[Callable[[Checkout], object], dict[str, int]]] = {
    "nothing": (lambda _: None, {}),
    "prompts": (
        append(f"{LIBRARY}/llm/onehop.py"),
        {"onehop": 2, "llm_games": 1, "llm_heads": 1, "llm_figures": 2, **JUDGED},
    ),
    "models": (
        append(f"{LIBRARY}/llm/models.py"),
        {"llm_model": 1, "llm_games": 1, "llm_heads": 1, "llm_figures": 2, **JUDGED},
    ),
    "games": (append(f"{LIBRARY}/llm/games.py"), {"llm_games": 1, "llm_figures": 1, **JUDGED}),
    "heads": (append(f"{LIBRARY}/llm/heads.py"), {"llm_heads": 1, "llm_figures": 1, "report": 1}),
    "a figure": (append(f"{LIBRARY}/figures/llm/games.py"), {"llm_figures": 2, "report": 1}),
    "retries": (
        lambda c: c.edit("config.yaml", "retries: 8", "retries: 9"),
        {"llm_games": 1, "llm_figures": 1, **JUDGED},
    ),
}


@pytest.fixture(scope="module")
def llm_made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The language models' rules as if done: `--touch` notes placeholders, since what a file holds is no matter here."""
    made = copy_workflow(tmp_path_factory.mktemp("llm") / "checkout")
    plan = made.run("-n", "--cores", "2", "--quiet", "progress", config=LLM)
    for line in re.findall(r"^    output: (.+)$", plan, flags=re.MULTILINE):
        for name in line.split(", "):
            path = made.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("made\n")
    made.run("--cores", "2", "--touch", "--forceall", config=LLM)
    return made


@pytest.mark.parametrize("case", LLM_CASES)
def test_what_reruns_of_the_language_models(llm_made: Checkout, tmp_path: Path, case: str) -> None:
    shutil.copytree(llm_made.folder, tmp_path / "checkout")
    copied = Checkout(tmp_path / "checkout")
    change, wanted = LLM_CASES[case]
    change(copied)
    assert copied.jobs("--cores", "2", config=LLM) == wanted


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


def test_a_clone_with_copied_results(finished: Checkout, tmp_path: Path) -> None:
    """What was made is told by `.snakemake`: with it nothing reruns; without it `--touch` has to adopt the results first."""
    clones = [copy_workflow(tmp_path / name) for name in ("with", "without")]
    for clone in clones:
        for part in ("data", "results"):
            shutil.copytree(finished.folder / part, clone.folder / part)
        for path in (clone.folder / "workflow").rglob("*"):
            path.touch()  # what git checks out is new
    shutil.copytree(finished.folder / ".snakemake", clones[0].folder / ".snakemake")
    assert clones[0].jobs("--cores", "2") == {}
    assert clones[1].jobs("--cores", "2") == {**EVERYTHING, **THEORY}  # only times are left to go by
    before = clones[1].products()
    clones[1].run("--cores", "2", "--touch", "--forceall")
    assert clones[1].products() == before
    touch_everything(clones[1])
    assert clones[1].jobs("--cores", "2") == {}
    append(f"{LIBRARY}/measure/geometry.py")(clones[1])  # from here on it is watched like a run of one's own
    assert clones[1].jobs("--cores", "2") == {"geometry": 2, "figures": 1, "report": 1}


def test_a_seed_removed_leaves_the_others_figures(finished: Checkout) -> None:
    """With another seed figures change, without it they are what they were, byte for byte, and nothing is measured again."""
    figure = "results/tiny/figures/accuracy.png"
    before = finished.products()
    finished.edit(TINY, "seeds: [0]", "seeds: [0, 1]")
    finished.run("--cores", "2", figure)
    with_both = finished.products()
    assert with_both[figure] != before[figure]
    finished.edit(TINY, "seeds: [0, 1]", "seeds: [0]")
    assert finished.jobs("--cores", "2", figure) == {"figures": 1}
    finished.run("--cores", "2", figure)
    after = finished.products()
    assert {path: after[path] for path in before} == before
    assert any("seed-1" in path for path in after), "the removed seed's files are nobody's to delete"


def test_lost_checkpoint_is_named(finished: Checkout) -> None:
    lost = finished.folder / "results/tiny/models/letter/seed-0/checkpoints/step-00020/model.safetensors"
    lost.unlink()
    assert finished.jobs("--cores", "2") == {}
    output = finished.run("--cores", "2", "--forcerun", "scores", check=False)
    assert "step-00020/model.safetensors is missing: run the `training` stage again" in output
