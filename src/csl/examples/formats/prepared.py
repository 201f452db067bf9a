"""Examples as files: prepared data, whose texts are tokens with white space between them.

TSV, JSON lines, CSV or Parquet, by the name of the file. Readers stream; errors name file and line.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from csl.errors import InputError
from csl.examples.example import Example, split_tokens
from csl.examples.formats.columns import Asked
from csl.examples.formats.reading import ENDINGS, stream_rows
from csl.examples.formats.row import Container, Row
from csl.examples.formats.writing import write_rows
from csl.files import atomic_write_text


def read_examples(
    path: Path | str,
    *,
    columns: Sequence[str] = (),
    source_field: str = "input",
    target_field: str = "output",
) -> Iterator[Example]:
    """Stream the examples of a `.tsv`, `.jsonl`, `.csv` or `.parquet` file (or one of the first three with `.gz`).

    `columns` names the TSV columns after the second; those without a name are ignored. In other formats, every other
    column that holds a string is kept under its own name.
    """
    container = _container(path)
    asked = Asked(plain=True) if container == "tsv" else Asked(source_field, target_field, plain=True)
    row = None
    for row in stream_rows(path, container, asked)[1]:
        meta = dict(zip(columns, row.record.split("\t")[2:], strict=False)) if container == "tsv" else row.meta
        yield Example(split_tokens(row.input), split_tokens(row.output), meta)
    if row is None:
        raise InputError("no examples in the file; expected lines of input<TAB>output", path)


def read_inputs(path: Path | str, source_field: str = "input") -> list[str]:
    """Read inputs: one a line, the first column of a `.tsv`, or a column of another format, as `read_examples`."""
    container = _container(path)
    asked = Asked(None if container == "tsv" else source_field, inputs_only=True, plain=True)
    rows = stream_rows(path, container, asked)[1]
    texts = [row.input for row in rows if container != "tsv" or row.record.strip(" \t")]
    return [" ".join(split_tokens(text)) for text in texts]


def write_examples(path: Path | str, examples: Iterable[Example], *, columns: Sequence[str] = ()) -> int:
    """Write examples to a file, as `read_examples` reads it, atomically; return how many.

    `columns` names the meta values that are kept, in that order; JSON lines keep all.
    """
    container = _container(path)
    if container in ("csv", "parquet"):
        rows = (Row(*_texts(example, path, n), example.meta) for n, example in enumerate(examples, start=1))
        return write_rows(path, rows, columns=columns)
    count = 0
    with atomic_write_text(path) as file:
        for count, example in enumerate(examples, start=1):
            source, target = _texts(example, path, count)
            if container == "jsonl":
                pair = {"input": source, "output": target}
                file.write(json.dumps({**pair, **example.meta, **pair}, ensure_ascii=False) + "\n")
                continue
            cells = [source, target, *(example.meta.get(c, "") for c in columns)]
            row = "\t".join(cells)
            if row.count("\t") != len(cells) - 1 or "\n" in row or "\r" in row:
                raise InputError("a tab or a line break inside a column; write .jsonl instead", path, count)
            if count == 1 and row.startswith("\ufeff"):
                file.write("\ufeff")  # readers take the first one for a mark of the encoding
            file.write(row + "\n")
    return count


def _texts(example: Example, path: Path | str, number: int) -> tuple[str, str]:
    """Give the texts of an example, if they are read as the same tokens again."""
    source, target = example.source_text, example.target_text
    if (split_tokens(source), split_tokens(target)) != (example.source, example.target):
        raise InputError("white space inside a token: it would be read as two", path, number)
    return source, target


def _container(path: Path | str) -> Container:
    """Tell by its name what a file is; TSV if it says nothing."""
    return ENDINGS.get(Path(Path(path).name.removesuffix(".gz")).suffix, "tsv")
