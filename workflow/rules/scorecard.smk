"""Scorecard. In: the tables of whatever stages are configured. Out: results/{experiment}/scorecard.json and scorecard.md."""


rule scorecard:
    """Decide which of the paper's claims the measurements reproduce."""
    input:
        script=script("judge.py"),
        code=modules("judge.py"),
        tables=files_of_stages(SCORECARD_TABLES),
    output:
        json=f"{RESULTS}/scorecard.json",
        markdown=f"{RESULTS}/scorecard.md",
    log:
        f"{RESULTS}/logs/scorecard.log",
    benchmark:
        f"{RESULTS}/benchmarks/scorecard.tsv"
    conda:
        "../../envs/scorecard.yaml"
    threads: 1
    resources:
        mem_mb=3000,
        runtime=15,
    params:
        json=settings("scorecard"),
        experiment=config["experiment"],
    shell:
        "python {input.script:q} --experiment {params.experiment:q} --tables {input.tables:q}"
        " --json {output.json:q} --markdown {output.markdown:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"
