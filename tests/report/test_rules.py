"""What rules cost and save: as induction counts, and together what induction saved."""

import pytest

from csl.examples import Example
from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.notation import parse_rule
from csl.induction.config import PRESETS, InductionConfig
from csl.induction.induce import induce
from csl.report.derivations import Derivations
from csl.report.rules import Rules, describe_rules, tokens_written

VERBS = {"walk": "WALK", "run": "RUN", "look": "LOOK"}
TRAIN = [
    *(Example.of(x, y) for x, y in VERBS.items()),
    *(Example.of(f"{x} twice", f"{y} {y}") for x, y in VERBS.items()),
    *(Example.of(f"{x} and {a}", f"{y} {b}") for x, y in VERBS.items() for a, b in VERBS.items()),
]


def describe(grammar: Grammar, train: list[Example], config: InductionConfig, seeds: list[Rule]) -> Rules:
    by = Derivations(grammar, None, config.max_units)
    return describe_rules(by.rules, seeds, train, by.best(train), config)


@pytest.mark.parametrize("copies", [1, 3])
def test_costs_are_those_of_induction_and_savings_add_up(copies: int) -> None:
    config, train = PRESETS["cogs"], TRAIN * copies
    induced = induce(train, config)
    rules = describe(induced.grammar, train, config, [])
    assert [row.cost for row in rules.rows] == [induced.cost[rule] for rule in induced.grammar]
    assert rules.objective == pytest.approx(induced.objective)
    assert rules.size_before == induced.size_before
    saved = sum(row.saves or 0 for row in rules.rows)
    assert saved == pytest.approx(induced.size_before - induced.objective)
    assert (rules.examples, rules.derived) == (len(train), len(train))
    assert any(row.arity and row.uses == copies * 3 for row in rules.rows)


def test_a_rule_writes_its_target_as_often_as_its_parents_repeat_it() -> None:
    rules = [parse_rule("NT_1 twice ### NT_1 NT_1"), parse_rule("NT_1 left ### L NT_1"), parse_rule("walk ### W")]
    # walk left twice twice → L W L W L W L W
    assert tokens_written(rules, (0, 0, 1, 2)) == {0: 2, 1: 1 + 4, 2: 1 + 4}


def test_rows_tell_sides_seeds_and_the_shortest_uses() -> None:
    grammar = parse_grammar(["walk ### WALK", "run ### RUN", "NT_1 and NT_2 ### NT_1 NT_2"])
    train = [Example.of("run and walk", "RUN WALK"), Example.of("walk", "WALK"), Example.of("walk", "WALK"),
             Example.of("hop", "HOP")]  # fmt: skip
    rules = describe(grammar, train, PRESETS["geoquery"], [parse_rule("walk ### WALK")])
    walk, _, both = rules.rows
    assert both.source == [1, "and", 2]
    assert both.target == [1, 2]
    assert (both.id, both.arity, both.uses, both.seed) == (3, 2, 1, False)
    assert (walk.uses, walk.seed) == (3, True)
    assert [source for source, _ in walk.examples] == ["walk", "run and walk"]
    assert (rules.examples, rules.derived) == (4, 3)


def test_without_training_data_there_is_nothing_to_count() -> None:
    rules = describe(parse_grammar(["walk ### WALK"]), [], PRESETS["geoquery"], [])
    [row] = rules.rows
    assert (row.cost, row.saves, row.uses) == (None, None, None)
    assert (rules.examples, rules.derived, rules.size_before, rules.objective) == (None, None, None, None)
