"""Nearest training pairs: the distance is the edit distance, and order decides among equals."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from csl.examples import Example
from csl.report.nearest import Nearest

tokens = st.lists(st.sampled_from("abc"), min_size=1, max_size=7).map(tuple)


def edit_distance(x: tuple[str, ...], y: tuple[str, ...]) -> int:
    @cache
    def d(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        return min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (x[i - 1] != y[j - 1]))

    return d(len(x), len(y))


@given(st.lists(tokens, min_size=1, max_size=6, unique=True), tokens)
def test_distances_are_those_of_the_textbook(train: list[tuple[str, ...]], source: tuple[str, ...]) -> None:
    found = Nearest([Example(x, ("y",)) for x in train]).distances(source)
    assert found.tolist() == [edit_distance(x, source) for x in train]


def test_equal_inputs_count_once_and_the_first_comes_first() -> None:
    train = [Example.of("a b", "1"), Example.of("a c", "2"), Example.of("a b", "3"), Example.of("d", "4")]
    found = Nearest(train).nearest(("a", "new"), 2)
    assert [(n["output"], n["distance"]) for n in found] == [("1", 1), ("2", 1)]


def test_without_training_pairs_nothing_is_near() -> None:
    assert Nearest([]).nearest(("a",), 3) == []
