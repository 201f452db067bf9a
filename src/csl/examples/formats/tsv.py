"""Tab-separated values: input, output and, if there is no header, a category. There is no quoting.

The first line is a header if it names the columns that are asked for, or two that plainly are an input and an output.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from csl.errors import InputError
from csl.examples.formats.columns import Asked, known_pair
from csl.examples.formats.row import Bad, Layout, Record

NAMES = ("input", "output", "category")


def records(lines: Iterator[tuple[int, str]], path: Path, asked: Asked, bad: Bad) -> Iterator[Record]:
    """Read the entries of a file; without a header, columns have the names that are asked for, or those above."""
    first = next(lines, None)
    if first is None:
        return
    names = tuple(first[1].split("\t"))
    if is_header(names, asked):
        least = max((names.index(n) for n in asked.names if n in names), default=1) + 1
    else:
        numbers = tuple(str(k + 1) for k in range(len(names)))
        names = numbers if asked.names else (*NAMES, *numbers[len(NAMES) :])
        least, lines = (max(map(int, asked.names)) if asked.names else 2), chain([first], lines)
    expected = "expected input<TAB>output" if least == 2 else f"expected at least {least} columns with tabs between"
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) < least and not (asked.inputs_only and not asked.names):
            found = "one column" if len(cells) == 1 else f"{len(cells)} columns"
            bad(InputError(f"{found}; {expected}", path, number))
        else:
            yield Record(number, dict(zip(names, cells, strict=False)), line)


def is_header(cells: tuple[str, ...], asked: Asked) -> bool:
    """Tell whether the first line names columns."""
    if asked.names:
        return not all(name.isdecimal() and int(name) > 0 for name in asked.names)
    return not asked.plain and known_pair(cells) is not None


def dump(fields: Mapping[str, Any], layout: Layout) -> str:
    """Write an entry as a line."""
    cells = [str(fields.get(name, "")) for name in layout.columns]
    if any(mark in cell for cell in cells for mark in "\t\n\r"):
        raise ValueError("a tab or a line break inside a column; write another format, such as jsonl")
    return "\t".join(cells)


def extend(line: str, more: Mapping[str, Any], layout: Layout) -> str:
    """Add columns to the text of an entry."""
    missing = len(layout.columns) - 1 - line.count("\t")
    return "\t".join([line + "\t" * max(0, missing), dump(more, Layout("tsv", columns=tuple(more)))])
