import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.errors import InputError
from csl.examples import Example
from csl.splits.programs import DEFAULT_ENTITIES, Term, abstract, entity_pattern, parse

ENTITIES = entity_pattern(DEFAULT_ENTITIES)


def test_entities_and_literals_become_one_symbol() -> None:
    program = Example.of("", 'f ( m0 , 12.5 , "one" , " New York City " , Map )')
    template = Example.of("", "f ( <entity> , <entity> , <entity> , <entity> , Map )")
    assert abstract(program.target, ENTITIES) == template.target


def test_a_quotation_that_does_not_close_is_left_as_it_is() -> None:
    assert abstract(['"', "a"], ENTITIES) == ('"', "a")


def test_the_entity_pattern_is_an_option() -> None:
    assert abstract(["Emma", "m0"], entity_pattern("[A-Z][a-z]+")) == ("<entity>", "m0")


def test_a_broken_entity_pattern_is_an_input_error() -> None:
    with pytest.raises(InputError, match="regular expression"):
        entity_pattern("(")


terms = st.recursive(
    st.builds(lambda s: Term(s, []), st.sampled_from("abc")),
    lambda inner: st.builds(
        lambda s, fillers: Term(s, [(str(i), [f]) for i, f in enumerate(fillers)]),
        st.sampled_from("fg"),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


def as_call(term: Term) -> str:
    inner = " , ".join(as_call(filler) for _, (filler,) in term.arguments)
    return f"{term.symbol} ( {inner} )" if inner else term.symbol


def as_list(term: Term) -> str:
    return " ".join(["(", term.symbol, *(as_list(filler) for _, (filler,) in term.arguments), ")"])


@given(terms)
def test_calls_and_lists_are_two_notations_of_the_same_terms(term: Term) -> None:
    assert parse(as_call(term).split()) == [term]
    assert parse(as_list(term).split()) == [term]
