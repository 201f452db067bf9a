"""Raw inputs get raw outputs, with the values that were read in them."""

import pytest

from csl.engine import Threads
from csl.examples import Example
from csl.parsing.limits import Abstained
from csl.preparing.parser import Answer, Parser

from .conftest import Learnt


@pytest.fixture(scope="module")
def parser(learnt: Learnt) -> Parser:
    return Parser(learnt.model, learnt.prepared.preparation)


def output(parser: Parser, text: str) -> str:
    (answer,) = parser.answers([text])
    return answer.text if isinstance(answer, Answer) else ""


def test_training_inputs_get_their_outputs(parser: Parser, learnt: Learnt) -> None:
    found = parser.answers([pair.source_text for pair in learnt.pairs])
    right = [isinstance(a, Answer) and a.text == pair.target_text for a, pair in zip(found, learnt.pairs, strict=True)]
    assert sum(right) >= len(right) - 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What cities are in states that border Utah?", "answer(city(loc_2(state(next_to(stateid('utah'))))))"),
        ("what rivers are in new york?", "answer(river(loc_2(stateid('new york'))))"),
        ("What rivers are in Nevada?", "answer(river(loc_2(stateid('nevada'))))"),
    ],
    ids=["a new combination", "in lower case", "a name that training lacks"],
)
def test_new_inputs(parser: Parser, text: str, expected: str) -> None:
    assert output(parser, text) == expected


def test_an_answer_has_its_reading_and_log_probability(parser: Parser) -> None:
    (answer,) = parser.answers(["How big is Ohio?"])
    assert isinstance(answer, Answer)
    assert answer.reading.source == ("how", "big", "is", "«stateid»0", "?")
    assert answer.log_prob == pytest.approx(answer.reading.log_prob + answer.parse.log_prob)


def test_without_a_derivation_the_parser_abstains_and_names_unknown_words(parser: Parser) -> None:
    text = "why does ohio exist?"
    assert parser.answers([text]) == [Abstained.NOT_COVERED]
    assert parser.unknown(text) == ["why", "does", "exist"]


def test_threads_do_not_change_answers(parser: Parser, learnt: Learnt) -> None:
    texts = [pair.source_text for pair in learnt.pairs] * 4
    assert [str(answer) for answer in parser.answers(texts, Threads(3))] == [str(a) for a in parser.answers(texts)]


def test_a_pair_is_known_as_the_model_knows_it(parser: Parser, learnt: Learnt) -> None:
    assert [parser.example(pair) for pair in learnt.pairs] == learnt.prepared.examples
    plain = Example.of("a", "b")
    assert Parser(learnt.model).example(plain) is plain


def test_without_a_preparation_inputs_are_tokens(learnt: Learnt) -> None:
    source, target = "how big is «stateid»0 ?", "answer ( size ( «stateid»0 ) )"
    assert output(Parser(learnt.model), source) == target
