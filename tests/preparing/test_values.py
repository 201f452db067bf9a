"""Values are found, linked to the input, typed, replaced and read again."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest

from csl.languages.registry import language
from csl.languages.words import cut, normal
from csl.preparing.trees import Schema
from csl.preparing.values import Entry, Linked, Values, is_placeholder, type_of_placeholder

STATES = ["texas", "ohio", "utah", "iowa", "new york"]
Pairs = Sequence[tuple[str, str]]
GEO: Pairs = [
    *((f"how big is {s}", f"size(stateid('{s}'))") for s in STATES),
    *((f"rivers in {s}", f"river(loc(stateid('{s}')))") for s in STATES),
    *((f"is {c} large", f"large(cityid('{c}', _))") for c in ("rome", "paris", "austin")),
]


class Known:
    """The values of pairs, and the way from texts to them."""

    def __init__(self, pairs: Pairs, name: str = "calls") -> None:
        self._language = language(name)
        programs = [self._language.read(output) for _, output in pairs]
        self._schema = Schema.learn(programs)
        trees = map(self._schema.tree, programs)
        self.values = Values.learn([(words(text), tree) for (text, _), tree in zip(pairs, trees, strict=True)])

    def link(self, text: str, output: str) -> Linked:
        return self.values.link(words(text), self._schema.tree(self._language.read(output)))

    def linked(self, text: str, output: str) -> tuple[str, str]:
        found = self.link(text, output)
        return " ".join(found.source), " ".join(found.tree.tokens)

    def entries(self, kind: str) -> dict[str, str]:
        found = (entry for entry in self.values.entries if entry.type == kind)
        return {" ".join(entry.words): " ".join(entry.tokens) for entry in found}


def words(text: str) -> tuple[str, ...]:
    return tuple(map(normal, cut(text).tokens))


def test_placeholders_name_their_type() -> None:
    assert is_placeholder("«city.0»12")
    assert not is_placeholder("city")
    assert not is_placeholder("«»0")
    assert type_of_placeholder("«a»b»3") == "a»b"


def test_a_value_is_the_largest_constituent_that_its_words_decide() -> None:
    known = Known(GEO)
    assert known.linked("rivers in Ohio", "river(loc(stateid('ohio')))") == (
        "rivers in «stateid»0", "river ( loc ( «stateid»0 ) )",
    )  # fmt: skip
    assert known.entries("stateid")["new york"] == "stateid ( ' new york ' )"


def test_a_value_that_training_lacks_is_linked_too() -> None:
    assert Known(GEO).linked("rivers in Maine", "river(loc(stateid('maine')))")[0] == "rivers in «stateid»0"


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("New York", "'new york'"),
        ("new york", "new_york"),
        ("new york", "new-york"),
        ("new york", "NewYork"),
        ("new york", "en.state.new_york"),
        ("three", "3"),
        ("3", "three"),
        ("at 5pm", "'at 5 pm'"),
    ],
    ids=[
        "case",
        "underscore",
        "hyphen",
        "camel case",
        "piece of an identifier",
        "number word",
        "digit",
        "run together",
    ],
)
def test_words_are_compared_in_a_normal_form(said: str, written: str) -> None:
    others = [(f"show {w}", f"show({w})") for w in ("red", "green", "blue", "white")]
    known = Known([*others, (f"show {said}", f"show({written})")])
    assert known.linked(f"show {said}", f"show({written})")[0] == "show «show»0"


def test_equal_values_share_a_placeholder_and_others_are_numbered_by_place() -> None:
    known = Known([*GEO, *((f"{a} or {b}", f"or(stateid('{a}'), stateid('{b}'))") for a, b in pairwise(STATES))])
    assert known.linked("utah or ohio", "or(stateid('ohio'), stateid('utah'))") == (
        "«stateid»0 or «stateid»1", "or ( «stateid»1 , «stateid»0 )",
    )  # fmt: skip
    assert known.linked("ohio or ohio", "or(stateid('ohio'), stateid('ohio'))") == (
        "«stateid»0 or «stateid»0", "or ( «stateid»0 , «stateid»0 )",
    )  # fmt: skip


def test_the_longest_value_wins() -> None:
    known = Known(
        [*GEO, ("how big is york", "size(stateid('york'))"), ("rivers in york", "river(loc(stateid('york')))")]
    )
    assert known.linked("rivers in new york", "river(loc(stateid('new york')))")[0] == "rivers in «stateid»0"


def test_leaves_that_inputs_do_not_have_are_no_values() -> None:
    pairs = [(f"how big is {s}", f"size(stateid('{s}'), unit('km'))") for s in STATES]
    known = Known(pairs)
    assert {entry.type for entry in known.values.entries} == {"stateid"}
    assert "' km '" in known.linked(*pairs[0])[1]


def test_words_that_mostly_mean_something_else_are_no_values() -> None:
    of = [(f"size of {s}", f"size(stateid('{s}'))") for s in STATES] * 6
    known = Known([*of, ("size of of", "size(stateid('of'))")])
    assert "of" not in known.entries("stateid")


def test_a_part_that_stands_for_the_whole_is_learnt() -> None:
    parks = ["hyde park", "regents park", "victoria park", "green park"]
    pairs = [(f"where is {p}", f"where(name('{p}'))") for p in parks] * 2
    pairs += [(f"walk to {p.split()[0]}", f"walk(name('{p}'))") for p in parks for _ in range(2)]
    known = Known(pairs)
    assert known.linked("walk to hyde", "walk(name('hyde park'))")[0] == "walk to «name»0"
    assert known.entries("name")["hyde"] == "name ( ' hyde park ' )"


def test_a_value_decides_literals_around_it_that_the_input_lacks() -> None:
    homes = {"Paris": "France", "Lyon": "France", "Rome": "Italy", "Turin": "Italy", "Bonn": "Germany"}
    pairs = [
        (f"{verb} {c}", f"{verb}(area(name('{c}'), in('{h}')))") for c, h in homes.items() for verb in ("see", "map")
    ]
    known = Known(pairs)
    assert known.linked("see Turin", "see(area(name('Turin'), in('Italy')))") == ("see «area»0", "see ( «area»0 )")
    assert known.entries("area")["rome"] == "area ( name ( ' Rome ' ) , in ( ' Italy ' ) )"


def test_the_type_of_a_json_value_is_its_key() -> None:
    pairs = [(f"wake me at {n}", f'{{"alarm time": {n}, "loud": true}}') for n in (5, 6, 7, 8)]
    known = Known(pairs, "json")
    source, target = known.linked(*pairs[0])
    assert source == "wake me at «alarm_time»0"
    assert target.split().count("«alarm_time»0") == 1
    assert all(" " not in token for token in known.link(*pairs[0]).tree.tokens)


def test_readings_have_all_types_that_words_can_have_the_likeliest_first() -> None:
    pairs = [*GEO, *((f"where is {w}", f"where(riverid('{w}'))") for w in ("ohio", "nile", "rhine", "po"))]
    known = Known([*GEO, *pairs, *pairs])
    readings = known.values.readings(words("rivers in ohio"))
    assert [" ".join(reading.source) for reading in readings] == ["rivers in «stateid»0", "rivers in «riverid»0"]
    assert readings[0].log_prob > readings[1].log_prob
    assert readings[1].values["«riverid»0"].tokens == ("riverid", "(", "'", "ohio", "'", ")")


def test_words_that_are_not_always_values_are_also_read_as_they_are() -> None:
    pairs = [*GEO, ("is ohio great", "yes(all)"), ("is iowa great", "yes(all)")]
    found = [" ".join(reading.source) for reading in Known(pairs).values.readings(words("is ohio great"))]
    assert found == ["is «stateid»0 great", "is ohio great"]


def test_number_words_are_read_as_the_numbers_of_training() -> None:
    known = Known([(f"wake me at {n}", f"alarm(hour({n}))") for n in ("5", "6", "7")] * 2)
    (reading,) = known.values.readings(words("wake me at six"))
    assert " ".join(reading.source) == "wake me at «hour»0"
    assert reading.values["«hour»0"].tokens == ("hour", "(", "6", ")")


def test_an_open_value_is_copied_as_training_copies_those_of_its_type() -> None:
    known = Known([(f"call {n.lower()}", f"call(person('{n}'))") for n in ("Ann", "Bob", "Cyd", "Dee")] * 2)
    (reading,) = known.values.readings(words("call zoe"))
    assert not reading.values
    (opened,) = known.values.open_readings(reading, {(1, 2): {"person"}})
    assert opened.source == ("call", "«person»0")
    assert opened.values["«person»0"] == Entry("person", ("zoe",), ("person", "(", "'", "Zoe", "'", ")"), 0)
    assert opened.log_prob < reading.log_prob + 1e-9
    assert known.values.open_readings(reading, {(1, 2): {"place"}}) == []
    assert known.values.open_readings(reading, {}) == []


def test_values_survive_json() -> None:
    values = Known(GEO).values
    again = Values.from_json(json.loads(json.dumps(values.to_json())))
    assert again == values
    assert again.readings(words("rivers in new york")) == values.readings(words("rivers in new york"))


def test_values_that_are_given_are_read_like_those_of_training() -> None:
    values = Known(GEO).values
    maine = Entry("stateid", ("maine",), ("stateid", "(", "'", "maine", "'", ")"), 1)
    more = values.extended([maine, maine, values.entries[0]])
    assert len(more.entries) == len(values.entries) + 1
    (reading,) = more.readings(words("rivers in maine"))
    assert reading.values == {"«stateid»0": maine}
    assert reading.log_prob == 0
    assert Values.from_json(more.to_json()) == more


def test_words_are_copied_in_the_manner_of_their_type() -> None:
    values = Known(GEO).values
    assert values.copied("stateid", ("north", "dakota")) == ("stateid", "(", "'", "north", "dakota", "'", ")")
    assert values.copied("unknown", ("x",)) is None
