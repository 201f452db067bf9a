"""IBM Model 1: equal to a plain version, and able to find inflected forms."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.examples import Example
from csl.induction.alignment import NULL, aligned_words, production_counts

Side = tuple[str, ...]

sides = st.lists(st.sampled_from("abcde"), min_size=1, max_size=5).map(tuple)


def plain_counts(pairs: list[tuple[Side, Side]], iterations: int) -> dict[tuple[str, str], float]:
    """EM as the textbook has it, one word at a time."""
    vocabulary = {f for _, produced in pairs for f in produced}
    t: dict[tuple[str, str], float] = defaultdict(lambda: 1 / len(vocabulary))
    counts: dict[tuple[str, str], float] = {}
    for _ in range(iterations):
        counts = defaultdict(float)
        for producing, produced in pairs:
            for f in produced:
                total = sum(t[e, f] for e in (NULL, *producing))
                for e in (NULL, *producing):
                    counts[e, f] += t[e, f] / total
        sums: dict[str, float] = defaultdict(float)
        for (e, _), count in counts.items():
            sums[e] += count
        t = defaultdict(float, {(e, f): count / sums[e] for (e, f), count in counts.items()})
    return counts


@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=6), st.integers(1, 4))
def test_counts_equal_the_plain_version(pairs: list[tuple[Side, Side]], iterations: int) -> None:
    producers, words, counts = production_counts([e for e, _ in pairs], [f for _, f in pairs], iterations)
    expected = plain_counts(pairs, iterations)
    assert producers[0] == NULL
    for e, row in zip(producers, counts, strict=True):
        for f, count in zip(words, row, strict=True):
            assert count == pytest.approx(expected.get((e, f), 0.0))


@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=6))
def test_every_word_is_produced_as_often_as_it_occurs(pairs: list[tuple[Side, Side]]) -> None:
    _, words, counts = production_counts([e for e, _ in pairs], [f for _, f in pairs])
    occurrences = [sum(produced.count(word) for _, produced in pairs) for word in words]
    np.testing.assert_allclose(counts.sum(axis=0), occurrences)


def test_all_forms_of_a_verb_are_paired_with_its_predicate() -> None:
    examples = [
        Example.of("Ann slept .", "sleep ( agent = Ann )"),
        Example.of("Bob slept .", "sleep ( agent = Bob )"),
        Example.of("Ann ran .", "run ( agent = Ann )"),
        Example.of("Bob ran .", "run ( agent = Bob )"),
        Example.of("sleep", "sleep"),
        Example.of("run", "run"),
    ]
    pairs = aligned_words(examples)
    assert {x: pairs.get(x) for x in ("slept", "sleep", "ran", "run")} == {
        "slept": "sleep",
        "sleep": "sleep",
        "ran": "run",
        "run": "run",
    }


def test_the_order_of_examples_does_not_change_the_pairs() -> None:
    examples = [Example.of("a b", "A B"), Example.of("b c", "B C"), Example.of("c", "C"), Example.of("a d", "A D")]
    assert aligned_words(examples) == aligned_words(examples[::-1])
