"""Rule `figures`: one figure as PNG and SVG, and the data it shows as CSV."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "matplotlib")


def stage(args: argparse.Namespace) -> None:
    from posym.figures.catalogue import find_figure, read_tables
    from posym.figures.style import save, save_data

    settings = args.params["figures"]
    module = find_figure(args.figure)
    tables = read_tables(args.tables, module.TABLES)
    figure, data = module.draw(tables, settings)
    save_data(data, args.csv)
    save(figure, args.png, args.svg, settings["dpi"], args.caption)
    job.log.info("drew %s from %d tables: %d values", args.figure, len(args.tables), len(data))


if __name__ == "__main__":
    arguments = job.parser("figures", __doc__)
    arguments.add_argument("--figure", required=True, help="name of a module in posym.figures")
    arguments.add_argument("--tables", type=Path, nargs="+", required=True, help="tables of all tasks and seeds")
    arguments.add_argument("--png", type=Path, required=True)
    arguments.add_argument("--svg", type=Path, required=True)
    arguments.add_argument("--csv", type=Path, required=True, help="the data that the figure shows")
    arguments.add_argument("--caption", default="", help="title, empty line, description; kept in the SVG's metadata")
    job.run(arguments, stage, PACKAGES)
