"""Examples and the files they live in."""

from csl.data.example import Example
from csl.data.files import read_examples, write_examples

__all__ = ["Example", "read_examples", "write_examples"]
