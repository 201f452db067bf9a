"""`csl report`: a run as one page to look at in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.induce import run_stages
from csl.cli.options import CpuThreads

REPORT_FILE = "report.html"


def report(
    run: Annotated[Path, typer.Argument(help="A run folder: of csl run, augment or induce.")],
    test: Annotated[
        Path | None, typer.Option(help="Test examples, with a category in column 3; default: data/test.tsv of RUN.")
    ] = None,
    unlabelled: Annotated[
        Path | None,
        typer.Option("--unlabelled", "--unlabeled", help="Inputs, one per line: which ones to annotate next."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; default: report.html in RUN.")] = None,
    threads: CpuThreads = 1,
) -> None:
    """Write a report of a run: one HTML file that needs no network and no server.

    It shows the search, the rules and what each saves, derivations, inputs that are not covered and why, training
    curves, accuracy, synthetic pairs with their nearest training pairs, and combinations of rules that the training
    data never shows, as far as the run has them. Needs jinja2: pip install '.[report]'.
    """
    from csl.engine import Threads
    from csl.errors import InputError
    from csl.files import is_stream, refuse_input_as_output
    from csl.report.page import write_report
    from csl.runs.folder import RunFolder
    from csl.runs.stages.registry import REPORT

    file, folder = out or run / REPORT_FILE, RunFolder.open(run)
    refuse_input_as_output(file, test, unlabelled)
    if folder.is_run and not (out or test or unlabelled):
        run_stages(run, folder.recipe(), (REPORT,), threads, resume=True, replace=True)
    elif out is None and REPORT_FILE in folder.checksums:
        raise InputError("is the report of the run itself; choose another file with --out", file)
    else:
        with Messages("writing the report …", "nothing was written", stderr=True):
            write_report(run, file, test=test, unlabelled=unlabelled, engine=Threads(threads))
    if not is_stream(file):
        new_console().print(f"{file}: {file.stat().st_size / 1000:,.0f} kB")
