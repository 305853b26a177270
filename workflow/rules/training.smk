"""Training. In: a task's data. Out: results/{experiment}/models/{task}/seed-{seed}/, a manifest last."""


rule training:
    """Train one model of one task and seed; a rerun after a kill goes on from its resume folder."""
    input:
        script=script("train.py"),
        code=modules("train.py"),
        manifest=f"{DATA}/{{task}}/manifest.json",
        train=ancient(f"{DATA}/{{task}}/train.parquet"),
    output:
        checkpoints=directory(f"{MODELS}/checkpoints"),
        steps=f"{MODELS}/training.parquet",
        manifest=f"{MODELS}/manifest.json",
    log:
        f"{RESULTS}/logs/training.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/training.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/training.yaml"
    threads: config["training"]["threads"]
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        json=settings("training"),
        data=subpath(input.manifest, parent=True),
        folder=subpath(output.manifest, parent=True),
        resume=f"{RESULTS}/resume/{{task}}-seed-{{seed}}",
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --folder {params.folder:q} --resume {params.resume:q} --code {input.script:q} {input.code:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"
