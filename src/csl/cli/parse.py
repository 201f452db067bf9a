"""`csl parse`: outputs for inputs, by the model of a run folder."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import (
    AbstainBelow,
    Abstaining,
    Budget,
    CpuThreads,
    InferenceOption,
    OutFormat,
    Reading,
    parser_of,
    shares_options,
)
from csl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from csl.engine import Threads
    from csl.examples.formats import Rows
    from csl.parsing.limits import Abstained, Limits
    from csl.preparing.parser import Answer

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
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Give the probability that the output is correct too; of raw text.")
    ] = False,
    abstain_below: AbstainBelow = None,
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
    how = _How(
        Abstaining.of(run, parser_of(run, inference), abstain_below), scores, confidence, Threads(threads), limits
    )
    if text is None:
        _parse_lines(how)
    elif is_file(text, file, literal):
        _parse_file(how, reading.rows(Path(text), inputs_only=True), format)
    elif not _parse_one(how, text):
        raise typer.Exit(1)


@dataclass(frozen=True)
class _How:
    """How inputs are parsed, and what is shown beside outputs."""

    abstaining: "Abstaining"
    scores: bool
    confidence: bool
    engine: "Threads"
    limits: "Limits"

    def __post_init__(self) -> None:
        if self.confidence and not self.abstaining.confidence:
            raise InputError(
                "--confidence: the run has none; `csl augment` finds it for raw text, where there is enough"
            )

    def answers(self, texts: list[str]) -> "list[tuple[Answer | Abstained, float]]":
        """Give the outputs of inputs, and how sure they are; where nobody asks, 1, or 0 if none is given."""
        asked = self.confidence or 0 < self.abstaining.least < 1  # nothing is so sure as 1
        with Messages("parsing …", stderr=True):
            found = self.abstaining.parser.answers(texts, self.engine, self.limits)
            sure = self.abstaining.sure(texts, found, self.engine, self.limits) if asked else self._all(texts)
        return list(zip(found, sure, strict=True))

    def _all(self, texts: list[str]) -> list[float]:
        return [float(self.abstaining.least < 1)] * len(texts)

    def columns(self, answer: "Answer | None", sure: float) -> dict[str, str]:
        """Give what is shown beside an output."""
        found: dict[str, str] = {}
        if self.scores:
            values = ("", "")
            if answer:
                parser = self.abstaining.parser
                [given] = parser.log_probs_given_inputs([answer], self.engine, self.limits)
                values = (f"{answer.log_prob:.3f}", f"{given:.3f}")
            found |= dict(zip(("log_prob", "log_prob_given_input"), values, strict=True))
        if self.confidence:
            found["confidence"] = f"{sure:.3f}" if answer else ""
        return found


def _parse_lines(how: _How) -> None:
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
            _parse_one(how, line)


def is_file(text: str, file: bool, literal: bool) -> bool:
    """Decide whether an argument is a file of inputs, and say so where it is not obvious."""
    if not file and not literal and os.path.isfile(text):
        new_console(stderr=True).print(f"{text}: read as a file of inputs; --text takes it as an input")
        return True
    return file


def _parse_one(how: _How, text: str) -> bool:
    """Print the output of one input, if it is sure enough; tell whether there is one."""
    from csl.parsing.limits import Abstained

    [(found, sure)] = how.answers([text])
    shown = shorten(text, SHOWN, placeholder=" …")
    if isinstance(found, Abstained):
        unknown = how.abstaining.parser.unknown(text)
        some = shorten(", ".join(unknown), SHOWN, placeholder=" …")
        why = f"no rule knows: {some}" if unknown else "no derivation spans it, or none to a valid output"
        covered = found is not Abstained.NOT_COVERED
        line = f"given up: {shown} ({found.value})" if covered else f"not covered: {shown} ({why})"
        new_console(stderr=True).print(line)
        return False
    if not sure >= how.abstaining.least:  # nor where it is not a number
        below = f"{how.abstaining.measure} is below {how.abstaining.least:g}"
        new_console(stderr=True).print(f"not sure: {shown} ({below}; --abstain-below 0 gives it anyway)")
        return False
    typer.echo("\t".join([*how.columns(found, sure).values(), found.text]))
    return True


def _parse_file(how: _How, rows: "Rows", format: str | None) -> None:
    """Write the rows of a file with their outputs."""
    from csl.examples.formats import write_outputs
    from csl.parsing.limits import Abstained, given_up

    texts, least = [row.input for row in rows.rows], how.abstaining.least
    without: list[Abstained] = []
    unsure = 0

    def outputs() -> "Iterator[dict[str, object]]":
        nonlocal unsure
        for found, sure in how.answers(texts):
            answer = None if isinstance(found, Abstained) else found
            without.extend([found] if isinstance(found, Abstained) else [])
            if answer and not sure >= least:  # nor where it is not a number
                unsure += 1
                answer = None
            yield {"output": answer.text if answer else "", **how.columns(answer, sure)}

    write_outputs("-", rows, outputs(), format=format)
    missing = without.count(Abstained.NOT_COVERED)
    lines = [
        f"{missing:,} of {len(texts):,} inputs not covered" if missing else "",
        given_up(without, len(texts)),
        how.abstaining.remark(unsure, len(texts)),
    ]
    for line in filter(None, lines):
        new_console(stderr=True).print(line)
