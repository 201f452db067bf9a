"""Comma-separated values with a header, as spreadsheets write them: cells in quotes may hold commas and line breaks.

A semicolon or a tab separates where the header has no comma. A row that is longer or shorter than the header is bad; of
a quote that is never closed only the line is bad in which it opens.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from csl.errors import InputError, refuse
from csl.examples.formats.row import Bad, Layout, Record


def delimiter_of(header: str) -> str:
    """See from the header what separates cells."""
    return next((mark for mark in ",;\t" if mark in header), ",")


def records(lines: Iterator[tuple[int, str]], path: Path, mark: str, bad: Bad) -> Iterator[Record]:
    """Read the entries of a file; the first is the header."""
    again: list[tuple[int, str]] = []  # lines to read once more, the last first
    taken: list[tuple[int, str]] = []  # the lines of this entry
    header: list[str] = []

    def feed() -> Iterator[str]:
        while pair := again.pop() if again else next(lines, None):
            taken.append(pair)
            yield pair[1] + "\n"

    while True:
        taken.clear()
        try:
            cells = next(csv.reader(feed(), delimiter=mark, strict=True), None)
            if cells is None:
                return
            if not header:
                header = _header(cells, taken, path)
            elif len(cells) == len(header):
                yield Record(taken[0][0], dict(zip(header, cells, strict=True)), "\n".join(line for _, line in taken))
            elif len(taken) > 1 or taken[0][1].strip(" "):  # not a blank line
                message = f"{len(cells)} cells, but the header has {len(header)}; put cells with commas in quotes"
                raise csv.Error(message)
        except csv.Error as error:
            (bad if header else refuse)(InputError(f"not valid CSV: {error}", path, taken[0][0]))
            again.extend(reversed(taken[1:]))


def _header(cells: list[str], taken: list[tuple[int, str]], path: Path) -> list[str]:
    if len(set(cells)) < len(cells) or len(taken) > 1:
        raise InputError("the header must be one line, with another name for each column", path, taken[0][0])
    return cells


def dump(fields: Mapping[str, Any], layout: Layout) -> str:
    """Write an entry as text."""
    text = io.StringIO()
    cells = [fields.get(name, "") for name in layout.columns]
    csv.writer(text, delimiter=layout.delimiter, lineterminator="\r\n").writerow(cells)  # cells with these get quotes
    return text.getvalue().removesuffix("\r\n")


def extend(line: str, more: Mapping[str, Any], layout: Layout) -> str:
    """Add cells to the text of an entry."""
    return line + layout.delimiter + dump(more, Layout("csv", columns=tuple(more), delimiter=layout.delimiter))
