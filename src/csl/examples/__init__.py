"""Examples and the files they live in."""

from csl.examples.example import Example, split_tokens
from csl.examples.formats import read_examples, write_examples

__all__ = ["Example", "read_examples", "split_tokens", "write_examples"]
