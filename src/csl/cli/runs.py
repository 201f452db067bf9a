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

    `covered` are inputs that get an output from CSL; the systems' columns say how many outputs are correct.
    """
    from csl.errors import InputError
    from csl.experiments.experiment import find_runs
    from csl.runs.folder import RunFolder
    from csl.runs.stages.registry import SYSTEMS

    rows: list[tuple[str, str, dict[str, str], str]] = []
    problems = []
    for path in find_runs(root):
        try:
            record = RunFolder(path).record
            figures = {name: done.figures for name, done in record.stages.items()}
            cells = {"rules": f"{figures['induce']['rules']:,}"} if "induce" in figures else {}
            for system, score in figures.get("evaluate", {}).get("systems", {}).items():
                total = max(1, score["examples"])
                cells |= {"covered": f"{score['answered'] / total:.1%}"} if system == "csl" else {}
                cells[SYSTEMS.get(system, system)] = f"{score['right'] / total:.1%}"
        except (InputError, KeyError, TypeError) as error:
            problems.append(error if isinstance(error, InputError) else InputError("not the record of a run", path))
            continue
        rows.append((path.relative_to(root).as_posix(), record.title, cells, " ".join(record.stages)))
    if not rows and not problems:
        new_console().print(f"no run folders in {root}; `csl run RECIPE` makes some")
    columns = [name for name in ("rules", "covered", *SYSTEMS.values()) if any(name in row[2] for row in rows)]
    table = Table("run", "what", *columns, "done", box=None)
    for column in table.columns[2:-1]:
        column.justify = "right"
    for name, title, cells, done in rows:
        table.add_row(name, title, *(cells.get(column, "") for column in columns), done)
    if rows:
        new_console().print(table)
    if problems:
        raise problems[0]
