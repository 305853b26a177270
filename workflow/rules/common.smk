"""What all rules share. In: the configuration. Out: checked settings, paths, targets and the modules of each stage."""

import contextlib
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

SCRIPTS = Path(workflow.basedir) / "workflow" / "scripts"
SCHEMA = Path(workflow.basedir) / "workflow" / "schemas" / "config.schema.yaml"
sys.path.append(str(SCRIPTS))

from posym import config as configuration
from posym.captions import caption
from posym.errors import InputError
from posym.imports import constant, imported_files
from posym.llm import configuration as llm
from posym.report.sections import category

FIGURES = [
    path.stem for path in SCRIPTS.glob("posym/figures/*.py") if constant(path, "TABLES")
]

try:
    configuration.check_files(workflow.configfiles)
    configuration.check(config, SCHEMA, sorted(FIGURES))
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


def figure_caption(wildcards):
    """Title and description of one figure; see `posym.captions`."""
    return caption(SCRIPTS / "posym" / "figures" / f"{wildcards.figure}.py")


def figure_category(wildcards):
    """Where one figure stands in Snakemake's own report."""
    return category(wildcards.get("figure") or wildcards.get("drawing"))


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


def llm_caption(wildcards):
    """Title and description of a figure of the llm stage."""
    kind = llm_figure_name(wildcards).removeprefix("llm_")
    return caption(SCRIPTS / "posym" / "figures" / "llm" / f"{kind}.py")


def theory_captions():
    """Titles and descriptions of the theory's two figures, in the order of the rule's outputs."""
    return [
        caption(SCRIPTS / "posym" / "theory_figures" / f"{name}.py")
        for name in ("discrepancy", "corrections")
    ]


def llm_tables(wildcards):
    """The tables that a figure of the llm stage shows."""
    kind, _, model = wildcards.drawing.partition(".")
    if kind == "llm_heads":
        return [f"{RESULTS}/llm/{model}-heads.parquet"]
    return expand(f"{RESULTS}/llm/{{model}}.parquet", model=llm.slugs(config))


def report_files(pattern):
    """Files of every figure that the configured stages draw; `pattern` has `{figure}` for its name."""
    stages = config["stages"]
    names = [
        *(config["figures"]["names"] if "figures" in stages else []),
        *(THEORY_FIGURES if "theory" in stages else []),
        *(llm.drawings(config) if "llm" in stages else []),
    ]
    return expand(pattern, figure=names)


def report_manifests(pattern, stages):
    """Manifests of all tasks and seeds, where one of these stages is configured."""
    if not stages & set(config["stages"]):
        return []
    return expand(pattern, task=config["tasks"], seed=config["seeds"])


def report_language_models():
    """Manifests of the local language models, where their stage is configured."""
    local = llm.slugs(config, local=True) if "llm" in config["stages"] else []
    return expand(f"{RESULTS}/llm/models/{{model}}/manifest.json", model=local)


def report_scorecard():
    """The scorecard, where the configured stages make it."""
    return [f"{RESULTS}/scorecard.json"] if "scorecard" in config["stages"] else []


def report_parts():
    """The files beside the report's modules that make up its page."""
    return sorted(
        below_here(path)
        for path in SCRIPTS.glob("posym/report/page.*")
        if path.suffix != ".py"
    )


THEORY_FIGURES = ("theory_discrepancy", "theory_corrections")
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
        *(f"{RESULTS}/figures/{name}.png" for name in THEORY_FIGURES),
    ],
    "figures": [f"{RESULTS}/figures/{{figure}}.png"],
    "llm": [f"{RESULTS}/figures/{{drawing}}.png"],
    "scorecard": [f"{RESULTS}/scorecard.json", f"{RESULTS}/scorecard.md"],
    "report": [f"{RESULTS}/report.html"],
}


# What the claims read, of every stage that measures.
SCORECARD_TABLES = {
    "scores": STAGE_FILES["scores"],
    "extrapolation": STAGE_FILES["extrapolation"],
    "mechanism": [
        f"{MEASUREMENTS}/functions.parquet",
        f"{MEASUREMENTS}/frequencies.parquet",
        f"{MEASUREMENTS}/ablation.parquet",
        f"{MEASUREMENTS}/discrepancy.parquet",
    ],
    "theory": [
        f"{RESULTS}/theory/discrepancy.parquet",
        f"{RESULTS}/theory/impossibility.parquet",
    ],
    "llm": [f"{RESULTS}/llm/{{model}}.parquet"],
}


def files_of_stages(patterns):
    """What the patterns of each configured stage name, for every task, seed, figure and language model."""
    return [
        file
        for stage in config["stages"]
        for pattern in patterns.get(stage, [])
        for file in expand(
            pattern,
            task=config["tasks"],
            seed=config["seeds"],
            figure=config["figures"]["names"],
            drawing=llm.drawings(config),
            model=llm.slugs(config),
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
