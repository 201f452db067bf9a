"""Outputs that are more or less like training, and inputs that read like training."""

import re
from collections.abc import Sequence

import pytest

from csl.examples import Example
from csl.preparing.plausible import Fluency, Plausible
from csl.preparing.preparation import prepare
from csl.preparing.trees import Node

KINDS = ("city", "river", "lake", "road", "park")
PREPARATION = prepare([("a", "f(a)")]).preparation
PLAIN = [f"{kind} ( «state»0 )" for kind in KINDS]
LARGEST = [f"largest ( {what} )" for what in PLAIN[:-1]]
TRAIN = [
    "answer ( size ( «state»0 ) )",
    *(f"answer ( {what} )" for what in [*PLAIN, *LARGEST]),
    *(f"answer ( count ( {what} ) )" for what in [*PLAIN, *LARGEST]),
    *(f"answer ( near ( {what} ) )" for what in [*PLAIN, *LARGEST]),
]


def learnt(targets: Sequence[str]) -> Plausible:
    return Plausible(PREPARATION, [Example.of("x", target) for target in targets])


@pytest.fixture(scope="module")
def plausible() -> Plausible:
    return learnt(TRAIN)


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def tree(text: str) -> Node:
    return PREPARATION.tree(words(text))


def test_what_training_has_is_plausible(plausible: Plausible) -> None:
    assert all(plausible.of(tree(target)) == 1 for target in TRAIN)


def test_nothing_is_new_in_an_operator_that_passes_its_argument_on() -> None:
    target = "answer ( near ( largest ( city ( «state»0 ) ) ) )"
    assert learnt([other for other in TRAIN if other != target]).of(tree(target)) == 1


def test_two_operators_may_pass_their_argument_on_together() -> None:
    together = [re.sub(r"largest \((.*)", r"largest_one ( size (\1 )", target) for target in TRAIN]
    new = tree("answer ( far ( largest_one ( size ( city ( «state»0 ) ) ) ) )")
    assert learnt([*together, *(f"answer ( far ( {what} ) )" for what in PLAIN)]).of(new) == 1


def test_a_head_of_like_slots_is_more_plausible_than_another(plausible: Plausible) -> None:
    like = tree("answer ( largest ( park ( «state»0 ) ) )")
    assert plausible.new_fillers(like) == [(("largest", "1", "0"), "park")]
    assert 1 > plausible.of(like) > plausible.of(tree("answer ( largest ( size ( «state»0 ) ) )"))


@pytest.mark.parametrize("target", ["answer ( never ( «state»0 ) )", "never ( «state»0 )", "answer ( «never»0 )"])
def test_what_training_lacks_altogether_is_not_plausible(plausible: Plausible, target: str) -> None:
    assert plausible.of(tree(target)) == 0


def test_the_longer_training_does_without_a_combination_the_less_plausible_it_is() -> None:
    few = [
        *(f"answer ( {kind} ( in ( «state»0 ) ) )" for kind in KINDS[1:]),
        *(f"answer ( {kind} ( in ( «country»0 ) ) )" for kind in KINDS),
    ]
    many = [*few, *(f"answer ( near ( {target.removeprefix('answer ( ')} )" for target in few)]
    new = tree("answer ( city ( in ( «state»0 ) ) )")
    assert 1 > learnt(few).of(new) > learnt(many).of(new) > 0


def test_fluency_prefers_the_order_of_training() -> None:
    fluency = Fluency([Example.of("how many cities are in «state»0 ?", "x"), Example.of("cities in «state»1 ?", "x")])
    fluent, odd = words("how many cities are in «state»3 ?"), words("cities many are «state»0 how in ?")
    assert fluency.of(fluent) > fluency.of(odd)
    assert fluency.new_neighbours(fluent) == []
    assert ("cities", "many") in fluency.new_neighbours(odd)


def test_common_words_that_are_never_side_by_side_are_odd_so() -> None:
    fluency = Fluency([Example.of(f"in the {kind} of {name}", "x") for kind in KINDS for name in "abcdefg"])
    assert fluency.is_odd(words("in the the city of a"))
    assert not fluency.is_odd(words("in the city a"))
    assert not fluency.is_odd(words("in the city of a"))


def test_fluency_is_the_log_of_a_probability() -> None:
    fluency = Fluency([Example.of("a b", "x"), Example.of("a c", "x")])
    assert fluency.of(("never", "seen")) < fluency.of(("a", "b")) < 0
