"""JSON lines: an object on each line. Chat messages and prompts with completions are JSON lines, too."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from csl.errors import InputError
from csl.examples.formats.row import Bad, Layout, Record
from csl.files import parse_json


def records(lines: Iterator[tuple[int, str]], path: Path, bad: Bad) -> Iterator[Record]:
    """Read the entries of a file."""
    for number, line in lines:
        try:
            fields = parse_json(line)
        except ValueError as error:
            place = f"{error.msg}, character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else str(error)
            bad(InputError(f"not valid JSON ({place}); correct the line, or use --skip-bad", path, number))
            continue
        if isinstance(fields, dict):
            yield Record(number, fields, line)
        else:
            remedy = "; for a list of objects, jq -c '.[]' makes such lines" if line.lstrip().startswith("[") else ""
            bad(InputError(f"expected a JSON object on each line{remedy}", path, number))


def dump(fields: Mapping[str, Any], layout: Layout) -> str:
    """Write an entry as a line; an output that is a JSON value keeps its text."""
    if not layout.json_output or layout.template:
        return json.dumps(fields, ensure_ascii=False)
    output = fields[layout.output_column]
    parse_json(output)  # ValueError rather than a file that nobody can read
    members = (
        f"{json.dumps(name, ensure_ascii=False)}: "
        + (" ".join(output.splitlines()) if name == layout.output_column else json.dumps(value, ensure_ascii=False))
        for name, value in fields.items()
    )
    return "{" + ", ".join(members) + "}"


def extend(line: str, more: Mapping[str, Any], layout: Layout) -> str:
    """Add members to the text of an entry."""
    return f"{line.rstrip()[:-1].rstrip()}, {json.dumps(more, ensure_ascii=False)[1:]}"
