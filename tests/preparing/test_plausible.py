"""Outputs that are new in one respect, and inputs that read like training."""

import pytest

from csl.examples import Example
from csl.preparing.plausible import Fluency, Plausible
from csl.preparing.preparation import prepare

NAMES = ("texas", "ohio", "utah", "iowa", "maine", "idaho")
KINDS = ("city", "river", "lake")
PAIRS = [
    *((f"{kind} in {name}", f"answer({kind}(loc('{name}')))") for kind in KINDS for name in NAMES),
    *((f"largest {kind} in {name}", f"answer(largest({kind}(loc('{name}'))))") for kind in KINDS[:2] for name in NAMES),
    *((f"how many {kind} in {name}", f"answer(count({kind}(loc('{name}'))))") for kind in KINDS for name in NAMES),
]


@pytest.fixture(scope="module")
def plausible() -> Plausible:
    prepared = prepare(PAIRS)
    return Plausible(prepared.preparation, prepared.examples)


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@pytest.mark.parametrize(
    "target",
    ["answer ( city ( «loc»0 ) )", "answer ( count ( largest ( river ( «loc»0 ) ) ) )"],
    ids=["as in training", "below operators that pass it on"],
)
def test_what_training_has_is_plausible(plausible: Plausible, target: str) -> None:
    assert plausible.accepts(words(target))


def test_a_head_of_like_slots_is_plausible(plausible: Plausible) -> None:
    target = words("answer ( largest ( lake ( «loc»0 ) ) )")
    assert plausible.accepts(target)
    assert plausible.new_fillers(target) == [(("largest", "1", "0"), "lake")]


@pytest.mark.parametrize(
    "target",
    ["answer ( city ( answer ( «loc»0 ) ) )", "answer ( city ( never ( «loc»0 ) ) )"],
    ids=["new in two respects", "an operator that training lacks"],
)
def test_what_is_unlike_training_is_refused(plausible: Plausible, target: str) -> None:
    assert not plausible.accepts(words(target))


def test_fluency_prefers_the_order_of_training() -> None:
    fluency = Fluency([Example.of("how many cities are in «state»0 ?", "x"), Example.of("cities in «state»1 ?", "x")])
    fluent, odd = words("how many cities are in «state»3 ?"), words("cities many are «state»0 how in ?")
    assert fluency.of(fluent) > fluency.of(odd)
    assert fluency.new_neighbours(fluent) == []
    assert ("cities", "many") in fluency.new_neighbours(odd)


def test_fluency_is_the_log_of_a_probability() -> None:
    fluency = Fluency([Example.of("a b", "x"), Example.of("a c", "x")])
    assert fluency.of(("never", "seen")) < fluency.of(("a", "b")) < 0
