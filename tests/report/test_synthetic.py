"""Samples: all are counted, some are shown with their derivations and neighbours."""

from csl.examples import Example
from csl.grammar import parse_grammar
from csl.report.derivations import Derivations
from csl.report.synthetic import SHOWN, choose_samples, describe_samples

BY = Derivations(parse_grammar(["a ### A", "b ### B", "NT_1 NT_2 ### NT_1 NT_2", "a b ### A B"]), None, 1)
TRAIN = [Example.of("a", "A"), Example.of("b a", "B A")]


def test_counts_and_neighbours() -> None:
    samples = [Example.of("a", "A"), Example.of("a b", "A B"), Example.of("a b", "A B"), Example.of("new", "NEW")]
    found = describe_samples(samples, choose_samples(samples, BY), TRAIN)
    assert (found["total"], found["distinct"], found["new"]) == (4, 3, 3)
    assert [(pair["input"], pair["rules"]) for pair in found["pairs"]] == [("a", [1]), ("a b", [4]), ("new", None)]
    assert found["pairs"][1]["nearest"] == [
        {"input": "a", "output": "A", "distance": 1},
        {"input": "b a", "output": "B A", "distance": 2},
    ]
    assert describe_samples(samples, [], [])["new"] is None


def test_the_derivation_that_was_drawn_is_shown_if_it_is_known() -> None:
    sample = Example(("a", "b"), ("A", "B"), {"derivation": "3 1 2"})
    assert choose_samples([sample], BY) == [(sample, (2, 0, 1))]


def test_some_of_many_are_shown() -> None:
    samples = [Example.of(" ".join("ab"[k >> i & 1] for i in range(10)), "A") for k in range(1000)]
    assert len(choose_samples(samples, BY)) == SHOWN
