"""`csl table`: the paper's tables, with the figures of runs beside the paper's."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import new_console


class Kind(StrEnum):
    """The tables there are."""

    main = "main"
    breakdown = "breakdown"
    states = "states"
    temperature = "temperature"
    semi = "semi"
    variance = "variance"


def table(
    kind: Annotated[Kind, typer.Argument(help="What to show.", show_default=False)],
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders of csl run, or folders with run folders at any depth.")
    ],
    out: Annotated[
        list[Path] | None, typer.Option(help="Write the table here too: .md, .csv or .tex; may be repeated.")
    ] = None,
) -> None:
    """Show the figures of runs beside the paper's.

    main: accuracy by system and split. breakdown: on inputs that CSL covers and on the others. states: log probability
    by number of context states. temperature, semi: accuracy by sampling temperature; by number of synthetic pairs, with
    and without unlabelled inputs. variance: deviation over seeds.
    """
    from csl.experiments.paper_tables import TABLES
    from csl.experiments.records import read_runs
    from csl.experiments.table import show, write

    made = TABLES[kind](read_runs(runs))
    for path in out or ():
        write(made, path)
    show(made, new_console())
