"""Rule `theory_figures`: discrepancy against length and the corrections as PNG and SVG, and the data they show as CSV."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "matplotlib")


def stage(args: argparse.Namespace) -> None:
    from posym.contracts.theory import DISCREPANCY
    from posym.figures.style import save, save_data
    from posym.tables import read_table
    from posym.theory_figures import corrections, discrepancy

    settings = args.params["theory_figures"]
    table = read_table(args.table, DISCREPANCY).to_pandas()
    drawn = (("theory_discrepancy", discrepancy), ("theory_corrections", corrections))
    for (name, module), caption in zip(drawn, args.captions, strict=True):
        figure, data = module.draw(table, settings)
        save_data(data, args.tables / f"{name}.csv")
        save(figure, args.figures / f"{name}.png", args.figures / f"{name}.svg", settings["dpi"], caption)
        job.log.info("drew %s: %d rows", name, len(data))


if __name__ == "__main__":
    arguments = job.parser("theory_figures", __doc__)
    arguments.add_argument("--table", type=Path, required=True, help="discrepancy.parquet of the theory stage")
    arguments.add_argument("--figures", type=Path, required=True, help="folder for PNG and SVG")
    arguments.add_argument("--tables", type=Path, required=True, help="folder for CSV")
    arguments.add_argument(
        "--captions",
        nargs=2,
        default=("", ""),
        help="of both: title, empty line, description; kept in the SVG's metadata",
    )
    job.run(arguments, stage, PACKAGES)
