"""What each head computes, and what breaks without it. In: data and a model. Out: tables in results/{experiment}/measurements/."""


rule functions:
    """Measure which function each head computes at every checkpoint."""
    input:
        script=script("measure_functions.py"),
        code=task_modules("measure_functions.py"),
        data=f"{DATA}/{{task}}/manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/test.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/functions.parquet",
    log:
        f"{RESULTS}/logs/functions.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/functions.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/functions.yaml"
    threads: config["mechanism"]["functions"]["threads"]
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        json=settings("functions", per_task=True),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule frequencies:
    """Measure what each RoPE plane of every head is used for."""
    input:
        script=script("measure_frequencies.py"),
        code=modules("measure_frequencies.py"),
        data=f"{DATA}/{{task}}/manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/test.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/frequencies.parquet",
    log:
        f"{RESULTS}/logs/frequencies.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/frequencies.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/frequencies.yaml"
    threads: config["mechanism"]["frequencies"]["threads"]
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        json=settings("frequencies"),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule ablation:
    """Take heads out, one layer at a time and in pairs, and measure accuracy by hop."""
    input:
        script=script("ablate.py"),
        code=modules("ablate.py"),
        data=f"{DATA}/{{task}}/manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/test.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/ablation.parquet",
    log:
        f"{RESULTS}/logs/ablation.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/ablation.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/ablation.yaml"
    threads: config["mechanism"]["ablation"]["threads"]
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        json=settings("ablation"),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule patching:
    """Patch activations into minimal counterfactuals."""
    input:
        script=script("patch.py"),
        code=task_modules("patch.py"),
        data=f"{DATA}/{{task}}/manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/test.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/patching.parquet",
    log:
        f"{RESULTS}/logs/patching.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/patching.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/patching.yaml"
    threads: config["mechanism"]["patching"]["threads"]
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        json=settings("patching", per_task=True),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule restriction:
    """Hold RoPE planes or one layer's attention on long inputs and measure accuracy by hop."""
    input:
        script=script("restrict.py"),
        code=modules("restrict.py"),
        data=f"{DATA}/{{task}}/extrapolation.manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/extrapolation.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/restriction.parquet",
    log:
        f"{RESULTS}/logs/restriction.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/restriction.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/restriction.yaml"
    threads: config["mechanism"]["restriction"]["threads"]
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        json=settings("restriction"),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule geometry:
    """Measure queries and keys in each head's dominant RoPE plane."""
    input:
        script=script("measure_geometry.py"),
        code=task_modules("measure_geometry.py"),
        data=f"{DATA}/{{task}}/manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/test.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/geometry.parquet",
    log:
        f"{RESULTS}/logs/geometry.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/geometry.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/geometry.yaml"
    threads: config["mechanism"]["geometry"]["threads"]
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        json=settings("geometry", per_task=True),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule flow:
    """Keep the attention of one example, before and after it is answered rightly."""
    input:
        script=script("measure_flow.py"),
        code=task_modules("measure_flow.py"),
        data=f"{DATA}/{{task}}/manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/test.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/flow.parquet",
    log:
        f"{RESULTS}/logs/flow.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/flow.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/flow.yaml"
    threads: config["mechanism"]["flow"]["threads"]
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        json=settings("flow", per_task=True),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule discrepancy:
    """Measure how well separated each head's first choice is against the input's length."""
    input:
        script=script("measure_discrepancy.py"),
        code=task_modules("measure_discrepancy.py"),
        data=f"{DATA}/{{task}}/extrapolation.manifest.json",
        sequences=ancient(f"{DATA}/{{task}}/extrapolation.parquet"),
        model=f"{MODELS}/manifest.json",
        checkpoints=ancient(f"{MODELS}/checkpoints"),
    output:
        table=f"{MEASUREMENTS}/discrepancy.parquet",
    log:
        f"{RESULTS}/logs/discrepancy.{{task}}.seed-{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/discrepancy.{{task}}.seed-{{seed}}.tsv"
    conda:
        "../../envs/discrepancy.yaml"
    threads: config["mechanism"]["discrepancy"]["threads"]
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        json=settings("discrepancy", per_task=True),
        data=subpath(input.data, parent=True),
        model=subpath(input.model, parent=True),
        folder=subpath(output.table, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --seed {wildcards.seed} --data {params.data:q}"
        " --model {params.model:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"
