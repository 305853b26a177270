"""Rule `scorecard`: the verdict on every claim, as JSON and for people."""

import argparse
import json
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "scipy")


def stage(args: argparse.Namespace) -> None:
    from posym.claims.base import Options
    from posym.claims.catalogue import read_tables, scorecard
    from posym.claims.markdown import markdown
    from posym.files import replaced_file

    settings = args.params["scorecard"]
    rows = scorecard(read_tables(args.tables), Options(settings["bootstrap_samples"], settings["seed"]))
    for row in rows:
        job.log.info("claim %s: %s (%s)", row["id"], row["verdict"], row["claim"])
    for path, text in (
        (args.json, json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"),
        (args.markdown, markdown(args.experiment, rows)),
    ):
        with replaced_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    arguments = job.parser("scorecard", __doc__)
    arguments.add_argument("--experiment", required=True, help="its name, for the heading")
    arguments.add_argument(
        "--tables", type=Path, nargs="+", required=True, help="tables of all tasks, seeds and models"
    )
    arguments.add_argument("--json", type=Path, required=True)
    arguments.add_argument("--markdown", type=Path, required=True)
    job.run(arguments, stage, PACKAGES)
