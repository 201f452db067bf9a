import pytest

from csl.examples import Example
from csl.grammar import OutputCfg, Rule, parse_rule
from csl.parsing.derivation import Derivation, types_of
from csl.parsing.drawing import draw_rule

AND = parse_rule("NT_1 and NT_2 ### NT_2 NT_1")
TWICE = parse_rule("NT_1 twice ### NT_1 NT_1")
JUMP = parse_rule("jump ### J")
WALK = parse_rule("walk ### W")


def test_the_example_of_a_derivation_is_the_pair_it_derives() -> None:
    derivation = Derivation(AND, (Derivation(TWICE, (Derivation(JUMP),)), Derivation(WALK)))
    assert derivation.example == Example.of("jump twice and walk", "W J J")


def test_rules_are_in_preorder_and_make_the_derivation_again() -> None:
    derivation = Derivation(AND, (Derivation(TWICE, (Derivation(JUMP),)), Derivation(WALK)))
    assert list(derivation.rules()) == [AND, TWICE, JUMP, WALK]
    assert Derivation.from_rules(derivation.rules()) == derivation


@pytest.mark.parametrize("rules", [[], [AND, JUMP], [JUMP, WALK]])
def test_rules_that_are_no_derivation_are_refused(rules: list[Rule]) -> None:
    with pytest.raises(ValueError, match=r"not .*derivation in preorder"):
        Derivation.from_rules(rules)


def test_a_rule_needs_a_child_for_each_nonterminal() -> None:
    with pytest.raises(ValueError, match="1 children for a rule with 2 nonterminals: NT_1 and NT_2"):
        Derivation(AND, (Derivation(JUMP),))


def test_deep_derivations_are_expanded() -> None:
    rules = [parse_rule("NT_1 x ### X NT_1")] * 5000 + [JUMP]
    pair = Derivation.from_rules(rules).example
    assert pair == Example(("jump",) + ("x",) * 5000, ("X",) * 5000 + ("J",))


def test_types_are_those_of_a_whole_output_in_preorder() -> None:
    cfg = OutputCfg.parse(["ROOT => ##B ##A", "A => J", "A => W", "B => W", "B => J", "A => ##A ##A"])
    derivation = Derivation(AND, (Derivation(TWICE, (Derivation(JUMP),)), Derivation(WALK)))
    assert types_of(derivation, cfg) == ["ROOT", "A", "A", "B"]
    assert types_of(Derivation(TWICE, (Derivation(JUMP),)), cfg) == []
    deep = Derivation.from_rules([parse_rule("NT_1 x ### X NT_1")] * 3000 + [JUMP])
    assert types_of(deep, OutputCfg.parse(["ROOT => X ##ROOT", "ROOT => J"])) == ["ROOT"] * 3001


@pytest.mark.parametrize("line", ["NT_1 \\NT_2 ### NT_1 \\###", "\\# a ### A", "a\\u{a0}b NT_1 ### [bold] NT_1"])
def test_rules_are_drawn_as_they_are_written(line: str) -> None:
    assert draw_rule(parse_rule(line)).plain == line
