"""Accuracy and head scores. In: a task's test data and a model. Out: two tables in results/{experiment}/measurements/."""


rule scores:
    """Measure accuracy by hop and the head scores of every checkpoint of one model."""
    input:
        script=script("score.py"),
        code=modules("score.py"),
        data=f"{DATA}/{{task}}/manifest.json",
        test=ancient(f"{DATA}/{{task}}/test.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        accuracy=f"{MEASUREMENTS}/accuracy.parquet",
        scores=f"{MEASUREMENTS}/scores.parquet",
    log:
        f"{RESULTS}/logs/scores.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/scores.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/scores.yaml"
    threads: config["scores"]["threads"]
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        json=settings("scores"),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.scores, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"
