"""Examples as files: prepared data, whose texts are tokens with white space between them.

TSV or JSON lines, plain or gzipped, by the name of the file. Readers stream; errors name file and line.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from csl.errors import InputError
from csl.examples.example import Example, split_tokens
from csl.examples.formats.columns import Asked
from csl.examples.formats.reading import stream_rows
from csl.files import atomic_write_text


def read_examples(
    path: Path | str,
    *,
    columns: Sequence[str] = (),
    source_field: str = "input",
    target_field: str = "output",
) -> Iterator[Example]:
    """Stream the examples of a `.tsv` or `.jsonl` file (or either with `.gz`).

    `columns` names the TSV columns after the second; those without a name are ignored. In JSON lines, every other
    field that holds a string is kept under its own name.
    """
    json_lines = is_json_lines(Path(path))
    asked = Asked(source_field, target_field, plain=True) if json_lines else Asked(plain=True)
    row = None
    for row in stream_rows(path, "jsonl" if json_lines else "tsv", asked)[1]:
        meta = row.meta if json_lines else dict(zip(columns, row.record.split("\t")[2:], strict=False))
        yield Example(split_tokens(row.input), split_tokens(row.output), meta)
    if row is None:
        raise InputError("no examples in the file; expected lines of input<TAB>output", path)


def read_inputs(path: Path | str, source_field: str = "input") -> list[str]:
    """Read inputs: one a line, the first column of a `.tsv`, or a field of a `.jsonl` file; plain or `.gz`."""
    json_lines = is_json_lines(Path(path))
    asked = Asked(source_field if json_lines else None, inputs_only=True, plain=True)
    rows = stream_rows(path, "jsonl" if json_lines else "tsv", asked)[1]
    return [" ".join(split_tokens(row.input)) for row in rows if row.record.strip(" \t")]


def write_examples(path: Path | str, examples: Iterable[Example], *, columns: Sequence[str] = ()) -> int:
    """Write examples to a `.tsv` or `.jsonl` file (or either with `.gz`), atomically; return how many.

    `columns` names the meta values that a TSV keeps, in that order; JSON lines keep all.
    """
    json_lines = is_json_lines(Path(path))
    count = 0
    with atomic_write_text(path) as file:
        for example in examples:
            source, target = example.source_text, example.target_text
            if (split_tokens(source), split_tokens(target)) != (example.source, example.target):
                raise InputError("white space inside a token: it would be read as two", path, count + 1)
            if json_lines:
                pair = {"input": source, "output": target}
                file.write(json.dumps({**pair, **example.meta, **pair}, ensure_ascii=False) + "\n")
            else:
                cells = [source, target, *(example.meta.get(c, "") for c in columns)]
                row = "\t".join(cells)
                if row.count("\t") != len(cells) - 1 or "\n" in row or "\r" in row:
                    raise InputError("a tab or a line break inside a column; write .jsonl instead", path, count + 1)
                if count == 0 and row.startswith("\ufeff"):
                    file.write("\ufeff")  # readers take the first one for a mark of the encoding
                file.write(row + "\n")
            count += 1
    return count


def is_json_lines(path: Path) -> bool:
    """Tell by its name whether a file has JSON lines."""
    return path.name.removesuffix(".gz").endswith((".jsonl", ".json"))
