"""Pairs and templates that are held out of raw text."""

import pytest

from csl.examples import Example
from csl.preparing.held_out import MOST_OF_TEMPLATE, SPLITS, Split, looked_at, splits
from csl.preparing.preparation import Preparation, prepare
from csl.preparing.value_lists import listed
from csl.preparing.values import template

from ..raw import GEO, SETS

PAIRS = [Example.of(*pair) for pair in GEO]
PREPARATION = prepare(GEO).preparation


def template_of(pair: Example, preparation: Preparation = PREPARATION) -> tuple[str, ...]:
    return template(preparation.example(pair.source_text, pair.target_text).target)


@pytest.mark.parametrize("name", SETS)
def test_each_split_holds_out_pairs_and_whole_templates(name: str) -> None:
    pairs, preparation = [Example.of(*pair) for pair in SETS[name]], prepare(SETS[name]).preparation
    found = list(splits(pairs, preparation))
    assert len(found) == SPLITS
    for split in found:
        assert not {*split.rest} & {*split.known, *split.new}
        left = {template_of(pair, preparation) for pair in split.rest}
        assert not left & {template_of(pair, preparation) for pair in split.new}
        assert left >= {template_of(pair, preparation) for pair in split.known}
        assert split.known or split.new
    if name != "top":  # it has one template only
        assert len({tuple(split.new) for split in found}) >= SPLITS - 1  # the longest may come up twice


def test_the_last_split_holds_out_the_longest_templates() -> None:
    *_, last = splits(PAIRS, PREPARATION)
    longest = max(len(template_of(pair)) for pair in PAIRS)
    assert max(len(template_of(pair)) for pair in last.new) == longest
    held_out = {pair for pair in last.new if len(template_of(pair)) == longest}
    assert held_out == {pair for pair in PAIRS if len(template_of(pair)) == longest}


def test_splits_are_the_same_again_and_equal_pairs_count_once() -> None:
    assert list(splits(PAIRS, PREPARATION)) == list(splits([*PAIRS, *PAIRS], PREPARATION))


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csl.preparing.held_out.MOST_PAIRS", 20)
    for split in splits(PAIRS, PREPARATION):
        assert len(split.rest) + len(split.known) + len(split.new) <= 20
    many = [Example.of(f"how big is {k} ?", f"answer(size(number({k})))") for k in range(100)]
    numbers = prepare([(pair.source_text, pair.target_text) for pair in many]).preparation
    monkeypatch.setattr("csl.preparing.held_out.MOST_PAIRS", 1000)
    others = [Example.of(f"what is {word} ?", f"answer({word}(all))") for word in ("it", "he", "she")]
    found = list(splits([*many, *others], numbers))
    assert max(sum("size" in pair.target_text for pair in split.new) for split in found) == MOST_OF_TEMPLATE


def test_large_sets_are_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked_at([*PAIRS, *PAIRS]) == list(range(2 * len(PAIRS)))
    monkeypatch.setattr("csl.preparing.held_out.MOST_TOKENS", 100)
    few = looked_at(PAIRS)
    assert 0 < sum(len(PAIRS[i].source) + len(PAIRS[i].target) for i in few) <= 100
    assert few == sorted(few)
    monkeypatch.setattr("csl.preparing.held_out.MOST_TOKENS", 1)
    assert len(looked_at(PAIRS)) == 1


def test_a_single_template_is_not_held_out_and_a_single_pair_leaves_no_split() -> None:
    one = [pair for pair in PAIRS if "size(stateid" in pair.target_text]
    assert all(split.rest and split.known and not split.new for split in splits(one, PREPARATION))
    assert not list(splits(one[:1], PREPARATION))


def test_the_rest_is_prepared_without_what_is_held_out_but_with_listed_values() -> None:
    paris = [pair for pair in PAIRS if "Paris" in pair.source_text]
    split = Split([pair for pair in PAIRS if pair not in paris], paris, [], {})
    names = {" ".join(entry.words) for entry in split.prepared(PREPARATION).preparation.values.entries}
    assert "texas" in names
    assert "paris" not in names
    lines = [(1, "cityid.0\tParis\tparis"), (2, "stateid\tGuam")]
    values = listed(PREPARATION, lines, "values.tsv")
    names = {" ".join(entry.words) for entry in split.prepared(PREPARATION, values).preparation.values.entries}
    assert {"paris", "guam"} <= names
    stateless = Split([pair for pair in PAIRS if "state" not in pair.target_text], [], [], {})
    types = {entry.type for entry in stateless.prepared(PREPARATION, values).preparation.values.entries}
    assert "stateid" not in types  # nothing is known of it
