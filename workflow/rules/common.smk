"""What all rules share. In: the configuration. Out: checked settings, paths, targets and the modules of each stage."""

import contextlib
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

SCRIPTS = Path(workflow.basedir) / "workflow" / "scripts"
sys.path.append(str(SCRIPTS))

from posym import config as configuration
from posym.errors import InputError
from posym.imports import constant, imported_files
from posym.llm import configuration as llm

FIGURES = [
    path.stem for path in SCRIPTS.glob("posym/figures/*.py") if constant(path, "TABLES")
]

try:
    configuration.check_files(workflow.configfiles)
    configuration.check(
        config,
        Path(workflow.basedir) / "workflow" / "schemas" / "config.schema.yaml",
        sorted(FIGURES),
    )
except InputError as error:
    raise WorkflowError(str(error)) from None

DATA = f"data/{config['experiment']}"
RESULTS = f"results/{config['experiment']}"
MODELS = f"{RESULTS}/models/{{task}}/seed-{{seed}}"
MEASUREMENTS = f"{RESULTS}/measurements/{{task}}/seed-{{seed}}"


wildcard_constraints:
    task="|".join(config["tasks"]),
    seed="|".join(map(str, config["seeds"])),
    figure="|".join(config["figures"]["names"]),
    model=llm.pattern(config),
    drawing="|".join(map(re.escape, llm.drawings(config))),


def below_here(path):
    """A path of the workflow's own as seen from the working directory: the same text wherever the folder is moved."""
    return os.path.relpath(path)


def script(name):
    """Path of a script."""
    return below_here(SCRIPTS / name)


def modules(name, *more):
    """The library files that a script imports, and those of `more` that it loads by name."""
    return [
        below_here(path)
        for path in (
            *(SCRIPTS / extra for extra in more),
            *imported_files(SCRIPTS, name, *more),
        )
    ]


def settings(rule, per_task=False):
    """The one value that a rule's `params` depend on; see `posym.config.settings`."""
    if not per_task:
        return configuration.settings(config, rule)
    return lambda wildcards: configuration.settings(config, rule, wildcards.task)


def task_modules(name):
    """Modules of a script that loads the task's own module by name."""
    return lambda wildcards: modules(name, f"posym/tasks/{wildcards.task}.py")


def figure_modules(wildcards):
    """Modules of the script that draws one figure."""
    return modules("draw.py", f"posym/figures/{wildcards.figure}.py")


def figure_tables(wildcards):
    """The tables that a figure says it reads, of every task and seed."""
    names = constant(SCRIPTS / "posym" / "figures" / f"{wildcards.figure}.py", "TABLES")
    return expand(
        f"{MEASUREMENTS}/{{table}}.parquet",
        task=config["tasks"],
        seed=config["seeds"],
        table=names,
    )


def llm_settings(name):
    """The one value that a rule of the llm stage depends on; see `posym.llm.configuration.settings`."""
    if name in ("onehop", "llm_figures"):
        return llm.settings(config, name)
    return lambda wildcards: llm.settings(config, name, wildcards.model)


def llm_manifest(wildcards):
    """What says where a local model is; nothing for a model behind an API."""
    local = wildcards.model in llm.slugs(config, local=True)
    return [f"{RESULTS}/llm/models/{wildcards.model}/manifest.json"] if local else []


def llm_model_option(wildcards):
    """The option that names a local model's folder."""
    return " ".join(
        f"--model {shlex.quote(os.path.dirname(path))}"
        for path in llm_manifest(wildcards)
    )


def llm_figure_name(wildcards):
    """Which kind of figure a file of the llm stage holds."""
    return wildcards.drawing.partition(".")[0]


def llm_tables(wildcards):
    """The tables that a figure of the llm stage shows."""
    kind, _, model = wildcards.drawing.partition(".")
    if kind == "llm_heads":
        return [f"{RESULTS}/llm/{model}-heads.parquet"]
    return expand(f"{RESULTS}/llm/{{model}}.parquet", model=llm.slugs(config))


STAGE_FILES = {
    "datasets": [f"{DATA}/{{task}}/manifest.json"],
    "training": [f"{MODELS}/manifest.json"],
    "scores": [f"{MEASUREMENTS}/accuracy.parquet", f"{MEASUREMENTS}/scores.parquet"],
    "extrapolation": [f"{MEASUREMENTS}/extrapolation.parquet"],
    "mechanism": [
        f"{MEASUREMENTS}/functions.parquet",
        f"{MEASUREMENTS}/frequencies.parquet",
        f"{MEASUREMENTS}/ablation.parquet",
        f"{MEASUREMENTS}/patching.parquet",
        f"{MEASUREMENTS}/restriction.parquet",
        f"{MEASUREMENTS}/geometry.parquet",
        f"{MEASUREMENTS}/flow.parquet",
        f"{MEASUREMENTS}/discrepancy.parquet",
    ],
    "theory": [
        f"{RESULTS}/theory/construction.parquet",
        f"{RESULTS}/theory/discrepancy.parquet",
        f"{RESULTS}/theory/impossibility.parquet",
        f"{RESULTS}/figures/theory_discrepancy.png",
        f"{RESULTS}/figures/theory_corrections.png",
    ],
    "figures": [f"{RESULTS}/figures/{{figure}}.png"],
    "llm": [f"{RESULTS}/figures/{{drawing}}.png"],
}


def targets():
    """The files that the configured stages end in."""
    return [
        file
        for stage in config["stages"]
        for pattern in STAGE_FILES[stage]
        for file in expand(
            pattern,
            task=config["tasks"],
            seed=config["seeds"],
            figure=config["figures"]["names"],
            drawing=llm.drawings(config),
        )
    ]


def remove_resume_folders():
    """Remove what reruns would go on from, of finished models; run by Snakemake after it has noted that they are.

    Another run in this folder may be training: its model has no manifest yet.
    """
    models = {
        f"{task}-seed-{seed}": MODELS.format(task=task, seed=seed)
        for task in config["tasks"]
        for seed in config["seeds"]
    }
    for name, model in models.items():
        if os.path.exists(f"{model}/manifest.json"):
            shutil.rmtree(f"{RESULTS}/resume/{name}", ignore_errors=True)
    with contextlib.suppress(OSError):  # not there, or not empty
        os.rmdir(f"{RESULTS}/resume")
