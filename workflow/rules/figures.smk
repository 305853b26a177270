"""Figures. In: measurement tables of all tasks and seeds. Out: results/{experiment}/figures/ and the plotted numbers as CSV."""


rule figures:
    """Draw one figure and write down the numbers in it."""
    input:
        script=script("draw.py"),
        code=figure_modules,
        tables=figure_tables,
    output:
        png=f"{RESULTS}/figures/{{figure}}.png",
        svg=report(
            f"{RESULTS}/figures/{{figure}}.svg",
            caption="../report/figure.rst",
            category=figure_category,
            labels={"figure": "{figure}"},
        ),
        csv=f"{RESULTS}/tables/{{figure}}.csv",
    log:
        f"{RESULTS}/logs/figures.{{figure}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/figures.{{figure}}.tsv"
    conda:
        "../../envs/figures.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=15,
    params:
        json=settings("figures"),
        caption=figure_caption,
    shell:
        "python {input.script:q} --figure {wildcards.figure} --tables {input.tables:q}"
        " --png {output.png:q} --svg {output.svg:q} --csv {output.csv:q}"
        " --caption {params.caption:q} --params {params.json:q} --threads {threads} --log {log:q}"
