"""The nearest training example."""

from hypothesis import given
from hypothesis import strategies as st

from csl.examples import Example
from csl.examples.nearest import Nearest, edit_distance

TOKENS = st.lists(st.sampled_from("abc"), max_size=6)


@given(TOKENS, TOKENS, TOKENS)
def test_the_edit_distance_is_a_metric(a: list[str], b: list[str], c: list[str]) -> None:
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, b) == edit_distance(b, a)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


@given(TOKENS, st.lists(TOKENS, min_size=1, max_size=8))
def test_the_search_finds_the_first_of_the_nearest(source: list[str], inputs: list[list[str]]) -> None:
    examples = [Example(tuple(tokens), (str(number),)) for number, tokens in enumerate(inputs)]
    distances = [edit_distance(source, tokens) for tokens in inputs]
    nearest = min(range(len(inputs)), key=distances.__getitem__)
    assert Nearest(examples).find(source) == (examples[nearest], distances[nearest])
