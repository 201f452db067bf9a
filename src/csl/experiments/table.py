"""A table of figures, and its formats: for a terminal, Markdown, CSV and LaTeX.

A wide table is shown in blocks, groups of columns side by side as far as they fit; CSV and LaTeX have it whole. A
row without figures in a block is left out of it.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress, groupby
from pathlib import Path
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from csl.errors import InputError
from csl.files import write_text

NONE = "–"
PAPER = "paper"  # the paper's own figures
SAME, OURS = "as in the paper", "ours"  # figures of runs: with the paper's options, with ours; [n]: changed, see note n
WIDTH = 120  # of a block, where no terminal says otherwise


@dataclass(frozen=True)
class Cell:
    """A figure: the mean over runs, and its deviation if there are several."""

    mean: float
    deviation: float | None = None
    runs: int = 1
    partial: bool = False  # some of the splits are missing


@dataclass(frozen=True)
class Row:
    """Figures of the paper or ours, one a column."""

    labels: tuple[str, ...]
    source: str  # PAPER, SAME or OURS, with a mark if options were changed
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Table:
    """Labels and groups of columns, rows, and notes on them; `digits` after the point, of all or of each column."""

    title: str
    labels: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]  # group, name
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    digits: int | tuple[int, ...] = 1

    def text(self, cell: Cell | None, column: int = 0) -> str:
        """Write a figure: mean ± deviation (number of runs, if there are several); a star if splits are missing."""
        if cell is None:
            return NONE
        digits = self.digits if isinstance(self.digits, int) else self.digits[column]
        mean = f"{round(cell.mean, digits) + 0.0:,.{digits}f}"  # + 0.0: no negative zero
        deviation = "" if cell.deviation is None else f" ± {cell.deviation:,.{digits}f}"
        return f"{mean}{deviation}" + "*" * cell.partial + (f" ({cell.runs})" if cell.runs > 1 else "")


def with_runs(table: Table, *, by_row: bool) -> Table:
    """Keep the columns with figures of ours and the paper's figures there; `by_row`: only in rows with ours."""
    ours = [row for row in table.rows if row.source != PAPER and any(row.cells)]
    columns = [any(row.cells[i] for row in ours) for i in range(len(table.columns))]
    labels = {row.labels for row in (ours if by_row else table.rows)}
    rows = (replace(row, cells=tuple(compress(row.cells, columns))) for row in table.rows if row.labels in labels)
    return replace(
        table,
        columns=tuple(compress(table.columns, columns)),
        rows=tuple(row for row in rows if any(row.cells)),
        digits=table.digits if isinstance(table.digits, int) else tuple(compress(table.digits, columns)),
    )


def show(table: Table, console: Console) -> None:
    """Print a table, in blocks as wide as the terminal is."""
    console.print(table.title, style="bold")
    for head, rows in _blocks(table, console.width if console.is_terminal else WIDTH):
        made = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        grouped = any(group for group, _ in head)
        for number, (group, name) in enumerate(head):
            justify: Literal["left", "right"] = "left" if number <= len(table.labels) else "right"
            made.add_column(f"{group}\n{name}" if grouped else name, justify=justify, no_wrap=True)
        for row in rows:
            made.add_row(*row, style=None if row[len(table.labels)] == PAPER else "bold")
        console.print()
        console.print(made)
    console.print()
    for note in table.notes:
        console.print(f"- {note}")


def write(table: Table, path: Path) -> None:
    """Write a table in the format that the file's ending names."""
    formats = {".md": markdown, ".csv": comma_separated, ".tex": latex}
    if path.suffix not in formats:
        raise InputError("unknown format; the name must end in .md, .csv or .tex", path)
    write_text(path, formats[path.suffix](table))


def markdown(table: Table) -> str:
    """Give a table as Markdown."""

    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    lines = [f"**{table.title}**", ""]
    for head, rows in _blocks(table, WIDTH):
        rule = ["---" if number <= len(table.labels) else "--:" for number in range(len(head))]
        lines += [line([f"{group} {name}".strip() for group, name in head]), line(rule), *map(line, rows), ""]
    return "\n".join([*lines, *(f"- {note}" for note in table.notes)]) + "\n"


def comma_separated(table: Table) -> str:
    """Give a table as CSV, a line for each figure: where it stands, mean, deviation, number of runs."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*table.labels, "source", "group", "column", "mean", "deviation", "runs"])
    for row in table.rows:
        for (group, name), cell in zip(table.columns, row.cells, strict=True):
            if cell:
                deviation = "" if cell.deviation is None else round(cell.deviation, 4)
                runs = "" if row.source == PAPER else cell.runs
                lines.writerow([*row.labels, row.source, group, name, round(cell.mean, 4), deviation, runs])
    return text.getvalue()


def latex(table: Table) -> str:
    """Give a table as LaTeX, for the packages booktabs and graphicx."""
    left = len(table.labels) + 1
    groups = [(name, len(list(columns))) for name, columns in groupby(table.columns, key=lambda column: column[0])]
    lines = [
        "% needs \\usepackage{booktabs,graphicx}", "\\begin{table*}", "\\centering", "\\resizebox{\\textwidth}{!}{%",
        f"\\begin{{tabular}}{{{'l' * left}{'c' * len(table.columns)}}}", "\\toprule",
        " & " * left + " & ".join(f"\\multicolumn{{{n}}}{{c}}{{{_tex(name)}}}" for name, n in groups) + " \\\\",
    ]  # fmt: skip
    start = left + 1
    for name, number in groups:
        if name:
            lines.append(f"\\cmidrule(lr){{{start}-{start + number - 1}}}")
        start += number
    lines += [" & ".join(map(_tex, [*table.labels, "", *(name for _, name in table.columns)])) + " \\\\", "\\midrule"]
    lines += [" & ".join(map(_tex, _texts(table, row))) + " \\\\" for row in table.rows]
    caption = _tex(" ".join(f"{sentence.rstrip('.')}." for sentence in (table.title, *table.notes)))
    lines += ["\\bottomrule", "\\end{tabular}}", f"\\caption{{{caption}}}", "\\end{table*}"]
    return "\n".join(lines) + "\n"


_TEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "|": "\\textbar{}"}
    | {"<": "\\textless{}", ">": "\\textgreater{}", "–": "--", "±": "$\\pm$", "∞": "$\\infty$"}
)


def _tex(text: str) -> str:
    return text.translate(_TEX)


def _texts(table: Table, row: Row) -> list[str]:
    return [*row.labels, row.source, *(table.text(cell, column) for column, cell in enumerate(row.cells))]


def _blocks(table: Table, width: int) -> Iterator[tuple[list[tuple[str, str]], list[list[str]]]]:
    """Cut a table into blocks of columns, each as wide as `width` allows, and groups only if need be: (head, rows)."""
    left = [("", label) for label in (*table.labels, "")]
    texts = [_texts(table, row) for row in table.rows]
    head = left + list(table.columns)
    widths = [3 + max(map(len, (*names, *(row[i] for row in texts)))) for i, names in enumerate(head)]
    room = width - sum(widths[: len(left)])
    blocks: list[list[int]] = []
    for _, members in groupby(range(len(left), len(head)), key=lambda i: head[i][0]):
        group = list(members)
        fits = sum(widths[i] for i in group) <= room
        for n, unit in enumerate([group] if fits else [[i] for i in group]):
            if not blocks or (n == 0 and not fits) or sum(widths[i] for i in (*blocks[-1], *unit)) > room:
                blocks.append([])
            blocks[-1] += unit
    for block in blocks:
        rows = [text for text in texts if any(text[i] != NONE for i in block)]
        places = [*range(len(left)), *block]
        yield [head[i] for i in places], [[row[i] for i in places] for row in rows]
