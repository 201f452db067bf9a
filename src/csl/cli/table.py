"""`csl table`: the paper's tables, with the figures of runs beside the paper's."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import new_console

Kind = StrEnum(
    "Kind", ["main", "breakdown", "states", "parsers", "grammars", "temperature", "domains", "semi", "variance"]
)


def table(
    kind: Annotated[Kind | None, typer.Argument(help="What to show.", show_default=False)] = None,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders of csl run, or folders with run folders at any depth.")
    ] = None,
    out: Annotated[
        list[Path] | None, typer.Option(help="Write the table here too: .md, .csv or .tex; may be repeated.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all columns and rows of the paper, not only those that have a run.")
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List the tables and figures of the paper, and what makes each.")
    ] = False,
) -> None:
    """Show the figures of runs beside the paper's: with the paper's options, with ours, and with changed ones.

    main: accuracy by system and split. breakdown: on inputs that CSL covers and on the others. states: log probability
    by number of context states. parsers: the models of CSL and NQG on the same grammar. grammars: their rules, coverage
    and parameters. temperature, semi: accuracy by sampling temperature; by number of synthetic pairs, with and without
    unlabelled inputs. domains: synthetic pairs by category. variance: deviation over seeds.
    """
    from csl.errors import InputError
    from csl.experiments.paper_tables import make_table
    from csl.experiments.records import read_runs
    from csl.experiments.table import show, write

    if listed:
        _show_items()
        return
    if kind is None or not runs:
        raise InputError("name a table and run folders, as in `csl table main runs`; --list names all tables")
    made = make_table(kind, read_runs(runs), everything=everything)
    for path in out or ():
        write(made, path)
    show(made, new_console())


def _show_items() -> None:
    """Print every table and figure of the paper with the commands that make it."""
    from rich.table import Table

    from csl.experiments.paper import paper

    shown = Table("in the paper", "what", "made by", box=None)
    for item in paper().items:
        shown.add_row(item.name, item.what, "\n".join(item.commands))
    new_console().print(shown)
