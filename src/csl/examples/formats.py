"""Reading and writing examples.

Two formats, each plain or gzipped, recognised by the file name: TSV (`input<TAB>output`, further columns ignored or
named) and JSON lines (field names as options). Readers stream; errors name file and line.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from csl.errors import InputError
from csl.examples.example import Example
from csl.files import atomic_write_text, parse_json, read_lines


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
    path = Path(path)
    json_lines = _is_json_lines(path)
    empty = True
    for number, line in read_lines(path):
        if not line.strip(" "):
            continue
        empty = False
        if json_lines:
            source, target, meta = _json_fields(line, source_field, target_field, path, number)
        else:
            first, tab, rest = line.partition("\t")
            if not tab:
                raise InputError("one column; expected input<TAB>output", path, number)
            source, (target, *more) = first, rest.split("\t")
            meta = dict(zip(columns, more, strict=False))
        example = Example(tuple(source.split()), tuple(target.split()), meta)
        for side, tokens in (("input", example.source), ("output", example.target)):
            if not tokens:
                raise InputError(f"the {side} is empty; remove the line or fill it in", path, number)
        yield example
    if empty:
        raise InputError("no examples in the file; expected lines of input<TAB>output", path)


def read_inputs(path: Path | str, source_field: str = "input") -> list[str]:
    """Read inputs: one a line, the first column of a `.tsv`, or a field of a `.jsonl` file; plain or `.gz`."""
    path, inputs = Path(path), []
    for number, line in read_lines(path):
        if not line.strip():
            continue
        text = line.split("\t")[0]
        if _is_json_lines(path):
            text, _, _ = _json_fields(line, source_field, source_field, path, number)
        inputs.append(" ".join(text.split()))
    return inputs


def _json_fields(
    line: str, source_field: str, target_field: str, path: Path, number: int
) -> tuple[str, str, dict[str, str]]:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise InputError(f"not valid JSON ({error})", path, number) from error
    if not isinstance(record, dict):
        raise InputError("expected a JSON object on each line", path, number)
    for name in (source_field, target_field):
        if not isinstance(record.get(name), str):
            raise InputError(f"no text field {name!r}; the line has {', '.join(record) or 'no fields'}", path, number)
    meta = {k: v for k, v in record.items() if isinstance(v, str) and k not in (source_field, target_field)}
    return record[source_field], record[target_field], meta


def write_examples(path: Path | str, examples: Iterable[Example], *, columns: Sequence[str] = ()) -> int:
    """Write examples to a `.tsv` or `.jsonl` file (or either with `.gz`), atomically; return how many.

    `columns` names the meta values that a TSV keeps, in that order; JSON lines keep all.
    """
    json_lines = _is_json_lines(Path(path))
    count = 0
    with atomic_write_text(path) as file:
        for example in examples:
            source, target = example.source_text, example.target_text
            if tuple(source.split()) != example.source or tuple(target.split()) != example.target:
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


def _is_json_lines(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith((".jsonl", ".json"))
