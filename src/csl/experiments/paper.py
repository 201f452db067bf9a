"""The figures of the paper, as data: `paper_figures.toml` beside this file has them, with the table each comes from.

It also has a list of all tables and figures of the paper with the commands that make them: `csl table --list`.
"""

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Column:
    """A column of the main table: the mean over some splits, of all test examples or of one category."""

    set: str
    name: str
    recipes: tuple[str, ...]
    category: str = ""

    def __str__(self) -> str:
        return f"{self.set} {self.name}"


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: rows of figures by column; where the paper has none, there is none."""

    source: str
    columns: tuple[str, ...]
    rows: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Item:
    """A table or figure of the paper, or a figure in its text, and the commands that make it."""

    name: str
    what: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Paper:
    """The columns of the main table (and ours beside them), the systems that a run has too, and all tables."""

    items: tuple[Item, ...]
    columns: tuple[Column, ...]
    systems: dict[str, str]  # row of the main table → name of the system in a run
    tables: dict[str, PaperTable]


@cache
def paper() -> Paper:
    """Read the figures of the paper."""
    found = tomllib.loads(resources.files("csl.experiments").joinpath("paper_figures.toml").read_text("utf-8"))
    columns = tuple(
        Column(c["set"], c["name"], tuple(c["recipes"]), c.get("category", "")) for c in found.pop("columns")
    )
    items = tuple(Item(item["name"], item["what"], tuple(item["commands"])) for item in found.pop("items"))
    return Paper(items, columns, found.pop("systems"), {name: _table(**table) for name, table in found.items()})


def _table(source: str, columns: list[str], rows: dict[str, list[float]]) -> PaperTable:
    figures = {
        name: {column: figure for column, figure in zip(columns, row, strict=True) if not math.isnan(figure)}
        for name, row in rows.items()
    }
    return PaperTable(source, tuple(columns), figures)
