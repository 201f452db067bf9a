"""Raw pairs become examples, and come back exactly as they were."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from csl.languages.registry import language
from csl.preparing.preparation import Preparation, prepare
from csl.preparing.values import is_placeholder

from ..raw import GEO, SETS


@pytest.mark.parametrize("name", SETS)
def test_the_language_is_detected_and_every_output_read(name: str) -> None:
    found = prepare(SETS[name])
    assert found.preparation.language.name == name
    assert not found.unread


@pytest.mark.parametrize("name", SETS)
def test_training_pairs_come_back_exactly(name: str) -> None:
    preparation = prepare(SETS[name]).preparation
    for text, output in SETS[name]:
        tree = preparation.schema.tree(preparation.read(output))
        linked = preparation.values.link(preparation.words(text), tree, preparation.schema.sorted)
        assert preparation.input(linked.source, linked.values) == text
        assert preparation.output(linked.tree.tokens, linked.values) == output


def test_values_stand_on_both_sides() -> None:
    found = prepare(GEO)
    for example in found.examples:
        said = {token for token in example.source if is_placeholder(token)}
        assert said == {token for token in example.target if is_placeholder(token)}
    assert sum(any(map(is_placeholder, example.source)) for example in found.examples) > len(GEO) - 3


@pytest.mark.parametrize("name", SETS)
def test_no_token_has_a_space(name: str) -> None:
    found = prepare(SETS[name])
    tokens = {token for example in found.examples for token in (*example.source, *example.target)}
    assert not [token for token in tokens if token.split() != [token]]


@pytest.mark.parametrize("name", SETS)
def test_a_preparation_survives_json(name: str) -> None:
    found = prepare(SETS[name])
    again = Preparation.from_json(json.loads(json.dumps(found.preparation.to_json())))
    assert again == found.preparation
    assert [again.example(*pair) for pair in SETS[name]] == found.examples


def test_outputs_that_do_not_read_are_plain_text() -> None:
    found = prepare([*GEO, ("What is up?", "answer(oops")], "calls")
    assert found.unread == (len(GEO),)
    assert found.preparation.output(found.examples[-1].target, {}) == "answer(oops"


def test_case_is_kept_on_request() -> None:
    found = prepare(GEO, keep_case=True)
    assert found.preparation.casing is None
    assert found.examples[0].source[0] == "What"
    assert prepare(GEO).examples[0].source[0] == "what"


def test_seed_rules_copy_placeholders() -> None:
    rules = {str(rule) for rule in prepare(GEO).seed_rules}
    assert {"«stateid»0 ### «stateid»0", "«stateid»1 ### «stateid»1"} <= rules


def test_a_new_name_is_read_as_an_open_value_of_each_type_that_copies() -> None:
    preparation = prepare(GEO).preparation
    readings = preparation.open_readings("How big is Nevada?", {"how", "big", "is", "?"})
    found = {" ".join(reading.source): preparation.output(("«stateid»0",), reading.values) for reading in readings}
    assert found["how big is «stateid»0 ?"] == "stateid('nevada')"
    assert preparation.open_readings("How big is it?", {"how", "big", "is", "it", "?"}) == []


def test_a_type_has_names_or_numbers_on_no_list_if_its_values_are_such() -> None:
    weather = [(f"weather in {c}", f"get(city='{c}')") for c in ("Oslo", "Rome", "Bonn", "Kiel")]
    rooms = ("hall", "attic", "cellar", "kitchen", "garage", "porch")
    lights = [(f"light the {r} to {n}", f"set(room='{r}', level={n})") for n, r in enumerate(rooms, start=11)]
    preparation = prepare([*weather, *lights] * 2).preparation

    def types(text: str) -> set[str]:
        known = {"weather", "in", "light", "the", "to"}
        return {entry.type for way in preparation.open_readings(text, known) for entry in way.values.values()}

    assert len(types("weather in Paris")) == len(types("light the to 77")) == 1
    assert types("weather in Paris") != types("light the to 77")
    assert types("weather in paris") == set()


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="klingon"):
        language("klingon")


HASHED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from raw import SETS
from csl.preparing.preparation import prepare
from csl.preparing.writing import decoding_grammar
for name, pairs in SETS.items():
    found = prepare(pairs)
    print(json.dumps(found.preparation.to_json()), found.examples, found.categories.cfg)
    print(found.seed_rules, list(found.categories.counts.items()))
    print(decoding_grammar(found.any_order, found.preparation))
"""


def test_hash_seeds_change_nothing() -> None:
    def run(seed: str) -> str:
        line = [sys.executable, "-c", HASHED, str(Path(__file__).parents[1])]
        return subprocess.run(
            line, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONHASHSEED": seed}
        ).stdout  # fmt: skip

    assert run("1") == run("2") != ""


def test_categories_are_fit_for_use_where_an_output_that_does_not_parse_starts_with_a_value() -> None:
    prepared = prepare([("ring the bell", 'ring("bell'), ("ring it", "ring(x)")], "calls")
    assert prepared.unread == (0,)
    prepared.categories.cfg.check()
    assert prepared.categories.cfg.accepts(prepared.examples[1].target)
