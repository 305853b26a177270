"""Theory. In: the configuration alone. Out: three tables in results/{experiment}/theory/, two figures and their numbers."""


rule theory:
    """Run the constructions, compute their discrepancy exactly, and try random layers on the impossible pairs."""
    input:
        script=script("theory.py"),
        code=modules("theory.py"),
    output:
        construction=f"{RESULTS}/theory/construction.parquet",
        discrepancy=f"{RESULTS}/theory/discrepancy.parquet",
        impossibility=f"{RESULTS}/theory/impossibility.parquet",
    log:
        f"{RESULTS}/logs/theory.log",
    benchmark:
        f"{RESULTS}/benchmarks/theory.tsv"
    conda:
        "../../envs/theory.yaml"
    threads: config["theory"]["threads"]
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        json=settings("theory"),
        folder=subpath(output.discrepancy, parent=True),
    shell:
        "python {input.script:q} --folder {params.folder:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"


rule theory_figures:
    """Draw discrepancy against length and the corrections, and write down the numbers in them."""
    input:
        script=script("draw_theory.py"),
        code=modules("draw_theory.py"),
        table=f"{RESULTS}/theory/discrepancy.parquet",
    output:
        discrepancy_png=f"{RESULTS}/figures/theory_discrepancy.png",
        discrepancy_svg=report(
            f"{RESULTS}/figures/theory_discrepancy.svg",
            caption="../report/theory_discrepancy.rst",
            category=category("theory_discrepancy"),
            labels={"figure": "theory_discrepancy"},
        ),
        discrepancy_csv=f"{RESULTS}/tables/theory_discrepancy.csv",
        corrections_png=f"{RESULTS}/figures/theory_corrections.png",
        corrections_svg=report(
            f"{RESULTS}/figures/theory_corrections.svg",
            caption="../report/theory_corrections.rst",
            category=category("theory_corrections"),
            labels={"figure": "theory_corrections"},
        ),
        corrections_csv=f"{RESULTS}/tables/theory_corrections.csv",
    log:
        f"{RESULTS}/logs/theory_figures.log",
    benchmark:
        f"{RESULTS}/benchmarks/theory_figures.tsv"
    conda:
        "../../envs/theory_figures.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=15,
    params:
        json=settings("theory_figures"),
        captions=theory_captions(),
        figures=subpath(output.discrepancy_png, parent=True),
        tables=subpath(output.discrepancy_csv, parent=True),
    shell:
        "python {input.script:q} --table {input.table:q} --figures {params.figures:q} --tables {params.tables:q}"
        " --captions {params.captions:q}"
        " --params {params.json:q} --threads {threads} --log {log:q}"
