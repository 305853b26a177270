"""Rule `llm_figures`: one figure of the language models as PNG and SVG, and the data it shows as CSV."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("matplotlib", "numpy", "pandas", "pyarrow", "scipy")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd

    from posym.figures.llm import games, heads
    from posym.figures.style import save, save_data
    from posym.tables import read_table

    module = {"llm_games": games, "llm_heads": heads}[args.figure]
    tables = [read_table(path, module.TABLE).to_pandas() for path in args.tables]
    figure, data = module.draw({module.TABLE.name: pd.concat(tables, ignore_index=True)}, args.params)
    save_data(data, args.csv)
    save(figure, args.png, args.svg, args.params["dpi"], args.caption)
    job.log.info("drew %s from %d tables: %d values", args.figure, len(args.tables), len(data))


if __name__ == "__main__":
    arguments = job.parser("llm_figures", __doc__)
    arguments.add_argument("--figure", required=True, choices=("llm_games", "llm_heads"))
    arguments.add_argument("--tables", type=Path, nargs="+", required=True, help="tables of the models")
    arguments.add_argument("--png", type=Path, required=True)
    arguments.add_argument("--svg", type=Path, required=True)
    arguments.add_argument("--csv", type=Path, required=True, help="the data that the figure shows")
    arguments.add_argument("--caption", default="", help="title, empty line, description; kept in the SVG's metadata")
    job.run(arguments, stage, PACKAGES)
