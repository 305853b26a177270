"""Bad command lines and configuration files, through Snakemake and the scripts themselves: a sentence, and no job starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workflow_runs import ROOT, Checkout

SCRIPTS = ROOT / "workflow" / "scripts"

FILES: dict[str, tuple[bytes, str]] = {  # content of a configuration file, what Snakemake then says
    "text for a number": (b"training: {learning_rate: 1e-4}", 'training.learning_rate: "1e-4" is text: write 1.0e-4'),
    "nan": (b"training: {learning_rate: .nan}", "configuration: training.learning_rate: nan is no finite number"),
    "misspelled task": (b"alphabets: {nubmer: {letters: 9}}", "configuration: alphabets: 'nubmer' is no task: write"),
    "key twice": (b"seeds: [0]\ndevice: cpu\nseeds: [1]\n", "has the key 'seeds' in line 1 and again in line 3"),
    "empty": (b"", "Config file must be given as JSON or YAML with keys at top level"),
    "a list": (b"- seeds\n", "Config file must be given as JSON or YAML with keys at top level"),
    "broken": (b"seeds: [0\n", "Config file is not valid JSON or YAML"),
    "no text": (b"\xff\xfe\x00", "codec can't decode byte 0xff"),
}
OPTIONS: dict[str, tuple[list[str], str]] = {
    "list on the command line": (["--config", "seeds=[0,1]"], 'configuration: seeds.0: "0" is text: write 0'),
    "device": (["--config", "device=gpu"], 'configuration: device: "gpu" should be one of auto, cpu, cuda'),
    "stage": (["--config", "stages=[train]"], 'configuration: stages.0: "train" should be one of datasets, training'),
    "task": (["--config", "tasks=[words]"], "configuration: tasks: 'words' is unknown: write one of letter, number"),
    "file that is not there": (["--configfile", "missing.yaml"], "No such file or directory: 'missing.yaml'"),
    "cores": (["--cores", "two"], "Error parsing number of cores (--cores, -c): must be integer"),
    "target": (["results/tiny/nothing.png"], "No rule to produce results/tiny/nothing.png"),
    "seed that is not configured": (["results/paper/models/number/seed-9/manifest.json"], "No rule to produce results"),
    "rule": (["--until", "trainning"], "No rule to produce trainning"),
}


def refused(checkout: Checkout, *arguments: str) -> str:
    """What Snakemake says to a command that would otherwise start jobs."""
    output = checkout.run("--cores", "1", *arguments, config=None, check=False)
    assert "exit status 0" not in output
    assert not (checkout.folder / "data").exists(), "a job ran"
    assert not (checkout.folder / "results").exists(), "a job ran"
    return output


@pytest.mark.parametrize("case", FILES)
def test_bad_configuration_files(checkout_once: Checkout, case: str) -> None:
    content, sentence = FILES[case]
    (checkout_once.folder / "bad.yaml").write_bytes(content)
    output = refused(checkout_once, "--configfile", "bad.yaml")
    assert sentence in output
    if "configuration:" in sentence:
        assert "Traceback" not in output


@pytest.mark.parametrize("case", OPTIONS)
def test_bad_options(checkout_once: Checkout, case: str) -> None:
    arguments, sentence = OPTIONS[case]
    output = refused(checkout_once, *arguments)
    assert sentence in output
    if "configuration:" in sentence:
        assert "Traceback" not in output


TASK = {"sequences": {"target_window": 4, "pre_target_window": 4, "hops": 2}, "alphabet": {"letters": 10}}
DATA = TASK | {"datasets": {"train": 8, "validation": 2, "test": 4, "seed": 0}}
FIGURE = {"figures": {"dpi": 60, "gammas": [0.1], "tau": 1e-4, "paper_reference": False}}
MODEL = ["--task", "number", "--seed", "0", "--data", "data", "--model", "model", "--folder", "out"]
DRAW = ["--png", "a.png", "--svg", "a.svg", "--csv", "a.csv"]
SCORES = {"device": "cpu", "scores": {"items": 4, "taus": [1e-4], "bootstrap_samples": 10, "seed": 0}}
COMMANDS: dict[str, tuple[str, list[str], object, str]] = {  # script, arguments, --params, what it says
    "unknown task": (
        "make_datasets", ["--task", "words", "--folder", "out"], DATA,
        "tasks: 'words' is unknown: write one of letter, number",
    ),
    "alphabet of another task": (
        "make_datasets", ["--task", "letter", "--folder", "out"], DATA,
        "alphabets.letter: has keys ['letters']: write exactly letters, integers",
    ),
    "more sequences than there are": (
        "make_datasets", ["--task", "number", "--folder", "out"],
        DATA | {"alphabet": {"letters": 1}, "datasets": DATA["datasets"] | {"train": 80_000}},
        "different sequences of 1 hops: lower the split sizes or enlarge the alphabet",
    ),
    "unreadable settings": (
        "make_datasets", ["--task", "number", "--folder", "out"], "{",
        "argument --params: invalid loads value: '{'",
    ),
    "argument left out": ("make_datasets", ["--task", "number"], DATA, "arguments are required: --folder"),
    "abbreviated argument": (
        "make_datasets", ["--task", "number", "--fold", "out"], DATA, "arguments are required: --folder",
    ),
    "other threads": (
        "make_datasets", ["--task", "number", "--folder", "out"], DATA | {"threads": 2},
        "1 CPU threads given where the configuration says 2, and other threads give other numbers",
    ),
    "no data": (
        "make_long_inputs", ["--task", "number", "--folder", "nowhere"], TASK | {"long_inputs": {}},
        "nowhere/manifest.json is missing: run the stage that makes it again",
    ),
    "no model": ("score", MODEL, SCORES, "model/manifest.json is missing: run the stage that makes it again"),
    "no GPU": (
        "score", MODEL, SCORES | {"device": "cuda"},
        "device: cuda is asked for, but PyTorch sees no GPU here: write device: auto or cpu",
    ),
    "text for a seed": ("score", [*MODEL, "--seed", "one"], SCORES, "argument --seed: invalid int value: 'one'"),
    "unknown figure": (
        "draw", ["--figure", "sores", "--tables", "a.parquet", *DRAW], FIGURE, "figure 'sores' is unknown: write one of",
    ),
    "no table": (
        "draw", ["--figure", "scores", "--tables", "a.parquet", *DRAW], FIGURE,
        "a.parquet is missing: run the stage that makes it again",
    ),
    "log below a file": (
        "make_datasets", ["--task", "number", "--folder", "out", "--log", "file/a.log"], DATA,
        "error: file: File exists (free space, permissions?)",
    ),
    "folder below a file": (
        "make_datasets", ["--task", "number", "--folder", "file/out"], DATA, "error: file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COMMANDS)
def test_bad_command_lines_of_the_scripts(tmp_path: Path, case: str) -> None:
    """A script run by hand, or by a rule that passes on what a user wrote: one sentence, exit status, nothing written."""
    script, arguments, params, sentence = COMMANDS[case]
    (tmp_path / "file").write_text("a file, no folder")
    text = params if isinstance(params, str) else json.dumps(params)
    log = [] if "--log" in arguments else ["--log", "logs/a.log"]
    done = subprocess.run(
        [sys.executable, SCRIPTS / f"{script}.py", *arguments, "--params", text, "--threads", "1", *log],
        cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert done.returncode in (1, 2), done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name not in ("out", "logs")) == ["file"]
    assert not list((tmp_path / "out").glob("*")), "something was written"


def test_the_sentence_reaches_the_log_in_a_locale_without_utf8(tmp_path: Path) -> None:
    (tmp_path / "Größe").write_text("a file, no folder")
    poor = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, SCRIPTS / "make_datasets.py", "--task", "number", "--folder", "Größe/out"]
    command += ["--params", json.dumps(DATA), "--threads", "1", "--log", "a.log"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ | poor)
    assert done.returncode == 1
    for text in (done.stderr, (tmp_path / "a.log").read_text()):
        assert "error: Gr" in text
        assert "Traceback" not in text
