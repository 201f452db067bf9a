"""The values of a program are those that training copies, and they have to be in any wording of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.examples import Example
from csl.preparing.preparation import prepare
from csl.preparing.surviving import Copied, surviving

from ..raw import GEO

TRAIN = [
    Example.of("how big is m0", "size ( m0 )"),
    Example.of("rivers of m1", "river ( m1 )"),
    Example.of("a river of m0", "river ( m0 )"),
    Example.of("greet m0 and say ann", "ask ( m0 )"),
    Example.of("call ann", "call ( ann )"),
]


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("size of m0", "size ( m0 )", True),
        ("size of it", "size ( m0 )", False),
        ("size of m0 or m1", "size ( m0 )", False),
        ("streams of m1", "river ( m1 )", True),  # "river" is not copied: training also has "rivers"
        ("say ann to m0", "ask ( m0 )", True),  # inputs have "ann" without their outputs
        ("call", "call ( ann )", False),
    ],
)
def test_tokens_that_training_always_copies_are_values(source: str, target: str, kept: bool) -> None:
    pair = Example.of(source, target)
    assert surviving(TRAIN, None)(pair, pair) is kept


words = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1).map(tuple)


@given(st.lists(st.builds(Example, words, words), min_size=1))
def test_the_pairs_of_training_survive(train: list[Example]) -> None:
    copied = Copied.learn(train)
    assert all(map(copied.survive, train))


@pytest.mark.parametrize(
    ("wording", "kept"),
    [("Tell me the rivers of new york.", True), ("Tell me the rivers of Ohio.", False), ("Tell me the rivers.", False)],
)
def test_the_linked_values_of_raw_text_have_to_be_there(wording: str, kept: bool) -> None:
    program = "answer(river(loc_2(stateid('new york'))))"
    survive = surviving([], prepare(GEO).preparation)
    assert survive(Example.of("What rivers are in New York?", program), Example.of(wording, program)) is kept
