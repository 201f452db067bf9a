"""Categories accept new combinations and refuse nonsense, and are always fit for use."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from csl.grammar.output_cfg import ROOT, OutputCfg
from csl.languages.registry import LANGUAGES, language
from csl.preparing.categories import Categories
from csl.preparing.preparation import prepare
from csl.preparing.trees import Schema

from ..raw import SETS
from .outputs import outputs

OUTPUTS = [
    "answer(size(state(all)))", "answer(size(city(all)))", "answer(river(loc(state(all))))",
    "answer(city(loc(state(next(state(all))))))", "answer(largest(city(all), by('area')))",
    "answer(largest(river(all), by('length')))",
]  # fmt: skip


def learn(name: str, texts: Sequence[str]) -> Categories:
    programs = [language(name).read(text) for text in texts]
    schema = Schema.learn(programs)
    return Categories.learn([schema.tree(program) for program in programs], schema.orders)


def accepts(cfg: OutputCfg, text: str, name: str = "calls") -> bool:
    return cfg.accepts(language(name).read(text).tokens)


def test_categories_accept_new_combinations() -> None:
    cfg = learn("calls", OUTPUTS).cfg
    assert accepts(cfg, "answer(size(river(loc(city(next(state(all)))))))")
    assert accepts(cfg, "answer(largest(city(loc(state(all))), by('length')))")


@pytest.mark.parametrize(
    "text",
    [
        "size(state(all))",
        "answer(answer(size(state(all))))",
        "answer(size('area'))",
        "answer(largest(by('area'), city(all)))",
        "answer(by('area'))",
        "answer(size(state(all), all))",
        "answer(size(state(all))",
    ],
    ids=["no root", "a whole output inside", "a literal", "swapped", "a measure", "arity", "brackets"],
)
def test_nonsense_is_refused(text: str) -> None:
    cfg = learn("calls", OUTPUTS).cfg
    tokens = language("code").read(text).tokens
    assert not cfg.accepts(tokens)


def test_slots_of_numbers_take_any_number_and_growing_ones_any_dotted_name() -> None:
    where = [f"SELECT t.a FROM t WHERE t.{column} > {n}" for column, n in (("b", 1), ("b", 1), ("c", 2), ("c", 2))]
    cfg = learn("sql", [*where, "SELECT t.d FROM t LIMIT 5", "SELECT t.e FROM t LIMIT 5"]).cfg
    assert accepts(cfg, "SELECT t.c FROM t WHERE t.b > 5", "sql")  # names that are selected come once, too
    assert not accepts(cfg, "SELECT 5 FROM t WHERE t.b > 1", "sql")
    assert not accepts(cfg, "SELECT t.a FROM t LIMIT t.b", "sql")


def test_operators_of_one_kind_have_a_category_of_their_own() -> None:
    found = learn("calls", OUTPUTS)
    operators = {p.lhs.name for p in found.cfg.productions if p.rhs == ("state",)}
    assert len(operators) == 1
    (name,) = operators
    members = {str(p.rhs[0]) for p in found.cfg.productions if p.lhs.name == name}
    assert members == {"state", "city", "river"}  # of entities; `size` and `loc` never are below `loc` and `next`


def test_a_leaf_below_many_operators_needs_no_word() -> None:
    rules = {str(rule) for rule in learn("calls", OUTPUTS).seed_rules}
    assert rules == {"NT_1 ### NT_1 ( all )"}


def test_lists_have_any_number_of_items() -> None:
    cfg = learn("json", ['{"names": ["a"]}', '{"names": ["b", "c"]}']).cfg
    assert accepts(cfg, '{"names": ["a", "b", "c", "a", "b"]}', "json")
    assert not accepts(cfg, '{"names": ["a", {"names": ["b"]}]}', "json")


def test_a_record_has_each_key_once_and_in_order() -> None:
    cfg = learn("json", ['{"a": 1, "b": 2}', '{"b": 2, "c": 3}', '{"a": 1, "c": 3}']).cfg
    assert accepts(cfg, '{"a": 1, "b": 2, "c": 3}', "json")
    assert accepts(cfg, '{"b": 2}', "json")
    for text in ('{"a": 1, "a": 1}', '{"b": 2, "a": 1}', '{"a": 2}'):
        assert not cfg.accepts(language("code").read(text).tokens), text


def test_names_are_of_one_category_each() -> None:
    texts = [f"f(x({a}), x2(g({b})), root(h({b})), x(k(x({a}))))" for a in "ab" for b in "cd"]
    found = learn("calls", texts)
    found.cfg.check()
    assert not accepts(found.cfg, texts[0].replace("root(h(c))", "root(a)"))
    assert not accepts(found.cfg, f"f(x(a), x2(g(c)), root({texts[0]}), x(k(x(a))))")


def test_keys_with_spaces_are_written_and_read_again() -> None:
    cfg = learn("json", ['{"first name": "a", "last name": "b"}', '{"last name": "c"}']).cfg
    assert OutputCfg.parse(str(cfg).splitlines()).productions == cfg.productions


@pytest.mark.parametrize("name", SETS)
def test_training_outputs_are_accepted(name: str) -> None:
    found = prepare(SETS[name])
    cfg = found.categories.cfg
    cfg.check()
    assert all(cfg.accepts(example.target) for example in found.examples)


def test_counts_are_those_of_training() -> None:
    found = learn("calls", OUTPUTS)
    assert found.counts[next(p for p in found.cfg.productions if p.lhs == ROOT)] == len(OUTPUTS)
    assert [n for production, n in found.counts.items() if production.rhs == ("state",)] == [4]
    assert set(found.counts) == set(found.cfg.productions)


@pytest.mark.parametrize("name", [spoken.name for spoken in LANGUAGES])
@settings(deadline=None, max_examples=25)
@given(texts=outputs())
def test_categories_of_any_outputs_are_fit_for_use(name: str, texts: dict[str, list[str]]) -> None:
    found = learn(name, texts[name])
    found.cfg.check()
    assert OutputCfg.parse(str(found.cfg).splitlines()).productions == found.cfg.productions
    programs = [language(name).read(text) for text in texts[name]]
    schema = Schema.learn(programs)
    assert all(found.cfg.accepts(schema.tree(program).tokens) for program in programs)


def test_keyword_arguments_are_any_of_their_keys_in_order() -> None:
    texts = ["help(agent=dog, theme=rose)", "help(theme=cat)", "help(agent=cat, ccomp=help(theme=dog))"]
    cfg = learn("calls", texts).cfg
    cfg.check()
    assert accepts(cfg, "help(agent=dog, ccomp=help(agent=cat, theme=rose))")
    assert not accepts(cfg, "help(theme=rose, agent=dog)")
    assert not accepts(cfg, "help(agent=dog, agent=cat)")
