"""Rows: pairs as they are in a file, and the layout of the file, which is all that is needed to write more of them.

A row's texts are exactly those of the file. Its `record` is the whole entry of the file, so that it can be written back
unchanged: the text of the line, or a dictionary where a file has no lines (Parquet). A synthetic row has no record.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from csl.errors import InputError
from csl.examples.example import Example, split_tokens

Container = Literal["tsv", "csv", "jsonl", "parquet", "dataset"]  # what holds the entries; the rest is their shape
Bad = Callable[[InputError], None]  # what to do with an entry that cannot be read: raise the error, or count it


@dataclass(frozen=True, slots=True)
class Row:
    """An input and its output; two rows are equal when these are. `meta` has further columns by name."""

    input: str
    output: str
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    record: Any = field(default=None, compare=False, repr=False)
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of a file before it is known what its input and output are; lines and rows are counted from 1."""

    line: int
    fields: Mapping[str, Any]
    raw: Any


@dataclass(frozen=True)
class Layout:
    """How a file lays out its pairs. All values can be written as JSON.

    `columns` are the names of all columns, or of the fields of the first entry; `header` is the line that has them, if
    there is one. `json_output` says that outputs are JSON values and not texts. `template` is an entry of a chat file
    (see `chat.py`), `schema` that of a Parquet file.
    """

    container: Container
    input_column: str = "input"
    output_column: str = "output"
    columns: tuple[str, ...] = ("input", "output")
    header: str = ""
    delimiter: str = ","
    line_end: str = "\n"
    json_output: bool = False
    template: Mapping[str, Any] | None = None
    schema: str = ""

    @property
    def format(self) -> str:
        """The name of the format, as `--format` takes it."""
        if self.container != "jsonl":
            return self.container
        if self.template and "messages" in self.template:
            return "chat"
        is_prompt = self.template or (self.input_column, self.output_column) == ("prompt", "completion")
        return "prompt-completion" if is_prompt else "jsonl"

    def describe(self) -> str:
        """Say in a few words what the format is."""
        if self.template:
            return f"{TITLES[self.format]}, the last user turn → the assistant's turn"
        if self.container == "tsv" and not self.header:
            one, two = (self.columns.index(name) + 1 for name in (self.input_column, self.output_column))
            return f"{TITLES['tsv']} without a header, column {one} → column {two}"
        return f"{TITLES[self.format]}, {self.input_column!r} → {self.output_column!r}"


TITLES = {
    "tsv": "tab-separated values", "csv": "comma-separated values", "jsonl": "JSON lines", "chat": "chat messages",
    "prompt-completion": "prompts and completions", "parquet": "Parquet", "dataset": "Hugging Face dataset",
}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """The rows of a file, its layout, the entries that were left out as bad, and what else should be known (`note`)."""

    layout: Layout
    rows: list[Row]
    skipped: list[InputError]
    note: str = ""

    @property
    def format(self) -> str:
        """The name of the format."""
        return self.layout.format

    def remarks(self, path: Path | str) -> list[str]:
        """Say what a user should know: how many rows were left out, and what is unusual."""
        lines = [f"{path}: {self.note}"] if self.note else []
        if self.skipped:
            bad = f"{len(self.skipped):,} bad row{'s'[: len(self.skipped) > 1]}"
            lines.append(f"{path}: {bad} left out; the first: {self.skipped[0]}")
        return lines

    def examples(self) -> list[Example]:
        """Take the rows as prepared: their texts are tokens with white space between them."""
        return [Example(split_tokens(row.input), split_tokens(row.output), row.meta) for row in self.rows]
