"""`csl parse`: outputs for inputs, by the model of a run folder."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import new_console
from csl.cli.engine import AddressOption, EngineOption, ThreadsOption, engine_of

if TYPE_CHECKING:
    from csl.engine.engine import Engine
    from csl.model.model import Model


def parse(
    run: Annotated[Path, typer.Argument(help="The run folder with grammar and model.")],
    text: Annotated[
        str | None,
        typer.Argument(metavar="INPUT", help="An input, or a file of inputs, one a line; default: a prompt."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Give so many outputs, the most probable first.")] = 1,
    scores: Annotated[bool, typer.Option(help="Give log p of the derivation and log p(output | input) too.")] = False,
    threads: ThreadsOption = 1,
    engine: EngineOption = "threads",
    address: AddressOption = None,
) -> None:
    """Parse an input, a file of inputs (written as input<TAB>output), or what is typed at a prompt.

    The model abstains where the grammar does not cover an input: the output is then empty, and for a single input the
    exit code is 1.
    """
    from csl.experiment.fitting import load_model

    model = load_model(run)
    if text is not None and os.path.isfile(text):
        with engine_of(threads, engine, address) as opened:
            _parse_file(model, Path(text), k, scores, opened)
    elif text is not None:
        if not _parse_one(model, text, k, scores):
            raise typer.Exit(1)
    else:
        prompt = "input: " if sys.stdin.isatty() else ""
        while True:
            try:
                line = input(prompt)
            except EOFError:
                break
            if line.strip():
                _parse_one(model, line, k, scores)


def _parse_one(model: "Model", text: str, k: int, scores: bool) -> bool:
    """Print the outputs of one input; tell whether there are any."""
    source = text.split()
    found = model.parse_best(source, k)
    for parse in found:
        score = f"{parse.log_prob:.3f}\t{_given(model, source, parse.target):.3f}\t" if scores else ""
        typer.echo(score + parse.text)
    if not found:
        unknown = model.deriver.unknown_tokens(source)
        why = f"no rule knows: {', '.join(unknown)}" if unknown else "no derivation spans it, or none to a valid output"
        new_console(stderr=True).print(f"not covered: {text.strip()} ({why})")
    return bool(found)


def _given(model: "Model", source: list[str], target: tuple[str, ...]) -> float:
    return model.log_prob(source, target) - float(model.log_prob_inputs([source])[0])


def _parse_file(model: "Model", path: Path, k: int, scores: bool, engine: "Engine") -> None:
    from csl.data.files import read_inputs

    sources = [line.split() for line in read_inputs(path)]
    parses = model.parse_all(sources, engine) if k == 1 else [None] * len(sources)
    for source, best in zip(sources, parses, strict=True):
        found = model.parse_best(source, k) if k > 1 else [best] if best else []
        cells = [parse.text for parse in found] or [""]
        if scores:
            cells = [f"{p.text}\t{p.log_prob:.3f}\t{_given(model, source, p.target):.3f}" for p in found] or [""]
        typer.echo("\t".join([" ".join(source), *cells]))
    missing = sum(parse is None for parse in parses)
    if k == 1 and missing:
        new_console(stderr=True).print(f"{missing:,} of {len(sources):,} inputs not covered")
