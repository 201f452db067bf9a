"""Samples: all are counted, some are shown with their derivations and the nearest training pairs."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from csl.examples import Example
from csl.grammar import parse_grammar
from csl.report.derivations import Derivations
from csl.report.synthetic import SHOWN, Nearest, Neighbour, choose_samples, describe_samples

BY = Derivations(parse_grammar(["a ### A", "b ### B", "NT_1 NT_2 ### NT_1 NT_2", "a b ### A B"]), None, 1)
TRAIN = [Example.of("a", "A"), Example.of("b a", "B A")]


def test_counts_and_neighbours() -> None:
    samples = [Example.of("a", "A"), Example.of("a b", "A B"), Example.of("a b", "A B"), Example.of("new", "NEW")]
    found = describe_samples(samples, choose_samples(samples, BY), TRAIN)
    assert (found.total, found.distinct, found.new) == (4, 3, 3)
    assert [(pair.input, pair.rules) for pair in found.pairs] == [("a", [1]), ("a b", [4]), ("new", [])]
    assert found.pairs[1].nearest == [
        Neighbour("a", "A", distance=1),
        Neighbour("b a", "B A", distance=2),
    ]
    assert describe_samples(samples, [], []).new is None


def test_the_derivation_that_was_drawn_is_shown_if_it_is_known() -> None:
    sample = Example(("a", "b"), ("A", "B"), {"derivation": "3 1 2"})
    assert choose_samples([sample], BY) == [(sample, (2, 0, 1))]


def test_some_of_many_are_shown() -> None:
    samples = [Example.of(" ".join("ab"[k >> i & 1] for i in range(10)), "A") for k in range(1000)]
    assert len(choose_samples(samples, BY)) == SHOWN


# nearest training pairs

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
    assert [(n.output, n.distance) for n in found] == [("1", 1), ("2", 1)]


def test_without_training_pairs_nothing_is_near() -> None:
    assert Nearest([]).nearest(("a",), 3) == []
