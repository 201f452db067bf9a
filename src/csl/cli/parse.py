"""`csl parse`: outputs for inputs, by the model of a run folder."""

import os
import sys
from math import exp
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import Budget, CpuThreads, InferenceOption, OutFormat, Reading, parser_of, shares_options
from csl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from csl.engine import Threads
    from csl.examples.formats import Rows
    from csl.parsing.limits import Abstained, Limits
    from csl.preparing.parser import Answer, Parser

SHOWN = 200  # characters of an input without an output


@shares_options
def parse(
    run: Annotated[Path, typer.Argument(help="The run folder with grammar and model.")],
    text: Annotated[
        str | None,
        typer.Argument(metavar="INPUT", help="An input, or a file of inputs, one a line; default: a prompt."),
    ] = None,
    file: Annotated[bool, typer.Option("--file", help="INPUT is a file.")] = False,
    literal: Annotated[bool, typer.Option("--text", help="INPUT is an input, even if a file has that name.")] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="Give log p of the derivation and log p(output | input) too.")
    ] = False,
    abstain_below: Annotated[
        float, typer.Option(min=0, max=1, help="Give no output where p(output | input) is below this.")
    ] = 0,
    format: OutFormat = None,
    inference: InferenceOption = None,
    *,
    budget: Budget,
    threads: CpuThreads = 1,
    reading: Reading,
) -> None:
    """Parse an input, a file of inputs (written with their outputs, in its format), or what is typed at a prompt.

    The model abstains where the grammar does not cover an input, or where parsing it takes too much memory or time, or
    where it is less sure than asked for: the output is then empty, and for a single input the exit code is 1.
    """
    from csl.engine import Threads
    from csl.parsing.limits import Limits

    limits = Limits.of(budget.max_memory, budget.timeout)
    if file and literal:
        raise InputError("--file and --text exclude each other")
    parser = parser_of(run, inference)
    engine = Threads(threads)
    if text is None:
        _parse_lines(parser, scores, abstain_below, engine, limits)
    elif is_file(text, file, literal):
        rows = reading.rows(Path(text), inputs_only=True)
        _parse_file(parser, rows, scores, abstain_below, engine, limits, format)
    elif not _parse_one(parser, text, scores, abstain_below, engine, limits):
        raise typer.Exit(1)


def _parse_lines(parser: "Parser", scores: bool, least: float, engine: "Threads", limits: "Limits") -> None:
    """Parse what is typed at a prompt, or comes from a pipe."""
    if sys.stdin is None:
        raise InputError("no INPUT, and standard input is closed")
    prompt = "input: " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt)
        except EOFError:
            break
        if line.strip():
            _parse_one(parser, line, scores, least, engine, limits)


def is_file(text: str, file: bool, literal: bool) -> bool:
    """Decide whether an argument is a file of inputs, and say so where it is not obvious."""
    if not file and not literal and os.path.isfile(text):
        new_console(stderr=True).print(f"{text}: read as a file of inputs; --text takes it as an input")
        return True
    return file


def _parse_one(parser: "Parser", text: str, scores: bool, least: float, engine: "Threads", limits: "Limits") -> bool:
    """Print the output of one input, if its p(output | input) is `least` or more; tell whether there is one."""
    from csl.parsing.limits import Abstained

    (found,) = _answers(parser, [text], engine, limits)
    if isinstance(found, Abstained):
        unknown = parser.unknown(text)
        shown, some = (shorten(words, SHOWN, placeholder=" …") for words in (text, ", ".join(unknown)))
        why = f"no rule knows: {some}" if unknown else "no derivation spans it, or none to a valid output"
        covered = found is not Abstained.NOT_COVERED
        line = f"given up: {shown} ({found.value})" if covered else f"not covered: {shown} ({why})"
        new_console(stderr=True).print(line)
        return False
    given = parser.log_probs_given_inputs([found], engine, limits)[0] if scores or least else 0.0
    if least and not exp(given) >= least:  # nor where it is not a number
        new_console(stderr=True).print(f"not sure: {shorten(text, SHOWN, placeholder=' …')} (p = {exp(given):.3f})")
        return False
    score = f"{found.log_prob:.3f}\t{given:.3f}\t" if scores else ""
    typer.echo(score + found.text)
    return True


def _answers(parser: "Parser", texts: list[str], engine: "Threads", limits: "Limits") -> "list[Answer | Abstained]":
    with Messages("parsing …", stderr=True):
        return parser.answers(texts, engine, limits)


def _parse_file(
    parser: "Parser",
    rows: "Rows",
    scores: bool,
    least: float,
    engine: "Threads",
    limits: "Limits",
    format: str | None,
) -> None:
    """Write the rows of a file with their outputs."""
    from csl.examples.formats import write_outputs
    from csl.parsing.limits import Abstained, given_up

    texts = [row.input for row in rows.rows]
    without: list[Abstained] = []
    unsure: list[float] = []

    def outputs() -> "Iterator[dict[str, object]]":
        for found in _answers(parser, texts, engine, limits):
            answer = None if isinstance(found, Abstained) else found
            without.extend([found] if isinstance(found, Abstained) else [])
            asked = [answer] if answer and (scores or least) else []
            [given] = parser.log_probs_given_inputs(asked, engine, limits) or [0.0]
            if answer and least and not exp(given) >= least:  # nor where it is not a number
                unsure.append(given)
                answer = None
            columns: dict[str, object] = {"output": answer.text if answer else ""}
            if scores:
                values = (f"{answer.log_prob:.3f}", f"{given:.3f}") if answer else ("", "")
                columns |= dict(zip(("log_prob", "log_prob_given_input"), values, strict=True))
            yield columns

    write_outputs("-", rows, outputs(), format=format)
    missing = without.count(Abstained.NOT_COVERED)
    lines = [
        f"{missing:,} of {len(texts):,} inputs not covered" if missing else "",
        given_up(without, len(texts)),
        f"{len(unsure):,} of {len(texts):,} inputs get no output: p(output | input) is below {least:g}"
        if unsure
        else "",
    ]
    for line in filter(None, lines):
        new_console(stderr=True).print(line)
