"""Every figure from small tables: the numbers it shows, files that repeat byte for byte, and clear refusals."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from posym import paper
from posym.contracts.extrapolation import EXTRAPOLATION
from posym.contracts.scores import ACCURACY, SCORES
from posym.errors import InputError
from posym.figures.catalogue import CONTRACTS, figure_names, find_figure, read_tables
from posym.figures.seeds import SUMMARY, band_note, over_seeds, wilson
from posym.figures.style import PAGE_WIDTH_MM, save, save_data
from posym.tables import write_table

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
SETTINGS: dict[str, Any] = {"gammas": [0.2, 0.1, 0.05], "tau": 0.0001, "dpi": 60, "paper_reference": True}
STEPS = (0, 100, 200, 300)
KEYS = {
    "accuracy": ["task", "hops", "step"],
    "scores": ["task", "layer", "head", "quantity", "step"],
    "pure_heads": ["task", "gamma", "kind", "step"],
    "length": ["task", "hops", "extra", "length"],
}
# Scores (positional, symbolic) at STEPS: layer 0 is pure positional, impure at 200 and pure again; layer 1 is symbolic.
HEADS = {0: [(1, 1), (0.95, 0.05), (0.5, 0.5), (0.9, 0.1)], 1: [(1, 1), (1, 1), (0.1, 0.85), (0, 1)]}


def accuracy_table(task: str, seed: int) -> pd.DataFrame:
    """Right answers of 10 items a hop class: 2 plus the seed at step 0, two more a checkpoint, one less at 3 and 4."""
    rows = []
    for number, step in enumerate(STEPS):
        right = {hop: 2 + seed + 2 * number - (hop > 2) for hop in (1, 2, 3, 4)}
        for hops, correct, items in [(0, sum(right.values()), 40), *((hop, count, 10) for hop, count in right.items())]:
            rows.append({"step": step, "hops": hops, "accuracy": correct / items, "correct": correct, "items": items})
    return pd.DataFrame(rows).assign(task=task, seed=seed)


def scores_table(task: str, seed: int) -> pd.DataFrame:
    """`HEADS` at two taus and two queries; only the last query at tau 1e-4 has them as they are."""
    rows = []
    for layer, pairs in HEADS.items():
        for number, (step, (positional, symbolic)) in enumerate(zip(STEPS, pairs, strict=True)):
            for tau in (1e-4, 1e-3):
                for query in ("last", "hop-2"):
                    as_it_is = tau == 1e-4 and query == "last"
                    row: dict[str, Any] = {
                        "step": step,
                        "layer": layer,
                        "head": 0,
                        "query": query,
                        "tau": tau,
                        "hops": 0,
                    }
                    for name, value in (("positional", positional), ("symbolic", symbolic)):
                        value = value if as_it_is else 0.5
                        row |= {name: value, f"{name}_low": value - 0.02, f"{name}_high": value + 0.02}
                    row |= {"entropy": 2.0 - 0.5 * number + seed if layer else 1.0, "self_mass": 0.1, "items": 40}
                    rows.append(row)
    return pd.DataFrame(rows).assign(task=task, seed=seed)


def extrapolation_table(task: str, seed: int) -> pd.DataFrame:
    """Two steps, the earlier one all wrong; at the last, accuracy falls by .2 from length to length."""
    rows = []
    for step in (100, 300):
        for number, extra in enumerate((0, 10, 100, 833)):
            for hops, items in ((0, 40), (1, 10), (2, 10), (3, 10), (4, 10)):
                share = 1 - 0.2 * number - 0.1 * seed if step == 300 else 0.0
                rows.append(
                    {
                        "step": step, "extra": extra, "length": extra + 17, "hops": hops, "accuracy": share,
                        "low": share - 0.05, "high": share + 0.05, "correct": round(share * items), "items": items,
                        "prefixes": 5, "logit_margin": 1.0,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows).assign(task=task, seed=seed)


MAKERS = {"accuracy": accuracy_table, "scores": scores_table, "extrapolation": extrapolation_table}


def tables_of(figure: str, tasks: tuple[str, ...] = ("number", "letter"), seeds: int = 1) -> dict[str, pd.DataFrame]:
    return {
        name: pd.concat([MAKERS[name](task, seed) for task in tasks for seed in range(seeds)], ignore_index=True)
        for name in find_figure(figure).TABLES
    }


def row_of(data: pd.DataFrame, **at: Any) -> pd.Series:
    chosen = data[(data[list(at)] == pd.Series(at)).all(axis=1)]
    assert len(chosen) == 1
    return chosen.iloc[0]


def texts_of(figure: Any) -> str:
    return " | ".join(text.get_text() for text in figure.texts)


# What is over seeds


def test_wilson_matches_a_worked_value() -> None:
    low, high = wilson(pd.Series([7, 0, 10]), pd.Series([10, 10, 10]))
    # z = 1.959964: (.7 + z^2/20 -+ z sqrt(.021 + z^2/400)) / (1 + z^2/10)
    assert low.tolist() == pytest.approx([0.396778, 0.0, 0.722467], abs=1e-6)
    assert high.tolist() == pytest.approx([0.892209, 0.277533, 1.0], abs=1e-6)


def test_band_by_number_of_seeds() -> None:
    table = pd.DataFrame({"task": "number", "seed": range(3), "step": 0, "value": [0.2, 0.3, 0.4], "items": [5, 4, 6]})
    table = table.assign(low=0.15, high=0.27)
    three = over_seeds(table, ["task", "step"], "value", ("low", "high")).iloc[0]
    half = 4.302653 * 0.1 / 3**0.5  # t quantile for two degrees of freedom, standard deviation .1
    assert three.tolist()[2:] == [
        pytest.approx(0.3),
        pytest.approx(0.3 - half),
        pytest.approx(0.3 + half),
        3,
        4,
        "t-interval",
    ]
    two = over_seeds(table[:2], ["task", "step"], "value", ("low", "high")).iloc[0]
    assert two.tolist()[2:] == [pytest.approx(0.25), 0.2, 0.3, 2, 4, "range"]
    one = over_seeds(table[:1], ["task", "step"], "value", ("low", "high")).iloc[0]
    assert one.tolist()[2:] == [0.2, 0.15, 0.27, 1, 5, "items"]
    bare = over_seeds(table[:1], ["task", "step"], "value")
    assert bare["band"].tolist() == ["none"]
    assert bare[["low", "high"]].isna().all(axis=None)


def test_seeds_measured_at_different_steps_are_refused() -> None:
    tables = tables_of("accuracy", seeds=3)
    table = tables["accuracy"]
    tables["accuracy"] = table[(table["task"] == "number") | (table["seed"] < 2) | (table["step"] < 300)]
    with pytest.raises(InputError, match="task letter were not measured at the same hops, step"):
        find_figure("accuracy").draw(tables, SETTINGS)


def test_note_names_tasks_only_where_they_differ() -> None:
    rows = {"mean": 0.5, "low": 0.4, "high": 0.6, "items": 9}
    same = pd.DataFrame([{"task": task, **rows, "seeds": 3, "band": "t-interval"} for task in ("a", "b")])
    assert band_note(same) == "Band: 95 % t-interval over 3 seeds; 9 items a point and seed"
    mixed = same.assign(seeds=[3, 1], band=["t-interval", "items"])
    assert band_note(mixed, "its interval") == (
        "a: band: 95 % t-interval over 3 seeds; 9 items a point and seed\n"
        "b: band: its interval; 1 seed, 9 items a point"
    )


# The numbers that figures show


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("name", sorted(KEYS))
def test_columns_rows_and_note(name: str, seeds: int) -> None:
    figure, data = find_figure(name).draw(tables_of(name, seeds=seeds), SETTINGS)
    assert list(data.columns) == [*KEYS[name], *SUMMARY]
    assert not data.duplicated(KEYS[name]).any()
    assert data[KEYS[name]].equals(data[KEYS[name]].sort_values(KEYS[name], ignore_index=True))
    assert set(data["seeds"]) == {seeds}
    assert set(data["task"]) == {"number", "letter"}
    assert ("3 seeds" if seeds == 3 else "1 seed,") in texts_of(figure)
    assert figure.get_figwidth() * 25.4 == pytest.approx(PAGE_WIDTH_MM)


def test_accuracy_values() -> None:
    _, one = find_figure("accuracy").draw(tables_of("accuracy"), SETTINGS)
    row = row_of(one, task="number", hops=1, step=100)  # 4 of 10
    assert (row["mean"], row["items"], row["band"]) == (0.4, 10, "items")
    assert (row["low"], row["high"]) == (pytest.approx(0.168180, abs=1e-6), pytest.approx(0.687326, abs=1e-6))
    _, three = find_figure("accuracy").draw(tables_of("accuracy", seeds=3), SETTINGS)
    row = row_of(three, task="letter", hops=3, step=100)  # .3, .4, .5 over seeds
    half = 4.302653 * 0.1 / 3**0.5
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((0.4, 0.4 - half, 0.4 + half), abs=1e-6)
    assert 0 not in set(three["hops"])


def test_scores_values() -> None:
    _, data = find_figure("scores").draw(tables_of("scores"), SETTINGS)
    at = {"task": "letter", "layer": 1, "head": 0, "step": 200}
    row = row_of(data, **at, quantity="symbolic")
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((0.85, 0.83, 0.87))
    scaled = data[(data["task"] == "letter") & (data["quantity"] == "entropy_scaled")]
    assert scaled.loc[scaled["layer"] == 1, "mean"].tolist() == pytest.approx([1, 2 / 3, 1 / 3, 0])
    assert scaled.loc[scaled["layer"] == 0, "mean"].isna().all()  # never changes: no scale
    _, three = find_figure("scores").draw(tables_of("scores", seeds=3), SETTINGS)
    row = row_of(three, **at, quantity="entropy_scaled")  # scaled within a seed: the seeds' different levels are gone
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_pure_heads_values() -> None:
    _, data = find_figure("pure_heads").draw(tables_of("pure_heads", seeds=3), SETTINGS)
    means = {
        (gamma, kind): part["mean"].tolist()
        for (gamma, kind), part in data[data["task"] == "number"].groupby(["gamma", "kind"])
    }
    assert means == {
        (0.2, "positional"): [0, 0, 0, 1],  # pure at 100, not at 200: counts from 300
        (0.1, "positional"): [0, 0, 0, 1],
        (0.05, "positional"): [0, 0, 0, 0],
        (0.2, "symbolic"): [0, 0, 1, 1],
        (0.1, "symbolic"): [0, 0, 0, 1],
        (0.05, "symbolic"): [0, 0, 0, 1],
    }


def test_length_uses_the_last_step() -> None:
    _, one = find_figure("length").draw(tables_of("length"), SETTINGS)
    row = row_of(one, task="number", hops=0, extra=100)
    assert (row["mean"], row["low"], row["high"], row["length"]) == pytest.approx((0.6, 0.55, 0.65, 117))
    _, three = find_figure("length").draw(tables_of("length", seeds=3), SETTINGS)
    assert row_of(three, task="letter", hops=2, extra=833)["mean"] == pytest.approx(0.3)  # .4, .3, .2


def test_the_papers_values_are_there_only_when_asked_for() -> None:
    plain = SETTINGS | {"paper_reference": False}
    for name in ("accuracy", "scores", "pure_heads"):
        with_paper, data = find_figure(name).draw(tables_of(name), SETTINGS)
        without, same = find_figure(name).draw(tables_of(name), plain)
        legends = ["|".join(text.get_text() for text in one.legends[0].get_texts()) for one in (with_paper, without)]
        assert "paper" in legends[0]
        assert "paper" not in legends[1]
        pd.testing.assert_frame_equal(data, same)
    always, _ = find_figure("length").draw(tables_of("length"), plain)
    assert "paper" in "|".join(text.get_text() for text in always.legends[0].get_texts())


def test_the_papers_values_hold_together() -> None:
    for passing in (steps for by_hop in paper.STEPS_PASSING.values() for steps in by_hop.values()):
        assert list(passing) == sorted(passing)
        assert len(passing) == len(paper.THRESHOLDS)
    assert {task: len(scores) for task, scores in paper.FINAL_SCORES.items()} == {"number": 12, "letter": 12}
    ends = {
        task: [len(kinds[kind]) for kind in ("positional", "symbolic")]
        for task, kinds in paper.FIRST_PURE_STEPS.items()
    }
    assert ends == {"number": [4, 8], "letter": [0, 11]}
    for curve in paper.LENGTH_CURVES.values():
        assert list(curve) == sorted(curve)
        assert list(curve.values()) == sorted(curve.values(), reverse=True)


# What figures refuse or take as it comes


@pytest.mark.parametrize("tasks", [("letter",), ("number",), ("number", "letter", "third")])
@pytest.mark.parametrize("name", sorted(KEYS))
def test_any_set_of_tasks(name: str, tasks: tuple[str, ...], tmp_path: Path) -> None:
    figure, data = find_figure(name).draw(tables_of(name, tasks), SETTINGS)
    assert set(data["task"]) == set(tasks)
    save(figure, tmp_path / "a.png", tmp_path / "a.svg", 30)


@pytest.mark.parametrize(
    ("name", "lacking", "settings", "message"),
    [
        ("scores", "query == 'hop-2'", {}, "no query 'last' with hops 0 at tau 0.0001: there are queries hop-2"),
        ("pure_heads", "task == 'number' or query != 'last'", {}, "scores of task letter, seed 0 have no query 'last'"),
        ("scores", "tau > 0", {"tau": 0.01}, "at tau 0.01: .* taus 0.0001, 0.001"),
        ("pure_heads", "tau > 0", {"gammas": []}, "figures.gammas is empty"),
        ("length", "hops > 0", {}, "lack the rows of all items"),
        ("accuracy", "hops == 0", {}, "hold no hop classes"),
    ],
)
def test_what_is_lacking_is_named(name: str, lacking: str, settings: dict[str, Any], message: str) -> None:
    tables = {table: rows.query(lacking) for table, rows in tables_of(name).items()}
    with pytest.raises(InputError, match=message):
        find_figure(name).draw(tables, SETTINGS | settings)


def test_tasks_with_different_cores_have_no_common_axis() -> None:
    tables = tables_of("length")
    tables["extrapolation"].loc[tables["extrapolation"]["task"] == "letter", "length"] += 1
    with pytest.raises(InputError, match=r"cores of \[17, 18\] tokens"):
        find_figure("length").draw(tables, SETTINGS)


# Files


@pytest.mark.parametrize("name", sorted(KEYS))
def test_files_repeat_byte_for_byte(name: str, tmp_path: Path) -> None:
    for run in ("first", "second"):
        figure, data = find_figure(name).draw(tables_of(name, seeds=3), SETTINGS)
        save(figure, tmp_path / f"{run}.png", tmp_path / f"{run}.svg", SETTINGS["dpi"])
        save_data(data, tmp_path / f"{run}.csv")
    for suffix in ("png", "svg", "csv"):
        assert (tmp_path / f"first.{suffix}").read_bytes() == (tmp_path / f"second.{suffix}").read_bytes()
    svg = (tmp_path / "first.svg").read_text()
    assert "date" not in svg
    assert not re.search(r"\d{4}-\d{2}-\d{2}", svg)
    assert not list(tmp_path.glob(".*"))  # no temporary file is left


def test_the_callers_style_does_not_matter(tmp_path: Path) -> None:
    import matplotlib as mpl

    figure, _ = find_figure("accuracy").draw(tables_of("accuracy"), SETTINGS)
    save(figure, tmp_path / "plain.png", tmp_path / "plain.svg", 60)
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 9, "xtick.direction": "in"}):
        figure, _ = find_figure("accuracy").draw(tables_of("accuracy"), SETTINGS)
        save(figure, tmp_path / "other.png", tmp_path / "other.svg", 60)
        assert mpl.rcParams["font.size"] == 20
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "other.png").read_bytes()


def write_tables(folder: Path, name: str, tasks: tuple[str, ...] = ("number", "letter"), seeds: int = 1) -> list[Path]:
    contract = {contract.name: contract for contract in (ACCURACY, SCORES, EXTRAPOLATION)}[name]
    paths = []
    for task in tasks:
        for seed in range(seeds):
            path = folder / "measurements" / task / f"seed-{seed}" / f"{name}.parquet"
            rows = MAKERS[name](task, seed).drop(columns=["task", "seed"])
            write_table(path, contract, rows, {"task": task, "seed": seed})
            paths.append(path)
    return paths


def test_tables_carry_task_and_seed(tmp_path: Path) -> None:
    paths = write_tables(tmp_path, "accuracy", seeds=2)
    table = read_tables(paths, ("accuracy",))["accuracy"]
    assert set(zip(table["task"], table["seed"], strict=True)) == {(t, s) for t in ("number", "letter") for s in (0, 1)}
    with pytest.raises(InputError, match="second accuracy table of task number, seed 0"):
        read_tables([*paths, paths[0]], ("accuracy",))
    with pytest.raises(InputError, match="which this figure does not read: give it scores"):
        read_tables(paths, ("scores",))
    with pytest.raises(InputError, match="reads the table scores, and none is given"):
        read_tables(paths, ("accuracy", "scores"))
    nameless = tmp_path / "nameless.parquet"
    write_table(nameless, ACCURACY, accuracy_table("number", 0).drop(columns=["task", "seed"]), {})
    with pytest.raises(InputError, match="does not say its task and seed"):
        read_tables([nameless], ("accuracy",))


def test_every_figure_reads_known_tables() -> None:
    assert set(KEYS) <= set(figure_names())
    for name in figure_names():
        assert set(find_figure(name).TABLES) <= set(CONTRACTS)
    with pytest.raises(InputError, match="figure 'style' is unknown: write one of ablation, accuracy"):
        find_figure("style")


def draw_script(folder: Path, figure: str, paths: list[Path]) -> subprocess.CompletedProcess[str]:
    outputs = [part for suffix in ("png", "svg", "csv") for part in (f"--{suffix}", str(folder / f"figure.{suffix}"))]
    shared = ["--params", json.dumps({"figures": SETTINGS}), "--threads", "1", "--log", str(folder / "figures.log")]
    command = [
        sys.executable,
        str(SCRIPTS / "draw.py"),
        "--figure",
        figure,
        *shared,
        *outputs,
        "--tables",
        *map(str, paths),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_script_writes_three_files_and_needs_no_torch(tmp_path: Path) -> None:
    paths = write_tables(tmp_path, "scores")
    done = draw_script(tmp_path, "pure_heads", paths)
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(tmp_path / "figure.csv").columns.tolist() == [*KEYS["pure_heads"], *SUMMARY]
    assert (tmp_path / "figure.png").stat().st_size
    assert (tmp_path / "figure.svg").stat().st_size
    failed = draw_script(tmp_path, "pure_head", paths)
    assert failed.returncode == 1
    assert "figure 'pure_head' is unknown" in failed.stderr
    code = (
        "import sys, posym.figures.catalogue as catalogue\n"
        "for name in catalogue.figure_names(): catalogue.find_figure(name)\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=SCRIPTS, check=False).returncode == 0
