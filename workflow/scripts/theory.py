"""Rule `theory`: T_Index and T_Retrieval on the tasks' sequences, their discrepancy, and the impossibility trials."""

import argparse
from pathlib import Path

from posym import job

PACKAGES = ("numpy", "pandas", "pyarrow", "torch")


def stage(args: argparse.Namespace) -> None:
    import pandas as pd
    import torch

    from posym.contracts.theory import CONSTRUCTION, DISCREPANCY, IMPOSSIBILITY
    from posym.tables import write_table
    from posym.tasks.letter import LetterTask
    from posym.tasks.number import NumberTask
    from posym.theory.constructions import construction_cases, construction_rows
    from posym.theory.discrepancy import discrepancy_rows, retrieval_reach
    from posym.theory.impossibility import impossibility_rows

    torch.set_num_threads(args.threads)
    params, sequences, alphabets = args.params["theory"], args.params["sequences"], args.params["alphabets"]
    number = NumberTask(**sequences, **alphabets["number"])
    provenance = {"parameters": args.params}

    separations = discrepancy_rows(**params["discrepancy"])
    write_table(args.folder / "discrepancy.parquet", DISCREPANCY, separations, provenance)
    for theta in params["discrepancy"]["retrieval_thetas"]:
        for alphabet in params["discrepancy"]["alphabets"]:
            reach = retrieval_reach(theta, alphabet)
            job.log.info("Retrieval, theta %g, %d letters: condition holds up to length %g", theta, alphabet, reach)

    settings = params["construction"]
    letters = [LetterTask(**sequences, **{**alphabets["letter"], "letters": count}) for count in settings["alphabets"]]
    tasks: list[NumberTask | LetterTask] = [number, *letters]
    cases = [case for task in tasks for case in construction_cases(task, settings, params["seed"])]
    progress, total = job.Progress(sum(case.work for case in cases), "attention entries"), 0
    rows: list[dict[str, object]] = []
    for case in cases:
        rows += construction_rows(case)
        total += case.work
        progress.update(total, f"{case.tokens.shape[1]} tokens")
    write_table(args.folder / "construction.parquet", CONSTRUCTION, pd.DataFrame(rows), provenance)

    letter = LetterTask(**sequences, **alphabets["letter"])
    trials = impossibility_rows(number, letter, params["impossibility"]["trials"], params["seed"])
    write_table(args.folder / "impossibility.parquet", IMPOSSIBILITY, pd.DataFrame(trials), provenance)
    largest = max(row["output_distance"] for row in trials if row["impossible"])  # type: ignore[type-var]
    job.log.info("ran %d constructions; impossible pairs are at most %.1e apart", len(cases), largest)


if __name__ == "__main__":
    arguments = job.parser("theory", __doc__)
    arguments.add_argument("--folder", type=Path, required=True, help="folder for the tables")
    job.run(arguments, stage, PACKAGES)
