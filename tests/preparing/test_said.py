"""Values that an input does not say give way to those that it says."""

import pytest

from csl.examples import Example
from csl.preparing.said import Reasons, Said

from .conftest import Learnt

CITIES = "answer(city(loc_2(stateid('{}'))))"


@pytest.fixture(scope="module")
def said(learnt: Learnt) -> Said:
    return Said(learnt.prepared.preparation)


@pytest.mark.parametrize("name", ["Ohio", "Nebraska", "West Virginia", "New York"])
def test_a_name_of_the_input_takes_the_place_of_another(said: Said, name: str) -> None:
    wrong, right = CITIES.format("texas"), CITIES.format(name.lower())
    assert said.mend(f"What cities are in {name}?", wrong) == right
    assert said.mend(f"What cities are in {name}?", right) == right


@pytest.mark.parametrize(
    "source",
    [
        "What cities are in Texas?",
        "What cities are in Texas and Nebraska?",
        "What cities are in the Texan plain, Nebraska?",
        "What cities are in Nebraska, not in Delaware?",
        "What cities are there?",
    ],
    ids=["said", "said beside another", "another form of it is said", "two names", "no name"],
)
def test_other_outputs_stay_as_they_are(said: Said, source: str) -> None:
    assert said.mend(source, CITIES.format("texas")) == CITIES.format("texas")


def test_of_two_values_only_the_unsaid_one_is_replaced(said: Said, learnt: Learnt) -> None:
    both = learnt.prepared.examples[-1]
    states = [e for e in learnt.prepared.preparation.values.entries if e.type == "stateid"]
    names = [token for token in both.source if token.startswith("«")]
    values = dict(zip(names, states, strict=False))
    preparation = learnt.prepared.preparation
    source, right = preparation.input(both.source, values), preparation.output(both.target, values)
    wrong = preparation.output(both.target, values | {names[1]: states[-1]})
    assert wrong != right
    assert said.mend(source, wrong) == right


@pytest.mark.parametrize("output", ["answer(city(", ""])
def test_what_is_no_output_of_the_language_stays(said: Said, output: str) -> None:
    assert said.mend("What cities are in Nebraska?", output) == output


def test_a_value_that_is_not_copied_needs_a_word_that_training_has_with_it(learnt: Learnt) -> None:
    preparation = learnt.prepared.preparation
    train = [
        Example.of("what cities are in the lone star state ?", "answer ( city ( loc_2 ( stateid ( ' texas ' ) ) ) )"),
        *learnt.prepared.examples,
    ]
    reasons = Reasons(preparation, train)
    texas, copied = train[0].target_text, "answer ( city ( loc_2 ( «stateid»0 ) ) )"

    def has(source: str, target: str) -> bool:
        return reasons.has(tuple(source.split()), preparation.tree(tuple(target.split())))

    assert has(train[0].source_text, texas)
    assert has("how big is the lone star ?", "answer ( size ( stateid ( ' texas ' ) ) )")
    assert not has("how big is the west ?", texas)
    assert has("what cities are in «stateid»0 ?", copied)
