"""Reading rows: the format is seen from the file, by its name and its first entry, and can be forced.

Reading streams; an entry that cannot be read is refused with file and line, or left out and counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from csl.errors import InputError, nearest, refuse
from csl.examples.formats import chat, csv, jsonl, parquet, tsv
from csl.examples.formats.columns import Asked, choose, text_of
from csl.examples.formats.row import Bad, Container, Layout, Record, Row, Rows
from csl.files import line_end, read_lines

FORMATS: dict[str, Container | None] = {  # what `--format` takes; of those without a container the file decides
    "tsv": "tsv", "csv": "csv", "jsonl": "jsonl", "chat": None, "prompt-completion": None, "parquet": "parquet",
    "dataset": "dataset",
}  # fmt: skip
ENDINGS: dict[str, Container] = {
    ".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".json": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
}  # fmt: skip
MAX_TOKENS = 10_000  # of an input or an output; parsers refuse longer ones, and only after a while
TEMPLATES = 1000  # entries of a chat file that are looked at for what they have in common
_SPACE = " \t\n\r\f\v"


def read_rows(
    path: Path | str,
    format: str | None = None,
    *,
    input_column: str | None = None,
    output_column: str | None = None,
    split: str | None = None,
    skip_bad: bool = False,
    inputs_only: bool = False,
) -> Rows:
    """Read all rows of a file, of standard input (`-`), or of a Hugging Face dataset (a folder or a name).

    With `inputs_only` outputs may be missing, and are then empty.
    """
    skipped: list[InputError] = []
    longer: list[int] = []
    asked = Asked(input_column, output_column, split, inputs_only=inputs_only)
    layout, rows = stream_rows(path, format, asked, bad=skipped.append if skip_bad else refuse, longer=longer)
    found = list(rows)
    if not found and skipped:
        raise InputError(f"all {len(skipped):,} rows are bad; the first: {skipped[0]}", path)
    if not found and not inputs_only:
        raise InputError("no examples in the file; expected lines of input<TAB>output, or another format", path)
    note = (
        f"{len(longer):,} conversation{'s'[: len(longer) > 1]} with more than one turn of each side (the first: line "
        f"{longer[0]:,}); only the last turn of the user, and the answer to it, are used"
    ) if longer else ""  # fmt: skip
    return Rows(layout, found, skipped, note)


def stream_rows(
    path: Path | str, format: str | None, asked: Asked, *, bad: Bad = refuse, longer: list[int] | None = None
) -> tuple[Layout, Iterator[Row]]:
    """Give the layout of a file and its rows; `longer` collects the lines of longer conversations."""
    if format is not None and format not in FORMATS:
        raise InputError(f"no format {format!r}; {nearest(format, FORMATS)}")
    path = Path(path)
    layout, records = _open(path, format, asked, bad)
    head = list(islice(records, 1))
    if not head:
        return layout, iter(())
    if format == "chat" or (not asked.names and chat.is_chat(head[0].fields)):
        head += islice(records, TEMPLATES)
        layout = _chat_layout(layout, head, asked)
    else:
        layout = _columns_layout(layout, head[0], format, asked, path)
    return layout, _rows(chain(head, records), layout, asked, path, bad, [] if longer is None else longer)


def _open(path: Path, format: str | None, asked: Asked, bad: Bad) -> tuple[Layout, Iterator[Record]]:
    """Find the container of a file, and open it."""
    container = (FORMATS[format] if format else None) or container_of(path)
    if container in ("parquet", "dataset"):
        table = parquet.read_table(path) if container == "parquet" else parquet.read_dataset(str(path), asked.split)
        layout = Layout(container, columns=tuple(table.column_names), schema=parquet.schema_text(table))
        return layout, parquet.records(table)
    if asked.split:
        raise InputError("--split is for Hugging Face datasets; leave it out", path)
    started: list[bool] = []  # without its first line, which is the header, nothing in a CSV file can be read
    lines = read_lines(path, lambda error: bad(error) if started or container != "csv" else refuse(error))
    first = next((pair for pair in lines if pair[1].strip(" ")), None)
    if first is None:
        return Layout("tsv"), iter(())
    started.append(True)
    lines = chain([first], lines)
    container = container or _by_line(first[1], asked)
    layout = Layout(container, line_end=line_end(path))
    if container == "csv":
        mark = csv.delimiter_of(first[1])
        return replace(layout, header=first[1], delimiter=mark), csv.records(lines, path, mark, bad)
    filled = (pair for pair in lines if pair[1].strip(" "))
    if container == "jsonl":
        return layout, jsonl.records(filled, path, bad)
    header = first[1] if tsv.is_header(tuple(first[1].split("\t")), asked) else ""
    return replace(layout, header=header), tsv.records(filled, path, asked, bad)


def container_of(path: Path) -> Container | None:
    """See from the name what a file is: a file, a folder, or a dataset on the hub."""
    if path.is_dir():
        return "dataset"
    if ending := ENDINGS.get(Path(path.name.removesuffix(".gz")).suffix.lower()):
        return ending
    on_hub = len(path.parts) == 2 and not path.is_absolute() and not path.parent.exists()
    return "dataset" if on_hub else None


def _by_line(line: str, asked: Asked) -> Container:
    """See the container from the first line."""
    if line.lstrip().startswith("{"):
        return "jsonl"
    return "csv" if "\t" not in line and "," in line and not asked.inputs_only else "tsv"


def _chat_layout(layout: Layout, head: Sequence[Record], asked: Asked) -> Layout:
    good = []
    for record in head:
        try:
            chat.turns_of(record.fields, inputs_only=asked.inputs_only)
            good.append(record.fields)
        except ValueError:
            pass  # reported with its line when its row is made
    template = chat.template_of(good) if good else chat.TEMPLATE
    return replace(layout, columns=tuple(head[0].fields), template=template, json_output=chat.has_calls(template))


def _columns_layout(layout: Layout, first: Record, format: str | None, asked: Asked, path: Path) -> Layout:
    if format == "prompt-completion" and not asked.names:
        asked = replace(asked, input_column="prompt", output_column=None if asked.inputs_only else "completion")
    names = tuple(first.fields)
    source, target = choose(names, asked, path, 1 if layout.header else first.line)
    is_value = target in first.fields and not isinstance(first.fields[target], str)
    return replace(layout, input_column=source, output_column=target, columns=names, json_output=is_value)


def _rows(
    records: Iterator[Record], layout: Layout, asked: Asked, path: Path, bad: Bad, longer: list[int]
) -> Iterator[Row]:
    """Make rows of the entries of a file."""
    sides = (layout.input_column, layout.output_column)
    for record in records:
        try:
            if layout.template:
                source, target, more = chat.turns_of(record.fields, inputs_only=asked.inputs_only)
                if more:
                    longer.append(record.line)
            else:
                source, target = _pair(record, layout, asked)
            _check(source, target, asked)
        except ValueError as error:
            bad(InputError(str(error), path, record.line))
            continue
        meta = {name: value for name, value in record.fields.items() if isinstance(value, str) and name not in sides}
        yield Row(source, target, meta, record.raw, record.line)


def _pair(record: Record, layout: Layout, asked: Asked) -> tuple[str, str]:
    source, target = layout.input_column, layout.output_column
    for name in (source, target) if asked.plain else (source,):
        if not isinstance(record.fields.get(name, ""), str):
            raise ValueError(f"the column {name!r} must be a text")
    if asked.inputs_only and target not in record.fields:
        return text_of(record, source), ""
    pair = text_of(record, source), text_of(record, target)
    if isinstance(record.fields[target], str) is layout.json_output:
        kinds = ("a text", "a JSON value")
        here, there = kinds if layout.json_output else kinds[::-1]
        raise ValueError(f"the output is {here}, but {there} in the first row; make them all alike")
    return pair


def _check(source: str, target: str, asked: Asked) -> None:
    """Refuse a side that nothing can be learnt from; inputs alone may be empty."""
    for side, text in (("input", source), ("output", target)):
        if not text.strip(_SPACE) and not asked.inputs_only:
            raise ValueError(f"the {side} is empty; remove the line or fill it in")
        if "\0" in text and not asked.plain:
            raise ValueError(f"the {side} has a NUL byte; is this text? remove it")
        if len(text) > MAX_TOKENS and (tokens := len(text.split())) > MAX_TOKENS:
            raise ValueError(f"the {side} has {tokens:,} tokens; at most {MAX_TOKENS:,} work")
