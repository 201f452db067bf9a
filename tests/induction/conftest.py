"""A small data set with structure, shared by the tests of induction and of runs."""

import random

import pytest

from csl.datasets import scan
from csl.examples import Example


@pytest.fixture(scope="session")
def commands() -> list[Example]:
    """Some SCAN commands, some of them twice."""
    pairs = scan.prepare(None, "length").train
    chosen = random.Random(7).sample(pairs, 300)
    return [*chosen, *chosen[:50], *(pair for pair in pairs if len(pair.source) <= 2)]
