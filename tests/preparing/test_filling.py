"""Only pairs that can be believed are kept, with values that survive, and always the same."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from csl.engine import Threads
from csl.examples import Example
from csl.preparing import filling
from csl.preparing.filling import Filling
from csl.preparing.parser import Answer, Parser

from .conftest import Learnt

GOOD = Example.of("what cities are in «stateid»0 ?", "answer ( city ( loc_2 ( «stateid»0 ) ) )")
NEW = Example.of(
    "what cities are in states that border «stateid»0 ?",
    "answer ( city ( loc_2 ( state ( next_to ( «stateid»0 ) ) ) ) )",
)


def fill(
    learnt: Learnt, pairs: Iterable[Example], number: int = 100, threads: int = 1, **options: int
) -> list[Example]:
    preparation, examples = learnt.prepared.preparation, learnt.prepared.examples
    maker = Filling(preparation, learnt.model, examples, engine=Threads(threads), **options)
    return list(maker.fill(pairs, number))


def test_values_are_filled_in_on_both_sides(learnt: Learnt) -> None:
    made = fill(learnt, [NEW] * 40)
    states = {entry.words for entry in learnt.prepared.preparation.values.entries if entry.type == "stateid"}
    assert len(made) == len(states) == 6  # each once
    assert Example.of(
        "What cities are in states that border New York?",
        "answer(city(loc_2(state(next_to(stateid('new york'))))))",
    ) in made  # fmt: skip


def test_what_was_filled_in_is_parsed_back(learnt: Learnt) -> None:
    made = fill(learnt, [NEW] * 20 + [GOOD] * 20)
    parser = Parser(learnt.model, learnt.prepared.preparation)
    answers = parser.answers([pair.source_text for pair in made])
    assert [a.text for a in answers if isinstance(a, Answer)] == [pair.target_text for pair in made]


@pytest.mark.parametrize(
    "pair",
    [
        Example.of("what rivers are in «stateid»0 ?", GOOD.target_text),
        Example.of("what cities are in texas ?", GOOD.target_text),
        Example.of("what cities are in «stateid»1 ?", GOOD.target_text),
        Example.of("what states border «stateid»0 and «stateid»0 ?", "answer ( state ( next_to ( «stateid»0 ) ) )"),
    ],
    ids=["another output", "a lost value", "another value", "a value said twice"],
)
def test_pairs_that_cannot_be_believed_are_left_out(learnt: Learnt, pair: Example) -> None:
    assert fill(learnt, [pair]) == []


def test_placeholders_of_one_type_get_different_values(learnt: Learnt) -> None:
    both = learnt.prepared.examples[-1]
    made = fill(learnt, [both] * 30)
    assert len(made) > 10
    for pair in made:
        values = pair.target_text.split("stateid(")[1:]
        assert len({text.split(")")[0] for text in values}) == 2


def test_values_whose_words_have_several_outputs_are_not_drawn(learnt: Learnt) -> None:
    preparation = learnt.prepared.preparation
    states = [entry for entry in preparation.values.entries if entry.type == "stateid"]
    texas = next(entry for entry in states if entry.words == ("texas",))
    values = replace(preparation.values, entries=(*preparation.values.entries, replace(texas, tokens=("tx",))))
    unsure = replace(preparation, values=values)
    made = list(Filling(unsure, learnt.model, learnt.prepared.examples).fill([GOOD] * 40, 100))
    assert len(made) == len(states) - 1
    assert not any("Texas" in pair.source_text for pair in made)


def test_known_pairs_are_left_out(learnt: Learnt) -> None:
    maker = Filling(learnt.prepared.preparation, learnt.model, learnt.prepared.examples)
    assert list(maker.fill([GOOD] * 40, 100, known=learnt.pairs)) == []
    assert fill(learnt, [GOOD] * 40)


def test_it_stops_at_the_number_asked_for(learnt: Learnt) -> None:
    assert len(fill(learnt, [NEW, GOOD] * 40, number=5)) == 5


def test_it_ends_where_nothing_new_comes(learnt: Learnt) -> None:
    assert len(fill(learnt, [GOOD] * 100, number=1000)) == 6  # a pair for each state


def test_rare_programs_come_up_more_often_than_they_are_drawn(learnt: Learnt) -> None:
    both = learnt.prepared.examples[-1]
    made = fill(learnt, [both] * 900 + [NEW], number=20)
    assert any("border" in pair.source_text and "cities" in pair.source_text for pair in made)


def test_inputs_that_read_best_are_kept(learnt: Learnt, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = Example.of("what are cities in «stateid»0 ?", GOOD.target_text)
    monkeypatch.setattr(filling, "INPUTS", 1)
    assert {pair.source_text.split()[1] for pair in fill(learnt, [odd] * 10 + [GOOD])} == {"cities"}


@pytest.mark.parametrize(
    ("judge", "verdict"), [("Reasons.has", False), ("Fluency.is_odd", True), ("Plausible.of", 0.01)]
)
def test_what_a_judge_refuses_is_left_out(
    learnt: Learnt, monkeypatch: pytest.MonkeyPatch, judge: str, verdict: float
) -> None:
    monkeypatch.setattr(f"csl.preparing.filling.{judge}", lambda *_: verdict)
    assert fill(learnt, [GOOD]) == []


def test_more_plausible_programs_come_up_more_often(learnt: Learnt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling.Plausible, "of", lambda self, tree: 0.06 if "next_to" in tree.tokens else 1)
    first = [fill(learnt, [NEW, GOOD], number=1, seed=seed)[0] for seed in range(40)]
    assert 0 < sum("border" in pair.source_text for pair in first) < 16


def test_work_is_bounded(learnt: Learnt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MOST_WORK", 0)
    assert fill(learnt, [GOOD]) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_the_order_of_draws_change_nothing(learnt: Learnt, threads: int) -> None:
    pairs = [NEW, *learnt.prepared.examples] * 2
    assert fill(learnt, reversed(pairs), threads=threads) == fill(learnt, pairs)


def test_the_seed_decides_the_values(learnt: Learnt) -> None:
    assert fill(learnt, [NEW] * 3, seed=1) == fill(learnt, [NEW] * 3, seed=1) != fill(learnt, [NEW] * 3, seed=2)
