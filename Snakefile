"""Positional versus symbolic attention heads, from data to figures.

The order of the stages is the order of the includes; workflow/rules/common.smk checks the configuration and turns its
`stages:` and `tasks:` into the default target.
"""

from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/scores.smk"
include: "workflow/rules/extrapolation.smk"
include: "workflow/rules/mechanism.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/llm.smk"
include: "workflow/rules/scorecard.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        files_of_stages(STAGE_FILES),


onsuccess:
    remove_resume_folders()
