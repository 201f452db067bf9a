"""Parquet files and Hugging Face datasets: rows with columns of any type. The libraries come with the extra `datasets`.

A dataset is a folder that `save_to_disk` wrote, or a name on the Hugging Face hub. Rows are counted from 1.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from csl.errors import CslError, InputError
from csl.examples.formats.row import Record
from csl.files import atomic_write

if TYPE_CHECKING:
    import pyarrow as pa

EXTRA = 'install it with pip install "compositional-structure-learner[datasets]"'


def read_table(path: Path | str) -> "pa.Table":
    """Read a Parquet file."""
    pq = _library("pyarrow.parquet")
    from pyarrow.lib import ArrowException  # noqa: PLC0415 — optional, and slow to import

    try:
        with Path(path).open("rb") as file:
            return pq.read_table(file)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path) from error
    except ArrowException as error:
        raise InputError(f"not a complete Parquet file ({error}); copy or download it again", path) from error


def read_dataset(name: str, split: str | None) -> "pa.Table":
    """Read a split of a saved dataset, or of one on the hub; `train` unless another is asked for."""
    datasets = _library("datasets")
    try:
        saved = any((Path(name) / mark).exists() for mark in ("dataset_dict.json", "state.json"))
        found = datasets.load_from_disk(name) if saved else datasets.load_dataset(name)
    except Exception as error:  # the library raises its own errors, those of the network and those of the file system
        where = "" if Path(name).exists() else "no such file or folder; "
        raise InputError(f"{where}cannot be loaded as a Hugging Face dataset: {error}", name) from error
    if isinstance(found, Mapping):
        chosen = split or ("train" if "train" in found else next(iter(found)) if len(found) == 1 else "")
        if chosen not in found:
            raise InputError(f"choose a split with --split: {', '.join(map(str, found))}", name)
        found = found[chosen]
    elif split:
        raise InputError("has no splits; leave out --split", name)
    return found.with_format(None).flatten_indices().data.table


def records(table: "pa.Table") -> Iterator[Record]:
    """Give the rows of a table."""
    number = 0
    for batch in table.to_batches(max_chunksize=1000):
        for fields in batch.to_pylist():
            number += 1
            yield Record(number, fields, fields)


def schema_text(table: "pa.Table") -> str:
    """Write the types of the columns as a text, for `to_table`."""
    return base64.b64encode(table.schema.serialize().to_pybytes()).decode()


def write(path: Path | str, rows: Sequence[Mapping[str, Any]], schema: str = "") -> None:
    """Write rows as a Parquet file."""
    pq = _library("pyarrow.parquet")
    with atomic_write(path) as file:
        pq.write_table(to_table(rows, schema), file)


def to_dataset(rows: Sequence[Mapping[str, Any]], schema: str = "") -> Any:
    """Make a Hugging Face dataset of rows."""
    datasets = _library("datasets")
    return datasets.Dataset(datasets.table.InMemoryTable(to_table(rows, schema)))


def to_table(rows: Sequence[Mapping[str, Any]], schema: str = "") -> "pa.Table":
    """Make a table of rows; columns have the types of a schema, if it has them, and otherwise those of their values."""
    pa = _library("pyarrow")
    known = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema))) if schema else pa.schema([])
    types = {**dict.fromkeys(name for row in rows for name in row), **dict(zip(known.names, known.types, strict=True))}
    try:
        table = pa.table({name: pa.array([row.get(name) for row in rows], type_) for name, type_ in types.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"a column has values of several types ({error}); write jsonl or csv instead") from error
    return table.replace_schema_metadata(known.metadata) if len(known) == len(types) else table


def _library(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 — only here

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise CslError(f"this format needs the library {name.partition('.')[0]}; {EXTRA}") from error
