"""`csl table`: the paper's tables, with the figures of runs beside the paper's."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import new_console

Kind = StrEnum("Kind", ["main", "breakdown", "states", "temperature", "semi", "variance"])


def table(
    kind: Annotated[Kind, typer.Argument(help="What to show.", show_default=False)],
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders of csl run, or folders with run folders at any depth.")
    ],
    out: Annotated[
        list[Path] | None, typer.Option(help="Write the table here too: .md, .csv or .tex; may be repeated.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all columns and rows of the paper, not only those that have a run.")
    ] = False,
) -> None:
    """Show the figures of runs beside the paper's.

    main: accuracy by system and split. breakdown: on inputs that CSL covers and on the others. states: log probability
    by number of context states. temperature, semi: accuracy by sampling temperature; by number of synthetic pairs, with
    and without unlabelled inputs. variance: deviation over seeds.
    """
    from csl.experiments.paper_tables import make_table
    from csl.experiments.records import read_runs
    from csl.experiments.table import show, write

    made = make_table(kind, read_runs(runs), everything=everything)
    for path in out or ():
        write(made, path)
    show(made, new_console())
