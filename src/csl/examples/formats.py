"""Reading and writing examples.

Two formats, each plain or gzipped, recognised by the file name: TSV (`input<TAB>output`, further columns ignored or
named) and JSON lines (field names as options). Readers stream; errors name file and line.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from csl.errors import InputError
from csl.examples.example import Example, split_tokens
from csl.files import atomic_write_text, parse_json, read_lines

MAX_TOKENS = 10_000  # of an input or an output; parsers refuse longer ones, and only after a while


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
            fields = _json_fields(line, (source_field, target_field), path, number)
            source, target = fields[source_field], fields[target_field]
            meta = {name: value for name, value in fields.items() if name not in (source_field, target_field)}
        else:
            first, tab, rest = line.partition("\t")
            if not tab:
                raise InputError("one column; expected input<TAB>output", path, number)
            source, (target, *more) = first, rest.split("\t")
            meta = dict(zip(columns, more, strict=False))
        example = Example.of(source, target, **meta)
        for side, tokens in (("input", example.source), ("output", example.target)):
            if not tokens:
                raise InputError(f"the {side} is empty; remove the line or fill it in", path, number)
            if len(tokens) > MAX_TOKENS:
                raise InputError(f"the {side} has {len(tokens):,} tokens; at most {MAX_TOKENS:,} work", path, number)
        yield example
    if empty:
        raise InputError("no examples in the file; expected lines of input<TAB>output", path)


def read_inputs(path: Path | str, source_field: str = "input") -> list[str]:
    """Read inputs: one a line, the first column of a `.tsv`, or a field of a `.jsonl` file; plain or `.gz`."""
    path, inputs = Path(path), []
    for number, line in read_lines(path):
        if line.strip(" \t"):
            text = line.split("\t")[0]
            if _is_json_lines(path):
                text = _json_fields(line, (source_field,), path, number)[source_field]
            inputs.append(" ".join(split_tokens(text)))
    return inputs


def _json_fields(line: str, needed: Sequence[str], path: Path, number: int) -> dict[str, str]:
    """Read the text fields of a JSON object, of which some are needed."""
    try:
        record = parse_json(line)
    except ValueError as error:
        raise InputError(f"not valid JSON ({error})", path, number) from error
    if not isinstance(record, dict):
        raise InputError("expected a JSON object on each line", path, number)
    for name in needed:
        if name not in record:
            raise InputError(f"no field {name!r}; the line has {', '.join(record) or 'no fields'}", path, number)
        if not isinstance(record[name], str):
            kind = _JSON_KINDS.get(type(record[name]), "a number")
            raise InputError(f"the field {name!r} must be a text, but is {kind}", path, number)
    return {name: value for name, value in record.items() if isinstance(value, str)}


_JSON_KINDS: dict[type, str] = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}


def write_examples(path: Path | str, examples: Iterable[Example], *, columns: Sequence[str] = ()) -> int:
    """Write examples to a `.tsv` or `.jsonl` file (or either with `.gz`), atomically; return how many.

    `columns` names the meta values that a TSV keeps, in that order; JSON lines keep all.
    """
    json_lines = _is_json_lines(Path(path))
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


def _is_json_lines(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith((".jsonl", ".json"))
