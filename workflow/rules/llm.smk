"""The two games on language models. In: the configuration. Out: data/{experiment}/onehop/, results/{experiment}/llm/ and figures."""


envvars:
    *llm.keys(config),


rule onehop:
    """Make the prompts of one game."""
    input:
        script=script("make_prompts.py"),
        code=modules("make_prompts.py"),
    output:
        prompts=f"{DATA}/onehop/{{task}}.parquet",
        manifest=f"{DATA}/onehop/{{task}}.manifest.json",
    log:
        f"{RESULTS}/logs/onehop.{{task}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/onehop.{{task}}.tsv"
    conda:
        "../../envs/onehop.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=15,
    params:
        json=llm_settings("onehop"),
        folder=subpath(output.manifest, parent=True),
    shell:
        "python {input.script:q} --task {wildcards.task} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule llm_model:
    """Make a local model ready: fetch it, and convert quantised weights to plain ones."""
    input:
        script=script("prepare_model.py"),
        code=modules("prepare_model.py"),
    output:
        manifest=f"{RESULTS}/llm/models/{{model}}/manifest.json",
    log:
        f"{RESULTS}/logs/llm_model.{{model}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/llm_model.{{model}}.tsv"
    conda:
        "../../envs/llm_model.yaml"
    threads: config["llm"]["threads"]
    resources:
        mem_mb=6000,
        runtime=60,
    params:
        json=llm_settings("llm_model"),
        folder=subpath(output.manifest, parent=True),
    shell:
        "python {input.script:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule llm_games:
    """Ask one model both games. Replies are kept in an undeclared folder as they arrive: a rerun asks for what is missing."""
    input:
        script=script("play.py"),
        code=modules("play.py"),
        prompts=expand(f"{DATA}/onehop/{{task}}.manifest.json", task=config["tasks"]),
        tables=ancient(expand(f"{DATA}/onehop/{{task}}.parquet", task=config["tasks"])),
        model=llm_manifest,
    output:
        table=f"{RESULTS}/llm/{{model}}.parquet",
        replies=f"{RESULTS}/llm/{{model}}-replies.parquet",
    log:
        f"{RESULTS}/logs/llm_games.{{model}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/llm_games.{{model}}.tsv"
    conda:
        "../../envs/llm_games.yaml"
    threads: config["llm"]["threads"]
    resources:
        mem_mb=6000,
        runtime=720,
    params:
        json=llm_settings("llm_games"),
        tasks=config["tasks"],
        work=f"{RESULTS}/llm/work/{{model}}",
        model=llm_model_option,
    shell:
        "python {input.script:q} --tasks {params.tasks} --prompts {input.prompts:q} {params.model}"
        " --work {params.work:q} --table {output.table:q} --replies {output.replies:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule llm_heads:
    """Score the heads and RoPE planes of one local model by block swaps."""
    input:
        script=script("score_blocks.py"),
        code=modules("score_blocks.py"),
        model=f"{RESULTS}/llm/models/{{model}}/manifest.json",
    output:
        table=f"{RESULTS}/llm/{{model}}-heads.parquet",
    log:
        f"{RESULTS}/logs/llm_heads.{{model}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/llm_heads.{{model}}.tsv"
    conda:
        "../../envs/llm_heads.yaml"
    threads: config["llm"]["threads"]
    resources:
        mem_mb=6000,
        runtime=240,
    params:
        json=llm_settings("llm_heads"),
        tasks=config["tasks"],
        model=subpath(input.model, parent=True),
    shell:
        "python {input.script:q} --tasks {params.tasks} --model {params.model:q} --table {output.table:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule llm_figures:
    """Draw accuracy against length of all models, or the heads of one, and write down the numbers."""
    input:
        script=script("draw_llm.py"),
        code=modules("draw_llm.py"),
        tables=llm_tables,
    output:
        png=f"{RESULTS}/figures/{{drawing}}.png",
        svg=report(
            f"{RESULTS}/figures/{{drawing}}.svg",
            caption="../report/figure.rst",
            category=figure_category,
            labels={"figure": "{drawing}"},
        ),
        csv=f"{RESULTS}/tables/{{drawing}}.csv",
    log:
        f"{RESULTS}/logs/llm_figures.{{drawing}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/llm_figures.{{drawing}}.tsv"
    conda:
        "../../envs/llm_figures.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=15,
    params:
        json=llm_settings("llm_figures"),
        caption=llm_caption,
        figure=llm_figure_name,
    shell:
        "python {input.script:q} --figure {params.figure} --tables {input.tables:q}"
        " --png {output.png:q} --svg {output.svg:q} --csv {output.csv:q}"
        " --caption {params.caption:q} --params {params.json:q} --threads {threads} --log {log:q}"
