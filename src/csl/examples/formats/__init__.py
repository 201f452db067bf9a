"""The formats that pairs come in. `reading.py` lists them; each has a file of its own."""

from csl.examples.formats.prepared import read_examples, read_inputs, write_examples
from csl.examples.formats.reading import FORMATS, MAX_TOKENS, read_rows
from csl.examples.formats.row import Layout, Row, Rows

__all__ = [
    "FORMATS", "MAX_TOKENS", "Layout", "Row", "Rows", "read_examples", "read_inputs", "read_rows", "write_examples",
]  # fmt: skip
