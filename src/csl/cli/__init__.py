"""The command line: one file a command, each only as long as its options.

Nothing heavy is imported here; commands import what they run when they run.
"""

import inspect
import io
import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Annotated, Any, NoReturn, TextIO

import typer
from rich.text import Text
from typer.core import TyperGroup

from csl import __version__
from csl.cli import (
    augment,
    data,
    ensemble,
    errors,
    evaluate,
    explain,
    fit,
    geca,
    grammar,
    induce,
    look,
    nqg,
    parse,
    predict,
    report,
    reword,
    run,
    runs,
    sample,
    sweep,
    table,
    train,
    types,
)
from csl.cli.console import handle_interrupts, is_interrupt, new_console
from csl.errors import FAILURES, REMEDIES, CslError, InputError, LimitWarning, from_system
from csl.files import remove_unfinished

SIGNALLED = 128  # exit codes above it say which signal ended the program
INTERRUPTED = SIGNALLED + signal.SIGINT
OUT_OF_MEMORY = "out of memory; use less data, smaller options or fewer threads"
COMPILED = "compiled code (NUMBA_CACHE_DIR)"

WHOLE_RUNS = "only of `csl run` and `csl sweep`, which do whole runs side by side; use --threads here"
OLD = {
    "induce --seeds": "now --seed-rules",
    "augment --seeds": "now --seed-rules",
    "fit --unlabeled": "now --unlabelled",
    **{
        f"{name} --{side}-field": f"now --{side}-column"
        for name in ("induce", "augment", "train", "evaluate", "grammar", "nqg")
        for side in ("input", "output")
    },
    "parse -k": "gone; `csl grammar explain` shows other derivations",
    **{
        f"{name} --{option}": WHOLE_RUNS
        for name in ("induce", "fit", "sample", "augment", "parse", "evaluate", "grammar")
        for option in ("engine", "address")
    },
}


class Commands(TyperGroup):
    """The commands; an option of an older version is refused with the new form."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Exception as error:  # of click, which typer has under a name of its own
            old = f"{ctx.invoked_subcommand} {getattr(error, 'option_name', '')}"
            if old not in OLD:
                raise
            raise InputError(f"{old.split()[1]} is {OLD[old]}") from error


app = typer.Typer(
    name="csl",
    cls=Commands,
    help="Learn a grammar from (input, output) pairs, and sample new pairs from it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"csl {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn a grammar from (input, output) pairs, and sample new pairs from it."""


for command in (
    look.look, types.types, augment.augment, induce.induce, fit.fit, parse.parse, sample.sample, reword.reword,
    train.train, predict.predict, evaluate.evaluate, errors.errors, ensemble.ensemble, table.table, run.run,
    report.report, sweep.sweep, runs.runs, geca.geca,
):  # fmt: skip
    app.command()(command)
app.add_typer(data.app, name="data")
grammar.app.command()(explain.coverage)
grammar.app.command()(explain.explain)
app.add_typer(grammar.app, name="grammar")
app.add_typer(nqg.app, name="nqg")
for known in (app, data.app, grammar.app, nqg.app):
    for info in known.registered_commands:  # a paragraph is as wide as the terminal, not as its lines in the code
        paragraphs = inspect.cleandoc((info.callback and info.callback.__doc__) or "").split("\n\n")
        info.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _is_of_numba(error: OSError) -> bool:
    """Tell whether an error is of writing compiled code; it does not name its file."""
    return any("numba" in frame.filename for frame in traceback.extract_tb(error.__traceback__)[-8:])


def _fail(error: CslError) -> NoReturn:
    new_console(stderr=True).print(Text.assemble(("error:", "bold red"), f" {error}"))
    sys.exit(error.exit_code)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning; one that is meant for people is one line."""
    text = str(message) if category is LimitWarning else warnings.formatwarning(message, category, filename, lineno)
    new_console(stderr=True).print(Text.assemble(("warning:", "bold yellow"), f" {text}"))


def _stop(code: int = INTERRUPTED) -> NoReturn:
    """End at once: threads may still run kernels, and an ordinary exit would wait for them."""
    remove_unfinished()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def main() -> None:
    """Run the command; errors meant for people become one line on stderr and their exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # any data can be shown, whatever the terminal can
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # what is no text is a word that no rule knows
    warnings.showwarning = _show_warning
    handle_interrupts()
    try:
        if sys.stdout is None:  # it was closed, and whatever is printed would be lost without a word
            raise CslError("standard output is closed; redirect it to a file or to /dev/null")
        app()
    except CslError as error:
        _fail(error)
    except OSError as error:  # wherever it came up: a disk that is full, too many open files
        if error.errno not in FAILURES | REMEDIES:
            raise
        _fail(from_system(error, "cannot go on", error.filename or (COMPILED if _is_of_numba(error) else None)))
    except MemoryError:
        _fail(CslError(OUT_OF_MEMORY))
    except RuntimeError as error:
        if any(words in str(error) for words in ("t allocate memory", "out of memory")):  # of torch
            _fail(CslError(OUT_OF_MEMORY))
        if "can't start new thread" in str(error):
            _fail(CslError("cannot start so many threads; lower --threads"))
        if "no locator available" not in str(error):
            raise
        _fail(
            InputError(
                "cannot be kept beside the package or at home; set NUMBA_CACHE_DIR to a writable folder", COMPILED
            )
        )
    except KeyboardInterrupt:
        _stop()
    except SystemError as error:
        if not is_interrupt(error):
            raise
        _stop()
    except SystemExit as error:
        if isinstance(error.code, int) and error.code > SIGNALLED:
            _stop(error.code)
        raise
