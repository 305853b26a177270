"""Data of each task. In: the configuration. Out: data/{experiment}/{task}/, a manifest last."""


rule datasets:
    """Make a task's training, validation and test sequences."""
    input:
        script=script("make_datasets.py"),
        code=task_modules("make_datasets.py"),
    output:
        train=f"{DATA}/{{task}}/train.parquet",
        validation=f"{DATA}/{{task}}/validation.parquet",
        test=f"{DATA}/{{task}}/test.parquet",
        vocabulary=f"{DATA}/{{task}}/vocabulary.json",
        manifest=f"{DATA}/{{task}}/manifest.json",
    log:
        f"{RESULTS}/logs/datasets.{{task}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/datasets.{{task}}.tsv"
    conda:
        "../../envs/datasets.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        json=settings("datasets", per_task=True),
        folder=subpath(output.manifest, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule long_inputs:
    """Put extra target-type tokens before test sequences. Its manifest is its own, so that another axis retrains nothing."""
    input:
        script=script("make_long_inputs.py"),
        code=task_modules("make_long_inputs.py"),
        manifest=f"{DATA}/{{task}}/manifest.json",
        test=ancient(f"{DATA}/{{task}}/test.parquet"),
    output:
        sequences=f"{DATA}/{{task}}/extrapolation.parquet",
        manifest=f"{DATA}/{{task}}/extrapolation.manifest.json",
    log:
        f"{RESULTS}/logs/long_inputs.{{task}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/long_inputs.{{task}}.tsv"
    conda:
        "../../envs/long_inputs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        json=settings("long_inputs", per_task=True),
        folder=subpath(output.manifest, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"
