"""Removing derivable rules gives what a plain greedy pass gives that asks about everything each time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar import Grammar, Rule, parse_grammar, parse_rule
from csl.kernels.derive import build_trie, derive_rules
from csl.kernels.prune import remove_derivable
from csl.kernels.store import max_arity, take

from .twins import Encoded, derivable, random_rules

MAX_UNITS = 2

grammars = st.lists(random_rules(longest=3, max_arity=2), min_size=1, max_size=8).map(
    lambda rules: list(Grammar([*rules, parse_rule("a ### A"), parse_rule("b ### B")]))
)


def left_over(rules: list[Rule], order: list[Rule]) -> list[Rule]:
    """What the kernel leaves of the rules."""
    encoded = Encoded(rules)
    arrays, alive = encoded.arrays, np.ones(len(rules), np.bool_)
    trie, arity = build_trie(*arrays, encoded.ids), max(1, max_arity(*arrays, encoded.ids))
    chart, ids = (*arrays, alive, trie, arity, MAX_UNITS), encoded.ids_of(order)
    hints, offsets = derive_rules(*chart, ids, ids)
    perhaps = np.flatnonzero(np.diff(offsets))  # the others are not derivable by more rules, so not by fewer
    remove_derivable(*chart, ids[perhaps], *take(hints, offsets, perhaps))
    return [rule for rule, is_alive in zip(rules, alive, strict=True) if is_alive]


@settings(deadline=None, max_examples=200)
@given(grammars, st.data())
def test_derivable_rules_go_one_after_the_other(rules: list[Rule], data: st.DataObject) -> None:
    rules = [rule for rule in rules if rule.source != rule.target]  # ⟨NT_1, NT_1⟩ is derived by no rule at all
    order = data.draw(st.permutations(rules))
    left = list(rules)
    for rule in order:
        others = [other for other in left if other != rule]
        if derivable(others, rule, MAX_UNITS):
            left = others
    assert left_over(rules, order) == left


def test_of_rules_that_derive_each_other_the_first_in_order_goes() -> None:
    rules = list(parse_grammar(["a ### A", "NT_1 b ### NT_1 B", "a b ### A B"]))
    assert left_over(rules, rules[::-1]) == rules[:2]
    twins = list(parse_grammar(["x NT_1 ### NT_1", "x y NT_1 ### NT_1", "y NT_1 ### NT_1", "x y ### Z", "y ### Z"]))
    assert left_over(twins, twins[1:]) == [twins[0], twins[2], twins[4]]
    assert left_over(twins, twins[:1]) == twins
