"""White space around signs never counts, real differences always do, and examples are counted in groups."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from csl.examples import Example
from csl.examples.score import Breakdown, Score, breakdown, groups, percent, same_output, score

SIGNS = "(){}[]<>~\\^|.,;:!?=+-*/'\"$&%#@→"
words = st.text("abcXYZ_019éß½", min_size=1, max_size=4)
tokens = st.lists(st.one_of(words, st.sampled_from(SIGNS)), min_size=1, max_size=10)
spaces = st.sampled_from(["", " ", "  ", "\t", " \n"])


def spaced(draw: st.DrawFn, some: list[str]) -> str:
    """Join words and signs with any white space, but two words never with none."""
    text = draw(spaces)
    for token, after in pairwise([*some, "."]):
        by_a_sign = token in SIGNS or after in SIGNS
        text += token + draw(spaces if by_a_sign else spaces.filter(bool))
    return text


@given(tokens, st.data())
def test_white_space_around_signs_never_counts(some: list[str], data: st.DataObject) -> None:
    one, other = spaced(data.draw, some), spaced(data.draw, some)
    assert same_output(one, other)
    assert same_output(" ".join(some), one)


@given(tokens, st.data())
def test_another_character_always_counts(some: list[str], data: st.DataObject) -> None:
    text = " ".join(some)
    place = data.draw(st.sampled_from([i for i, c in enumerate(text) if c != " "]))
    new = data.draw(st.sampled_from("abX_09é(){}<~\\^,.½"))
    assume(new != text[place])
    assert not same_output(text, text[:place] + new + text[place + 1 :])


@given(tokens, st.data())
def test_a_character_more_or_less_always_counts(some: list[str], data: st.DataObject) -> None:
    text = " ".join(some)
    place = data.draw(st.sampled_from([i for i, c in enumerate(text) if c != " "]))
    assert not same_output(text, text[:place] + text[place + 1 :])


@given(tokens, words, words)
def test_words_are_parted_or_they_are_one(some: list[str], a: str, b: str) -> None:
    before = " ".join(some)
    assert not same_output(f"{before} {a} {b}", f"{before} {a}{b}")
    assert not same_output(f"{a} {b} {before}", f"{a}{b} {before}")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("f ( a , b )", "f(a,b)", True),
        ("answer(A,(state(A)))", "answer ( A , ( state ( A ) ) )", True),
        ("\\+ x", "\\+x", True),
        (" JUMP  WALK\n", "JUMP WALK", True),
        ("a b", "b a", False),
        ("JUMP WALK", "JUMPWALK", False),
        ("f ( a )", "f ( A )", False),
        ("f(1 2)", "f(12)", False),
        ("x _y", "x_y", False),
        ("", "a", False),
        ("é", "e\N{COMBINING ACUTE ACCENT}", False),
    ],
)
def test_outputs_that_are_the_same_or_not(one: str, other: str, equal: bool) -> None:
    assert same_output(one, other) is same_output(other, one) is equal


# counts


EXAMPLES = [
    Example.of("a", "f ( a )", category="easy"),
    Example.of("b", "B", category="hard"),
    Example.of("c", "C", category="easy"),
    Example.of("d e f g h i", "D", category="hard"),
]


def test_outputs_are_counted_in_all_and_by_category() -> None:
    total, by_category = score(EXAMPLES, ["f(a)", "", "no", "D"])
    assert total == Score(examples=4, covered=3, right=2)
    assert (total.accuracy, total.coverage, total.precision) == (0.5, 0.75, pytest.approx(2 / 3))
    assert list(by_category.items()) == [("easy", Score(2, 2, 1)), ("hard", Score(2, 1, 1))]


def test_nothing_is_no_failure() -> None:
    total, by_category = score([], [])
    assert (total.accuracy, total.coverage, total.precision, by_category) == (0, 0, 0, {})
    assert score(EXAMPLES, [""] * 4)[0].precision == 0


def test_each_example_has_its_output() -> None:
    with pytest.raises(ValueError, match="zip"):
        score(EXAMPLES, ["f(a)"])


def of_length(n: int, **meta: str) -> Example:
    return Example(("x",) * n, ("y",), meta)


def test_without_categories_groups_are_lengths_from_short_to_long() -> None:
    lengths = [31, 5, 6, 10, 1, 30, 11, 500]
    assert groups([of_length(n) for n in lengths]) == {
        "1–5 tokens": [1, 4],
        "6–10 tokens": [2, 3],
        "11–15 tokens": [6],
        "21–30 tokens": [5],
        "over 30 tokens": [0, 7],
    }
    assert next(iter(groups([of_length(n) for n in lengths]))) == "1–5 tokens"


def test_a_column_with_one_value_or_with_very_many_is_no_category() -> None:
    assert list(groups([of_length(1, category="x"), of_length(2, category="x")])) == ["1–5 tokens"]
    assert list(groups([of_length(1, category=str(i)) for i in range(41)])) == ["1–5 tokens"]
    assert len(groups([of_length(1, category=str(i)) for i in range(40)])) == 40


def test_only_all_are_a_hundred_percent() -> None:
    assert [percent(part, 10_000) for part in (0, 5_636, 9_999, 10_000)] == ["0.0%", "56.4%", "99.9%", "100.0%"]
    assert percent(0, 0) == "–"


BROKEN_DOWN = [
    Example.of("1", "f ( a )", category="x"),
    Example.of("2", "B", category="x"),
    Example.of("3", "C", category="x"),
    Example.of("4", "D", category="y"),
    Example.of("5", "E", category="y"),
]
CSL = ["f(a)", "wrong", "", "", ""]
T5 = ["no", "B", "C", "D", "no"]


def test_the_breakdown_counts_inputs_that_csl_covers_and_the_others() -> None:
    total, by_category = breakdown(BROKEN_DOWN, CSL, {"t5": T5, "csl": CSL})
    assert total == Breakdown({"examples": 2, "t5": 1, "csl": 1}, {"examples": 3, "t5": 2, "csl": 0})
    assert total.all == {"examples": 5, "t5": 3, "csl": 1}
    assert by_category == {
        "x": Breakdown({"examples": 2, "t5": 1, "csl": 1}, {"examples": 1, "t5": 1, "csl": 0}),
        "y": Breakdown({"examples": 0, "t5": 0, "csl": 0}, {"examples": 2, "t5": 1, "csl": 0}),
    }
    plain = [Example(example.source, example.target) for example in BROKEN_DOWN]
    assert breakdown(plain, CSL, {"t5": T5, "csl": CSL}) == (total, {})
    with pytest.raises(ValueError, match="zip"):
        breakdown(BROKEN_DOWN, CSL, {"t5": T5[:-1]})


def test_outputs_are_compared_as_their_language_does_or_as_texts() -> None:
    examples = [Example.of("a", '{"x": 1, "y": [2]}'), Example.of("b", '{"x": 3}')]
    outputs = ['{"y": [2], "x": 1.0}', '{"x":  4}']
    assert score(examples, outputs)[0].right == 1
    assert score(examples, outputs, "text")[0].right == 0
    assert score(examples, [e.target_text for e in examples], "text")[0].right == 2
    assert score(examples, ["", ""])[0].right == 0
