"""Outputs are trees over slots: labels, tags, lists, and the order of records and lists."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from csl.languages.registry import LANGUAGES, language
from csl.preparing.trees import ROOT, Node, Schema

from .outputs import outputs

COLOURS = ["red", "green", "blue", "grey", "white"]


def learn(name: str, texts: Sequence[str]) -> tuple[Schema, list[Node]]:
    programs = [language(name).read(text) for text in texts]
    schema = Schema.learn(programs)
    return schema, [schema.tree(program) for program in programs]


def slots(tree: Node) -> list[tuple[str, tuple[str, ...]]]:
    return [(" ".join(node.tokens), node.slot) for node in tree.walk()]


def test_a_slot_is_an_operator_with_its_number_of_arguments_and_a_place() -> None:
    _, (tree,) = learn("calls", ["answer(exclude(state(all), river))"])
    assert slots(tree) == [
        ("answer ( exclude ( state ( all ) , river ) )", ROOT),
        ("exclude ( state ( all ) , river )", ("answer", "1", "0")),
        ("state ( all )", ("exclude", "2", "0")),
        ("all", ("state", "1", "0")),
        ("river", ("exclude", "2", "1")),
    ]


def test_a_node_has_its_own_tokens_with_gaps_for_its_children() -> None:
    _, (tree,) = learn("calls", ["f(g(a), 'b c')"])
    assert tree.pattern == ("f", "(", None, ",", None, ")")
    assert [child.kind for child in tree.children] == ["call", "string"]
    assert tree.tokens == ("f", "(", "g", "(", "a", ")", ",", "'", "b", "c", "'", ")")


def test_the_value_under_a_key_has_the_key_as_its_slot() -> None:
    _, (tree,) = learn("json", ['{"name": "Ann", "age": 3}'])
    assert ('" Ann "', ("ROOT", "name")) in slots(tree)
    assert ("3", ("ROOT", "age")) in slots(tree)


def test_a_leaf_that_decides_its_siblings_is_a_tag() -> None:
    texts = [f'{{"intent": "On", "lamp": "{c}"}}' for c in COLOURS] * 2
    texts += [f'{{"intent": "Play", "song": "{c}", "loud": true}}' for c in COLOURS] * 2
    schema, trees = learn("json", texts)
    assert dict(schema.tags) == {"ROOT": "intent"}
    assert {tree.operator for tree in trees} == {"On", "Play"}
    assert "intent" not in {node.label for tree in trees for node in tree.walk()}
    assert "On" in trees[0].pattern
    assert ('" red "', (trees[0].label, "lamp")) in slots(trees[0])


def test_a_first_argument_that_decides_the_others_is_a_tag() -> None:
    texts = [f"(call size {c})" for c in COLOURS] * 3 + [f"(call join {c} (call size {c}))" for c in COLOURS] * 3
    schema, trees = learn("sexpr", texts)
    assert dict(schema.tags) == {"call": 0}
    assert {node.label for tree in trees for node in tree.walk() if node.children} == {"call size", "call join"}
    assert trees[0].operator == "size"


def test_a_leaf_of_which_each_value_occurs_once_is_no_tag() -> None:
    schema, _ = learn("json", [f'{{"name": "n{i}", "age": {i}}}' for i in range(10)])
    assert not schema.tags


def test_an_operator_of_many_numbers_of_arguments_takes_any_number() -> None:
    schema, trees = learn("calls", ["f(and(a), or(a))", "f(and(a, b), or(a, b))", "f(and(a, b, c), or(a))"])
    assert schema.variadic == {"and"}
    items = [node.slot for node in trees[2].walk() if node.is_literal]
    assert items == [("and", "*"), ("and", "*"), ("and", "*"), ("or", "1", "0")]


def test_records_have_their_keys_in_the_usual_order() -> None:
    texts = ['{"a": 1, "b": 2}', '{"a": 3, "b": 4, "c": 5}', '{"b": 6, "c": 7}', '{"c": 8, "a": 9}']
    schema, trees = learn("json", texts)
    assert schema.orders == {"ROOT": ["a", "b", "c"]}
    assert [child.label for child in trees[3].children] == ["a", "c"]


def test_a_record_that_repeats_a_key_has_no_order() -> None:
    schema, _ = learn("calls", ["f(a=1, a=2)", "f(a=1, b=2)"])
    assert "f" not in schema.orders


def test_lists_that_are_always_sorted_are_found_and_sorted_again() -> None:
    texts = [f"all(p({a}), p({b}), q({b}))" for a in "abcd" for b in "efg"]
    texts += ["all(p(a), p(b))", "all(p(a))"]
    schema, _ = learn("calls", texts)
    assert schema.sorted == {"all": ["p", "q"]}
    shuffled = schema.tree(language("calls").read("all(q(e), p(e), p(a))"))
    assert schema.sort(shuffled).tokens == language("calls").read("all(p(a), p(e), q(e))").tokens


def test_lists_in_any_order_are_left_alone() -> None:
    texts = [f"all(p({a}), p({b}), q(x))" for a in "abcd" for b in "abcd"] + ["all(p(a))", "all(p(a), p(b))"]
    schema, _ = learn("calls", texts)
    assert not schema.sorted


def test_a_schema_survives_json() -> None:
    texts = [f'{{"intent": "On", "lamp": "{c}"}}' for c in COLOURS] * 2
    texts += [f'{{"intent": "Off", "room": "{c}", "fan": 1}}' for c in COLOURS] * 2
    schema, _ = learn("json", texts)
    assert Schema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize("name", [spoken.name for spoken in LANGUAGES])
@settings(deadline=None, max_examples=30)
@given(texts=outputs())
def test_trees_have_all_tokens_of_the_output(name: str, texts: dict[str, list[str]]) -> None:
    programs = [language(name).read(text) for text in texts[name]]
    schema = Schema.learn(programs)
    for program in programs:
        tree = schema.tree(program)
        assert sorted(tree.tokens) == sorted(program.tokens)
        if not schema.orders:
            assert tree.tokens == program.tokens
        assert sum(token is None for node in tree.walk() for token in node.pattern) == len(list(tree.walk())) - 1


def test_the_usual_order_is_that_of_any_two_items() -> None:
    rows = ['{"a": 1, "b": 2, "c": 3, "d": 4}', '{"b": 1, "d": 2}', '{"c": 1, "d": 2}', '{"a": 1, "c": 2}'] * 2
    schema, trees = learn("json", [*rows, *['{"c": 3}'] * 9, '{"b": 1}'])
    assert schema.orders == {"ROOT": ["a", "b", "c", "d"]}
    assert all([child.label for child in tree.children] == sorted(c.label for c in tree.children) for tree in trees)


def test_an_order_is_found_even_where_items_go_round_in_circles() -> None:
    schema, _ = learn("json", ['{"a": 1, "b": 2}', '{"b": 1, "c": 2}', '{"c": 1, "a": 2}'])
    assert sorted(schema.orders["ROOT"]) == ["a", "b", "c"]
