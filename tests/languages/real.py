"""Inputs and outputs of the data sets as people have them, and of SMCalFlow."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

SETS = (
    "atis_lambda",
    "geoquery/length",
    "geoquery/standard",
    "geoquery/template_1",
    "geoquery/tmcd_1",
    "home_assistant_en",
    "home_assistant_en_chat",
    "nlmaps",
    "overnight_calendar",
    "pizza",
    "schema2qa_restaurants",
    "scholar_sql_query_split",
    "smcalflow_cs",
    "topv2_reminder_25spis_decoupled",
)


def read(data: Path, name: str, part: str) -> list[tuple[str, str]]:
    """Return the pairs of the files of a set whose names start with `part`."""
    folder = data / name if name == "smcalflow_cs" else data / "real" / name
    part = "valid" if name == "smcalflow_cs" and part == "test" else part
    return [pair for path in sorted(folder.glob(f"{part}*")) for pair in _pairs(path)]


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".tsv":
            for line in file.read().split("\n")[:-1]:
                source, target = line.split("\t")[:2]
                yield source, target
        elif path.suffix == ".csv":
            yield from ((question, query) for question, query in list(csv.reader(file))[1:])
        else:
            yield from (_pair(json.loads(line)) for line in file)


def _pair(row: dict[str, object]) -> tuple[str, str]:
    match row:
        case {"messages": [*_, {"content": str(source)}, {"tool_calls": calls}]}:
            return source, json.dumps(calls)
        case {"utterance": str(source), "plan": str(target)} | {"input": str(source), "output": str(target)}:
            return source, target
        case {"input": str(source), "output": target}:
            return source, json.dumps(target)
    raise ValueError(row)
