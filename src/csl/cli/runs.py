"""`csl runs`: the run folders below a folder, with their key figures."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from csl.cli.console import new_console


def runs(
    root: Annotated[Path, typer.Argument(help="A folder with run folders at any depth.")] = Path("runs"),
) -> None:
    """List run folders: rules of the grammar, shares of the test set, and the stages that were done.

    `covered` are inputs that get an output from CSL; the systems' columns say how many outputs are right.
    """
    from csl.errors import InputError
    from csl.runs.runs import find_runs, read_record

    table, problems = Table("run", "what", box=None), []
    for name in ("rules", "covered", "CSL", "T5", "ensemble", "augmented"):
        table.add_column(name, justify="right")
    table.add_column("done")
    for folder in find_runs(root):
        try:
            record = read_record(folder)
        except InputError as error:
            problems.append(error)
            continue
        shares = (record.share("csl", "answered"), *map(record.share, ("csl", "t5", "ensemble", "augmented")))
        cells = (f"{share:.1%}" if share is not None else "" for share in shares)
        rules = f"{record.rules:,}" if record.rules is not None else ""
        name = folder.relative_to(root).as_posix()
        table.add_row(name, record.about.get("title", ""), rules, *cells, " ".join(record.stages))
    new_console().print(table if table.row_count else f"no run folders in {root}; `csl run RECIPE` makes some")
    if problems:
        raise problems[0]
