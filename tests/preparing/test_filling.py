"""Only pairs that can be believed are kept, with values that survive, and always the same."""

from collections.abc import Iterable

import pytest

from csl.engine import Threads
from csl.examples import Example
from csl.preparing import filling
from csl.preparing.filling import Familiar, Filling
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
        Example.of("? in are cities what «stateid»0", GOOD.target_text),
    ],
    ids=["another output", "a lost value", "another value", "a value said twice", "unlike training"],
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


def test_known_pairs_are_left_out(learnt: Learnt) -> None:
    maker = Filling(learnt.prepared.preparation, learnt.model, learnt.prepared.examples)
    assert list(maker.fill([GOOD] * 40, 100, known=learnt.pairs)) == []
    assert fill(learnt, [GOOD] * 40)


def test_it_stops_at_the_number_asked_for(learnt: Learnt) -> None:
    assert len(fill(learnt, [NEW, GOOD] * 40, number=5)) == 5


def test_it_ends_where_nothing_new_comes(learnt: Learnt) -> None:
    drawn = 0

    def endless() -> Iterable[Example]:
        nonlocal drawn
        while True:
            drawn += 1
            yield GOOD

    assert len(fill(learnt, endless())) == 6
    assert drawn <= (filling.BARREN + 2) * filling.CHUNK


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_and_threads_change_nothing(
    learnt: Learnt, chunk: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [NEW, *learnt.prepared.examples] * 2
    expected = fill(learnt, pairs)
    monkeypatch.setattr(filling, "CHUNK", chunk)
    monkeypatch.setattr(filling, "BARREN", 1000)
    assert fill(learnt, pairs, threads=threads) == expected


def test_the_seed_decides_the_values(learnt: Learnt) -> None:
    assert fill(learnt, [NEW] * 3, seed=1) == fill(learnt, [NEW] * 3, seed=1) != fill(learnt, [NEW] * 3, seed=2)


def test_a_pair_is_familiar_if_little_in_it_is_new(learnt: Learnt) -> None:
    familiar = Familiar(learnt.prepared.preparation, learnt.prepared.examples)
    assert familiar.has_most_of(GOOD)
    assert familiar.has_most_of(NEW)
    assert not familiar.has_most_of(Example.of("cities what in are ?", GOOD.target_text))
    assert not familiar.has_most_of(Example.of(GOOD.source_text, "answer ( answer ( loc_2 ( city ( all ) ) ) )"))
