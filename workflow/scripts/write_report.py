"""Rule `report`: everything an experiment made, on one HTML page that needs nothing else."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("jinja2", "yaml")


def stage(args: argparse.Namespace) -> None:
    import yaml

    from posym.files import replaced_file
    from posym.report import provenance
    from posym.report.figures import read_figures
    from posym.report.page import Content, render
    from posym.report.scorecard import read_scorecard

    config = args.params["config"]
    schema = yaml.safe_load(args.schema.read_text(encoding="utf-8"))
    data = provenance.read_manifests(args.data, *provenance.DATA_KEYS)
    models = provenance.read_manifests(args.models, *provenance.MODEL_KEYS)
    language_models = provenance.read_manifests(args.language_models, *provenance.LANGUAGE_MODEL_KEYS)
    content = Content(
        config=config,
        facts=provenance.facts(config, models),
        settings=provenance.setting_rows(config, schema),
        claims=read_scorecard(args.scorecard) if args.scorecard else None,
        figures=read_figures(args.figures, args.tables),
        models=provenance.model_table(models),
        versions=provenance.version_table([*models, *language_models]),
        fingerprints=provenance.fingerprint_table(data, models, language_models),
    )
    page = render(content)
    with replaced_file(args.html) as temporary:
        temporary.write_text(page, encoding="utf-8")
    job.log.info("wrote %d figures and %s MB", len(content.figures), f"{len(page) / 1e6:.1f}")


if __name__ == "__main__":
    arguments = job.parser("report", __doc__)
    arguments.add_argument("--figures", type=Path, nargs="*", default=[], help="SVG files")
    arguments.add_argument("--tables", type=Path, nargs="*", default=[], help="CSV files of the same names")
    arguments.add_argument("--scorecard", type=Path, help="scorecard.json, where the experiment has one")
    arguments.add_argument("--data", type=Path, nargs="*", default=[], help="manifests of the tasks' data")
    arguments.add_argument("--models", type=Path, nargs="*", default=[], help="manifests of the trained models")
    arguments.add_argument(
        "--language-models", type=Path, nargs="*", default=[], help="manifests of local language models"
    )
    arguments.add_argument("--schema", type=Path, required=True, help="the schema that explains every setting")
    arguments.add_argument("--html", type=Path, required=True)
    job.run(arguments, stage, PACKAGES)
