"""Writing rows: in the layout of the file that was read, or in another format.

Rows with a record are written back exactly as they were read; the others are made like them. `columns` names values of
`meta` to be written beside the pairs, such as `origin`, `rules` and `weight`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from csl.errors import InputError, nearest
from csl.examples.formats import chat, csv, jsonl, parquet, tsv
from csl.examples.formats.reading import ENDINGS
from csl.examples.formats.row import Layout, Row, Rows
from csl.files import atomic_write_text, parse_json

_WRITERS = {"tsv": tsv, "csv": csv, "jsonl": jsonl}
_NEW = {
    "tsv": Layout("tsv"),
    "csv": Layout("csv", header="input,output"),
    "jsonl": Layout("jsonl"),
    "chat": Layout("jsonl", columns=("messages",), template=chat.TEMPLATE),
    "prompt-completion": Layout("jsonl", "prompt", "completion", ("prompt", "completion")),
    "parquet": Layout("parquet"),
}


def layout_for(path: Path | str, format: str | None = None, like: Layout | None = None) -> Layout:
    """Choose the layout of a file to write: of the format asked for, of what was read, or by the name of the file."""
    ending = ENDINGS.get(Path(Path(path).name.removesuffix(".gz")).suffix)
    if like and (format == like.format or (not format and ending in (None, like.container))):
        return like
    name = format or ending or "tsv"
    if name not in _NEW:
        raise InputError(f"no format {name!r} to write; {nearest(name, _NEW)}")
    if like and name == "parquet" and like.container == "dataset":
        return like
    if like and like.template and name in ("chat", "parquet"):
        return replace(_NEW[name], columns=like.columns, template=like.template, json_output=like.json_output)
    return replace(_NEW[name], json_output=name == "jsonl" and like is not None and like.json_output)


def write_outputs(
    path: Path | str, rows: Rows, outputs: Iterable[Mapping[str, Any]], *, format: str | None = None
) -> int:
    """Write the inputs of rows with the outputs that a model has for them: `output`, and further columns by name.

    All have the same columns. Outputs are texts, also where those of the file are JSON values: a model may be wrong.
    """
    own = layout_for(path, format, rows.layout)
    pair = (own.input_column, own.output_column)
    header = own.header and _WRITERS[own.container].dump({name: name for name in pair}, replace(own, columns=pair))
    own = replace(own, columns=pair, header=header, json_output=False, schema="")
    found = iter(outputs)
    first = next(found, {})
    columns = [name for name in first if name != "output"]
    made = (
        Row(row.input, more["output"], {name: value for name, value in more.items() if name != "output"})
        for row, more in zip(rows.rows, chain([first], found), strict=bool(first))
    )
    return write_rows(path, made, own, format=own.format, columns=columns)


def write_rows(
    path: Path | str,
    rows: Rows | Iterable[Row],
    layout: Layout | None = None,
    *,
    format: str | None = None,
    columns: Sequence[str] = (),
) -> int:
    """Write rows, atomically; return how many. `layout` is that of the file that they were read from."""
    rows, read = (rows.rows, rows.layout) if isinstance(rows, Rows) else (rows, layout)
    own = layout_for(path, format, read)
    if twice := [name for name in columns if name in own.columns]:
        raise InputError(f"there is a column {twice[0]!r} already; rename it to keep both", path)
    if own.container in ("parquet", "dataset"):
        made = [_fields(row, own, columns, same=own == read) for row in rows]
        parquet.write(path, made, own.schema)
        return len(made)
    count = 0
    with atomic_write_text(path) as file:
        for count, text in enumerate(_texts(rows, own, columns, path, same=own == read), start=1):
            if count == 1 and text.startswith("\ufeff"):
                file.write("\ufeff")  # readers take the first one for a mark of the encoding
            file.write((text + "\n").replace("\n", own.line_end))
    return count - bool(own.header)


def to_dataset(rows: Rows | Iterable[Row], layout: Layout | None = None, *, columns: Sequence[str] = ()) -> Any:
    """Give a Hugging Face `Dataset` with the columns of the file that the rows were read from."""
    rows, read = (rows.rows, rows.layout) if isinstance(rows, Rows) else (rows, layout)
    own = read or Layout("jsonl")
    return parquet.to_dataset([_fields(row, own, columns, same=True) for row in rows], own.schema)


def _texts(
    rows: Iterable[Row], layout: Layout, columns: Sequence[str], path: Path | str, *, same: bool
) -> Iterator[str]:
    """Give the text of the header, if there is one, and of each row."""
    writer = _WRITERS[layout.container]
    wide = replace(layout, columns=(*layout.columns, *columns))
    if layout.header:
        names = {name: name for name in columns}
        yield writer.extend(layout.header, names, layout) if names else layout.header
    for number, row in enumerate(rows, start=1):
        try:
            if same and isinstance(row.record, str):
                more = _more(row, columns, layout)
                yield writer.extend(row.record, more, layout) if more else row.record
            else:
                yield writer.dump(_made(row, layout) | _more(row, columns, layout), wide)
        except ValueError as error:
            raise InputError(f"row {number:,} cannot be written: {error}", path) from error


def _fields(row: Row, layout: Layout, columns: Sequence[str], *, same: bool) -> dict[str, Any]:
    """Give the values of a row by column, for a table.

    An output that is a JSON value is its text there, unless the table that was read has it otherwise: the rows of a
    table all have the same keys, with values of the same types.
    """
    if not same or row.record is None:
        fields = _made(row, layout)
    elif isinstance(row.record, Mapping):
        return {**row.record, **_more(row, columns, layout)}
    elif layout.container == "jsonl":
        fields = parse_json(row.record)
    else:
        fields = {name: row.meta.get(name, "") for name in layout.columns}
    if not layout.template:
        fields |= {layout.input_column: row.input, layout.output_column: row.output}
        if layout.json_output and layout.schema:
            fields[layout.output_column] = parse_json(row.output)
    return fields | _more(row, columns, layout)


def _made(row: Row, layout: Layout) -> dict[str, Any]:
    """Make the entry of a row that was not read from this file."""
    if layout.template:
        return chat.fields_of(row.input, row.output, layout.template)
    return {layout.input_column: row.input, layout.output_column: row.output}


def _more(row: Row, columns: Sequence[str], layout: Layout) -> dict[str, Any]:
    empty = "" if layout.container in ("tsv", "csv") else None
    return {name: row.meta.get(name, empty) for name in columns}
