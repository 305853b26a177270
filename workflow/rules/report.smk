"""The report. In: figures, their numbers, the scorecard and the manifests. Out: results/{experiment}/report.html."""


rule report:
    """Put everything the experiment made on one page that opens without a network."""
    input:
        script=script("write_report.py"),
        code=modules("write_report.py"),
        parts=report_parts(),
        schema=below_here(SCHEMA),
        figures=report_files(f"{RESULTS}/figures/{{figure}}.svg"),
        tables=report_files(f"{RESULTS}/tables/{{figure}}.csv"),
        scorecard=report_scorecard(),
        data=report_manifests(
            f"{DATA}/{{task}}/manifest.json", configuration.MODEL_STAGES | {"datasets"}
        ),
        models=report_manifests(f"{MODELS}/manifest.json", configuration.MODEL_STAGES),
        language_models=report_language_models(),
    output:
        html=report(
            f"{RESULTS}/report.html",
            caption="../report/report.rst",
            category="0 Report",
            labels={"figure": "all of them, with the scorecard"},
        ),
    log:
        f"{RESULTS}/logs/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/report.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=15,
    params:
        json=configuration.report_settings(config),
        scorecard=[f"--scorecard={path}" for path in report_scorecard()],
    shell:
        "python {input.script:q} --figures {input.figures:q} --tables {input.tables:q} {params.scorecard:q}"
        " --data {input.data:q} --models {input.models:q} --language-models {input.language_models:q}"
        " --schema {input.schema:q} --html {output.html:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"
