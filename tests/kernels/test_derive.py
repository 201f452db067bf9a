"""The chart for pairs agrees with a plain enumeration of everything a small grammar derives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar import Grammar, Nt, Rule, parse_grammar, parse_rule
from csl.kernels.budget import untimed
from csl.kernels.derive import derive_rules, remove_derivable
from csl.kernels.flat import take
from csl.reference import Side, derivable, fill

from ..grammars import all_derivations, random_rules
from .encoded import Encoded

LONGEST = 6
grammars = st.lists(random_rules(longest=3), min_size=1, max_size=8).map(
    lambda rules: list(Grammar([*rules, parse_rule("a ### A"), parse_rule("b ### B")]))
)


def derive(rules: list[Rule], query: Rule, max_units: int, banned: Rule | None = None) -> list[Rule]:
    """The rules of the derivation that the kernel finds, none if there is none."""
    encoded = Encoded(rules)
    parser = encoded.parser(max_units)
    (number,) = encoded.store.add_rules([query], encoded.vocabulary)
    without = encoded.ids_of([banned]) if banned else np.array([-1], np.int32)
    parser = parser._replace(rules=encoded.store.arrays)
    found, offsets, used = derive_rules(parser, untimed(), np.array([number], np.int32), without)
    assert offsets.tolist() == [0, len(found)]
    assert len(used) == 1
    return [encoded.store.rule(int(r), encoded.vocabulary) for r in found]


def targets_of(rules: list[Rule], x: Side, max_units: int) -> set[Side]:
    """Every short target that x derives, each of its nonterminals taken for a token with a rule of its own."""
    names = {symbol: (str(symbol),) for symbol in x if isinstance(symbol, Nt)}
    tokens = {name: (symbol,) for symbol, (name,) in names.items()}
    trees = all_derivations([*rules, *(Rule(name, name) for name in names.values())], fill(x, names), max_units, 1000)
    return {fill(tree.example.target, tokens) for tree in trees if tree.target_length <= LONGEST}


def near(target: Side, place: int, token: str) -> list[Side]:
    """Targets that differ from this one in one terminal."""
    place %= len(target)
    changed = [(*target[:place], token, *target[place:])]
    if isinstance(target[place], str):
        changed += [(*target[:place], *target[place + 1 :]), (*target[:place], token, *target[place + 1 :])]
    return [t for t in changed if t]


@settings(deadline=None, max_examples=300)
@given(grammars, st.lists(st.sampled_from(["a", "b", "b", None]), min_size=1, max_size=4), st.data())
def test_what_is_derived_is_what_enumeration_finds(
    grammar: list[Rule], shape: list[str | None], data: st.DataObject
) -> None:
    max_units = data.draw(st.sampled_from([0, 1, 2]))
    banned = data.draw(st.sampled_from([None, *grammar]))
    allowed = [rule for rule in grammar if rule != banned]
    indices = iter(range(1, len(shape) + 1))
    x = tuple(Nt(next(indices)) if s is None else s for s in shape)
    targets = targets_of(allowed, x, max_units)
    nonterminals = tuple(s for s in x if isinstance(s, Nt))
    asked = sorted(targets, key=repr)[:8] or [(*nonterminals, "A")]
    asked += near(data.draw(st.sampled_from(asked)), data.draw(st.integers(0, 5)), data.draw(st.sampled_from("AB")))
    for y in asked:
        if x == y or len(y) > LONGEST:
            continue  # a lone nonterminal derives itself by no rule at all
        found = derive(grammar, Rule(x, y), max_units, banned)
        assert bool(found) == derivable(allowed, Rule(x, y), max_units) == (y in targets), (x, y)
        assert set(found) <= set(allowed)
        assert not found or derivable(set(found), Rule(x, y), max_units)


@pytest.mark.parametrize(("max_units", "derivable"), [(0, 1), (1, 2), (2, 3)])
def test_units_in_a_row_are_limited(max_units: int, derivable: int) -> None:
    grammar = list(parse_grammar(["a ### A", "NT_1 ### NT_1 x"]))
    pairs = [Rule(("a",), ("A", *["x"] * k)) for k in range(5)]
    assert [bool(derive(grammar, pair, max_units)) for pair in pairs] == [k < derivable for k in range(5)]


def test_units_are_counted_again_below_another_rule() -> None:
    grammar = list(parse_grammar(["a ### A", "NT_1 ### NT_1 x", "NT_1 b ### NT_1 B"]))
    found = derive(grammar, parse_rule("a b ### A x B x"), 1)
    assert [str(rule) for rule in found] == ["NT_1 ### NT_1 x", "NT_1 b ### NT_1 B", "NT_1 ### NT_1 x", "a ### A"]


def test_a_rule_follows_from_others_but_not_from_itself() -> None:
    grammar = list(parse_grammar(["NT_1 and NT_2 ### NT_1 NT_2", "NT_1 twice ### NT_1 NT_1", "jump ### J"]))
    longer = parse_rule("NT_1 twice and jump ### NT_1 NT_1 J")
    assert derive([*grammar, longer], longer, 2, banned=longer) == grammar
    assert derive([*grammar, longer], longer, 2) != []
    assert derive(grammar, grammar[0], 2, banned=grammar[0]) == []


def test_repeated_nonterminals_stand_for_the_same_string_everywhere() -> None:
    grammar = list(parse_grammar(["a ### A", "a ### B", "NT_1 twice ### NT_1 NT_1"]))
    assert derive(grammar, parse_rule("a twice ### B B"), 2)
    assert not derive(grammar, parse_rule("a twice ### A B"), 2)


def test_a_pair_that_takes_more_than_the_budget_is_given_up() -> None:
    encoded = Encoded(parse_grammar(["a ### A", "NT_1 NT_2 ### NT_1 NT_2", f"{'a ' * 12} ### {'A ' * 12}"]))
    parser, queries, nothing = encoded.parser(0), encoded.ids[2:], np.array([-1], np.int32)
    rules, _, used = derive_rules(parser, untimed(10), queries, nothing)
    assert not len(rules)
    assert used[0] > 10
    rules, _, used = derive_rules(parser, untimed(), queries, nothing)
    assert len(rules)
    assert used[0] <= untimed().items


# removing


def left_over(rules: list[Rule], order: list[Rule]) -> list[Rule]:
    """What the kernel leaves of the rules."""
    encoded = Encoded(rules)
    parser, ids = encoded.parser(2), encoded.ids_of(order)
    hints, offsets, _ = derive_rules(parser, untimed(), ids, ids)
    perhaps = np.flatnonzero(np.diff(offsets))  # the others are not derivable by more rules, so not by fewer
    remove_derivable(parser, untimed(), ids[perhaps], *take(hints, offsets, perhaps), 2**62)
    return [rule for rule, is_alive in zip(rules, parser.alive, strict=True) if is_alive]


@settings(deadline=None, max_examples=200)
@given(grammars, st.data())
def test_derivable_rules_go_one_after_the_other(rules: list[Rule], data: st.DataObject) -> None:
    rules = [rule for rule in rules if rule.source != rule.target]  # ⟨NT_1, NT_1⟩ is derived by no rule at all
    order = data.draw(st.permutations(rules))
    left = list(rules)
    for rule in order:
        others = [other for other in left if other != rule]
        if derivable(others, rule, 2):
            left = others
    assert left_over(rules, order) == left


def test_of_rules_that_derive_each_other_the_first_in_order_goes() -> None:
    rules = list(parse_grammar(["a ### A", "NT_1 b ### NT_1 B", "a b ### A B"]))
    assert left_over(rules, rules[::-1]) == rules[:2]
    rules = list(parse_grammar(["x NT_1 ### NT_1", "x y NT_1 ### NT_1", "y NT_1 ### NT_1", "x y ### Z", "y ### Z"]))
    assert left_over(rules, rules[1:]) == [rules[0], rules[2], rules[4]]
    assert left_over(rules, rules[:1]) == rules
