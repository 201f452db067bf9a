"""Rows kept in a run folder, so that original rows are written back as they were.

JSON lines have the layout, then the rows. Records that are no text (Parquet, datasets) have types of their own, and are
kept as Parquet beside them.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path

from csl.errors import InputError
from csl.examples.example import split_tokens
from csl.examples.formats import parquet
from csl.examples.formats.row import Layout, Row, Rows
from csl.files import parse_json, read_lines, write_text


def is_plain(rows: Rows) -> bool:
    """Whether rows are all in their tokens: a TSV file without a header, two columns, single spaces."""
    layout = rows.layout
    if layout.container != "tsv" or layout.header or layout.line_end != "\n":
        return False
    return all(row.record == "\t".join(" ".join(split_tokens(t)) for t in (row.input, row.output)) for row in rows.rows)


def save_rows(path: Path, rows: Rows) -> None:
    """Keep rows, and the layout of their file."""
    if rows.layout.schema:
        parquet.write(path.with_suffix(".parquet"), [row.record for row in rows.rows], rows.layout.schema)
    kept = [[row.input, row.output, None if rows.layout.schema else row.record] for row in rows.rows]
    write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [asdict(rows.layout), *kept]))


def load_rows(path: Path) -> Rows:
    """Read rows that `save_rows` kept."""
    lines = (parse_json(line) for _, line in read_lines(path))
    try:
        layout = next(lines)
        layout = Layout(**{**layout, "columns": tuple(layout["columns"])})
        rows = [Row(source, target, {}, record) for source, target, record in lines]
    except (StopIteration, ValueError, TypeError, KeyError) as error:
        raise InputError("not rows that csl kept; redo the run with --no-resume", path) from error
    if layout.schema:
        records = parquet.records(parquet.read_table(path.with_suffix(".parquet")))
        rows = [replace(row, record=record.raw) for row, record in zip(rows, records, strict=True)]
    return Rows(layout, rows, [])
