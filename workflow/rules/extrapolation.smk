"""Long inputs. In: a task's long sequences and a model. Out: extrapolation.parquet in results/{experiment}/measurements/."""


rule extrapolation:
    """Measure accuracy by hop on inputs longer than those of training."""
    input:
        script=script("extrapolate.py"),
        code=modules("extrapolate.py"),
        data=f"{DATA}/{{task}}/extrapolation.manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/extrapolation.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/extrapolation.parquet",
    log:
        f"{RESULTS}/logs/extrapolation.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/extrapolation.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/extrapolation.yaml"
    threads: config["extrapolation"]["threads"]
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        json=settings("extrapolation"),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"
