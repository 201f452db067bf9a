"""`csl look`: what is in a file of examples, before anything is learnt from it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from csl.cli.console import new_console
from csl.cli.options import ExamplesFile, OutputLanguage, Reading, shares_options

if TYPE_CHECKING:
    from csl.examples.formats import Rows
    from csl.examples.look import Lengths, Look

NAMED = 5  # lines that are named where there may be many
OUTLINE = 20  # lines of constituents that are shown of a pair


@shares_options
def look(
    file: ExamplesFile,
    *,
    output_language: OutputLanguage = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write all of it as JSON.")] = False,
    reading: Reading,
) -> None:
    """Look at a file: its format, its output language, sizes, repetitions, and three pairs as they are understood."""
    from csl.errors import InputError
    from csl.examples.look import look as look_at
    from csl.examples.mixture import one_language
    from csl.languages.registry import language

    try:
        wanted = language(output_language) if output_language else None
    except ValueError as error:
        raise InputError(f"--output-language {output_language}: {error}") from error
    rows = reading.rows(file)
    if not wanted:
        rows = one_language(rows, file, skip_bad=reading.skip_bad)
    found = look_at(rows.rows, wanted)
    if as_json:
        typer.echo(json.dumps(_as_json(file, rows, found), indent=2, ensure_ascii=False))
        return
    console = new_console()
    table = Table.grid(padding=(0, 2))
    for name, value in _facts(file, rows, found):
        table.add_row(name, value)
    console.print(table)
    for pair in found.pairs:
        console.print(f"\nline {pair.line:,}", style="bold")
        shown = [*pair.constituents[:OUTLINE], *(["  …"] if len(pair.constituents) > OUTLINE else [])]
        table = Table.grid(padding=(0, 2))
        table.add_row("input", pair.input)
        table.add_row("", " · ".join(pair.input_tokens), style="dim")
        table.add_row("output", pair.output)
        table.add_row("", " · ".join(pair.output_tokens), style="dim")
        table.add_row("", "\n".join(shown), style="cyan")
        console.print(table)


def _facts(file: Path, rows: "Rows", found: "Look") -> list[tuple[str, str]]:
    """Give the lines of the table: what, and how many."""
    failed = [f"line {bad.line:,} ({bad.reason})" for bad in found.unparsed[:NAMED]]
    several = [", ".join(f"{line:,}" for line in lines) for lines in found.contradictions[:NAMED]]
    of = "" if found.tried == found.rows else f" of {found.tried:,} that were looked at"
    return [
        ("file", str(file)),
        ("format", rows.layout.describe()),
        ("rows", f"{found.rows:,}" + (f", and {len(rows.skipped):,} bad left out" if rows.skipped else "")),
        ("output language", f"{found.language}; {found.parsed:,} outputs{of} parse ({_percent(found)})"),
        *([("do not parse", "; ".join(failed) + _more(len(found.unparsed)))] if failed else []),
        ("input tokens", _span(found.input_lengths)),
        ("output tokens", _span(found.output_lengths)),
        ("words of outputs", f"{found.shared_words:.1%} are in their inputs"),
        ("duplicates", f"{found.duplicates:,} pairs repeat an earlier one"),
        ("contradictions", f"{len(found.contradictions):,} inputs have more than one output"),
        *([("", f"lines {'; '.join(several)}" + _more(len(found.contradictions)))] if several else []),
    ]


def _percent(found: "Look") -> str:
    from csl.examples.score import percent

    return percent(found.parsed, found.tried)


def _span(lengths: "Lengths") -> str:
    return f"{lengths.least:,} to {lengths.most:,}, median {lengths.median:g}"


def _more(count: int) -> str:
    return "; …" if count > NAMED else ""


def _as_json(file: Path, rows: "Rows", found: "Look") -> dict[str, object]:
    from dataclasses import asdict

    layout = {
        "format": rows.format,
        "input_column": rows.layout.input_column,
        "output_column": rows.layout.output_column,
    }
    return {
        "file": str(file),
        **layout,
        "skipped": [str(error) for error in rows.skipped],
        "note": rows.note,
        **asdict(found),
    }
