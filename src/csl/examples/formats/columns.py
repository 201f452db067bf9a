"""Which columns hold the input and the output: as asked for, or guessed from names that plainly are."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csl.errors import InputError
from csl.examples.formats.row import Record

# The first name that a file has is taken, in this order.
INPUT_NAMES = (
    "input", "question", "utterance", "prompt", "instruction", "source", "text", "sentence", "request", "command",
    "natural_language", "nl", "user", "src",
)  # fmt: skip
OUTPUT_NAMES = (
    "output", "target", "completion", "response", "program", "logical_form", "semantic_parse", "parse", "query", "sql",
    "plan", "code", "lf", "mr", "meaning_representation", "answer", "assistant", "label", "tgt",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What a user asked for: columns, a split; `inputs_only`: outputs may be missing; `plain`: guess nothing."""

    input_column: str | None = None
    output_column: str | None = None
    split: str | None = None
    inputs_only: bool = False
    plain: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that were named."""
        return tuple(name for name in (self.input_column, self.output_column) if name is not None)


def known_pair(names: Sequence[str]) -> tuple[str, str] | None:
    """Find the two columns whose names say that they are the input and the output."""
    by_name = {name.strip().lower(): name for name in names}
    source = next((by_name[name] for name in INPUT_NAMES if name in by_name), None)
    target = next((by_name[name] for name in OUTPUT_NAMES if name in by_name and by_name[name] != source), None)
    return (source, target) if source is not None and target is not None else None


def choose(names: Sequence[str], asked: Asked, path: Path, line: int) -> tuple[str, str]:
    """Choose the columns of input and output; refuse where they are not plain."""
    for name in asked.names:
        if name not in names:
            raise InputError(f"no column {name!r}; the file has {', '.join(names) or 'no columns'}", path, line)
    source, target = asked.input_column, asked.output_column
    if source and (target or asked.inputs_only):
        return source, target or "output"
    left = [name for name in names if name not in asked.names]
    found = known_pair(names) or (tuple(left) if len(names) == 2 and not asked.names else None)
    if source and len(left) == 1:
        return source, left[0]
    if target and len(left) == 1:
        return left[0], target
    if asked.inputs_only and not found:
        known = [name for name in names if name.strip().lower() in INPUT_NAMES]
        found = (known[0], "output") if known else (names[0], "output") if len(names) == 1 else None
    pair = (source or (found and found[0]), target or (found and found[1]))
    if not pair[0] or not pair[1] or pair[0] == pair[1]:
        columns = ", ".join(map(repr, names))
        raise InputError(f"which column is which? name them with --input-column and --output-column: {columns}", path)
    return pair[0], pair[1]


def text_of(record: Record, name: str) -> str:
    """Give a text, or the JSON text of another value as it is in the file; ValueError where there is none."""
    if name not in record.fields:
        raise ValueError(f"no column {name!r}; the row has {', '.join(record.fields) or 'no columns'}")
    value = record.fields[name]
    if isinstance(value, str):
        return value
    if value is None:
        raise ValueError(f"the column {name!r} is null; fill it in, or remove the line")
    return json_slice(record.raw, name) if isinstance(record.raw, str) else as_json(value)


def as_json(value: Any) -> str:
    """Write a value of a Parquet file as JSON; such files have no absent keys, so that null means absent."""
    return json.dumps(_without_null(value), ensure_ascii=False, default=str)


def _without_null(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return [_without_null(item) for item in value] if isinstance(value, list) else value


_DECODER = json.JSONDecoder()


def json_slice(line: str, name: str) -> str:
    """Cut the value of a member out of the text of a JSON object that is known to be valid."""
    place = line.index("{") + 1
    while True:
        key, place = _DECODER.raw_decode(line, _skip(line, place))
        start = _skip(line, place)  # past the colon
        _, place = _DECODER.raw_decode(line, start)
        if key == name:
            return line[start:place]


def _skip(line: str, place: int) -> int:
    while line[place] in " \t:,":
        place += 1
    return place
