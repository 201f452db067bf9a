"""The formats that pairs come in: `reading.py` and `writing.py` list them, each has a file of its own."""

from csl.examples.formats.prepared import read_examples, read_inputs, write_examples
from csl.examples.formats.reading import FORMATS, MAX_TOKENS, container_of, read_rows
from csl.examples.formats.row import Layout, Row, Rows
from csl.examples.formats.writing import layout_for, to_dataset, write_outputs, write_rows

__all__ = [
    "FORMATS", "MAX_TOKENS", "Layout", "Row", "Rows", "container_of", "layout_for", "read_examples", "read_inputs",
    "read_rows", "to_dataset", "write_examples", "write_outputs", "write_rows",
]  # fmt: skip
