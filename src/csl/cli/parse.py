"""`csl parse`: outputs for inputs, by the model of a run folder."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import Budget, InferenceOption, Workers, model_of, shares_options
from csl.errors import InputError

if TYPE_CHECKING:
    from csl.engine.engine import Engine
    from csl.model.model import Model, Parse
    from csl.parsing.limits import Abstained, Limits

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
    k: Annotated[int, typer.Option("-k", min=1, help="Give so many outputs, the most probable first.")] = 1,
    scores: Annotated[
        bool, typer.Option("--scores", help="Give log p of the derivation and log p(output | input) too.")
    ] = False,
    inference: InferenceOption = None,
    *,
    budget: Budget,
    workers: Workers,
) -> None:
    """Parse an input, a file of inputs (written as input<TAB>output), or what is typed at a prompt.

    The model abstains where the grammar does not cover an input, or where parsing it takes too much memory or time:
    the output is then empty, and for a single input the exit code is 1.
    """
    from csl.parsing.limits import Limits

    limits = Limits.of(budget.max_memory, budget.timeout)
    workers.check()
    if file and literal:
        raise InputError("--file and --text exclude each other")
    model = model_of(run, inference)
    with workers.open() as engine:
        if text is None:
            _parse_lines(model, k, scores, engine, limits)
        elif is_file(text, file, literal):
            _parse_file(model, Path(text), k, scores, engine, limits)
        elif not _parse_one(model, text, k, scores, engine, limits):
            raise typer.Exit(1)


def _parse_lines(model: "Model", k: int, scores: bool, engine: "Engine", limits: "Limits") -> None:
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
            _parse_one(model, line, k, scores, engine, limits)


def is_file(text: str, file: bool, literal: bool) -> bool:
    """Decide whether an argument is a file of inputs, and say so where it is not obvious."""
    if not file and not literal and os.path.isfile(text):
        new_console(stderr=True).print(f"{text}: read as a file of inputs; --text takes it as an input")
        return True
    return file


def _parse_one(model: "Model", text: str, k: int, scores: bool, engine: "Engine", limits: "Limits") -> bool:
    """Print the outputs of one input; tell whether there are any."""
    from csl.examples import split_tokens
    from csl.parsing.limits import Abstained

    source = split_tokens(text)
    (found,) = _outcomes(model, [source], k, engine, limits)
    if isinstance(found, Abstained):
        unknown = model.deriver.unknown_tokens(source)
        shown, some = (shorten(words, SHOWN, placeholder=" …") for words in (text, ", ".join(unknown)))
        why = f"no rule knows: {some}" if unknown else "no derivation spans it, or none to a valid output"
        covered = found is not Abstained.NOT_COVERED
        line = f"given up: {shown} ({found.value})" if covered else f"not covered: {shown} ({why})"
        new_console(stderr=True).print(line)
        return False
    for parse in found:
        score = f"{parse.log_prob:.3f}\t{_given(model, source, parse.target, limits):.3f}\t" if scores else ""
        typer.echo(score + parse.text)
    return True


def _outcomes(
    model: "Model", sources: list[tuple[str, ...]], k: int, engine: "Engine", limits: "Limits"
) -> "Iterator[list[Parse] | Abstained]":
    from csl.parsing.limits import Abstained

    if k > 1:
        yield from (model.best_outcome(source, k, limits) for source in sources)
    else:
        with Messages("parsing …", stderr=True):
            found = model.outcomes(sources, engine, limits)
        yield from (outcome if isinstance(outcome, Abstained) else [outcome] for outcome in found)


def _given(model: "Model", source: tuple[str, ...], target: tuple[str, ...], limits: "Limits") -> float:
    return model.log_prob(source, target, limits) - float(model.log_prob_inputs([source], limits=limits)[0])


def _parse_file(model: "Model", path: Path, k: int, scores: bool, engine: "Engine", limits: "Limits") -> None:
    from csl.examples import split_tokens
    from csl.examples.formats import read_inputs
    from csl.parsing.limits import Abstained, given_up

    sources = [split_tokens(line) for line in read_inputs(path)]
    without: list[Abstained] = []
    for source, found in zip(sources, _outcomes(model, sources, k, engine, limits), strict=True):
        cells = [""]
        if isinstance(found, Abstained):
            without.append(found)
        elif scores:
            cells = [f"{p.text}\t{p.log_prob:.3f}\t{_given(model, source, p.target, limits):.3f}" for p in found]
        else:
            cells = [p.text for p in found]
        typer.echo("\t".join([" ".join(source), *cells]))
    missing = without.count(Abstained.NOT_COVERED)
    lines = [f"{missing:,} of {len(sources):,} inputs not covered" if missing else "", given_up(without, len(sources))]
    for line in filter(None, lines):
        new_console(stderr=True).print(line)
