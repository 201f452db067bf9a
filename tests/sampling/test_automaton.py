"""Every derivation has one run of the automaton, to the set of categories of its output."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.output_cfg import ROOT, OutputCfg
from csl.model.model import context_starts
from csl.parsing.derivation import Derivation
from csl.reference import derivations_within
from csl.sampling.automaton import Automaton, build_automaton

from ..grammars import grammars, output_cfgs


class Runs:
    """The kinds that the transitions give a derivation: one for each run."""

    def __init__(self, grammar: Grammar, automaton: Automaton) -> None:
        self.number = {rule: r for r, rule in enumerate(grammar)}
        self.starts = context_starts(grammar)
        self.transitions: dict[int, list[tuple[int, list[set[int]]]]] = {}
        a = automaton
        for kind in range(a.n_kinds):
            for t in range(a.kinds[kind], a.kinds[kind + 1]):
                r, places = int(a.rule[t]), a.classes[a.arguments[t] : a.arguments[t + 1]]
                assert a.context[places].tolist() == [self.starts[r] + i for i in range(len(places))]
                classes = [set(a.kind[a.members[c] : a.members[c + 1]].tolist()) for c in places]
                self.transitions.setdefault(r, []).append((kind, classes))

    def of(self, tree: Derivation) -> list[int]:
        parts = list(product(*map(self.of, tree.children)))
        return [
            kind
            for kind, classes in self.transitions.get(self.number[tree.rule], [])
            for part in parts
            if all(k in members for k, members in zip(part, classes, strict=True))
        ]


def categories(tree: Derivation, cfg: OutputCfg) -> frozenset[str]:
    """The categories of a derivation by the typings of its rules.

    Its output can have more of them, if a part of the derivation is no part that the CFG knows, or if a nonterminal
    that is repeated would need two types.
    """
    below = [categories(child, cfg) for child in tree.children]
    return frozenset(
        t.category
        for t in cfg.typings(tree.rule.target)
        if all(name in there for name, there in zip(t.children, below, strict=True))
    )


def small(grammar: Grammar) -> list[Derivation]:
    """All derivations, as deep as there are not too many."""
    depth, trees = 1, derivations_within(grammar, 1)
    while depth < 4 and sum(len(trees) ** rule.arity for rule in grammar) < 300:
        depth += 1
        trees = derivations_within(grammar, depth)
    return trees


@settings(deadline=None, max_examples=80)
@given(rules=grammars, cfg=output_cfgs)
def test_a_derivation_has_one_run_to_its_categories(rules: list[Rule], cfg: OutputCfg) -> None:
    grammar = Grammar(rules)
    automaton = build_automaton(grammar, cfg)
    runs = Runs(grammar, automaton)
    kind_of: dict[frozenset[str], int] = {}
    for tree in small(grammar):
        kinds, names = runs.of(tree), categories(tree, cfg)
        assert names <= {t.category for t in cfg.typings(tree.example.target)}
        assert len(kinds) == (1 if names else 0)
        if names:
            assert kind_of.setdefault(names, kinds[0]) == kinds[0]
            assert automaton.goal[kinds[0]] == (ROOT.name in names)
    assert len(set(kind_of.values())) == len(kind_of)


@settings(deadline=None)
@given(rules=grammars)
def test_without_a_cfg_there_is_one_kind(rules: list[Rule]) -> None:
    grammar = Grammar(rules)
    automaton = build_automaton(grammar, None)
    assert automaton.n_kinds == 1
    assert automaton.goal.all()
    runs = Runs(grammar, automaton)
    assert all(runs.of(tree) == [0] for tree in small(grammar))


FUNQL = OutputCfg.parse(
    [
        "ROOT => answer ( ##SET )", "SET => ##STATE", "SET => ##RIVER", "SET => both ( ##SET , ##SET )",
        "STATE => next ( ##STATE )", "STATE => m0", "RIVER => m0", "RIVER => long ( ##RIVER )",
    ]
)  # fmt: skip
FUNQL_RULES = parse_grammar(
    [
        "m ### m0", "next NT_1 ### next ( NT_1 )", "long NT_1 ### long ( NT_1 )", "NT_1 ? ### answer ( NT_1 )",
        "NT_1 and NT_2 ### both ( NT_2 , NT_1 )", "next long NT_1 ### next ( long ( NT_1 ) )",
    ]
)  # fmt: skip


def test_where_all_parts_are_known_the_kind_is_the_set_of_categories_of_the_output() -> None:
    runs = Runs(FUNQL_RULES, build_automaton(FUNQL_RULES, FUNQL))
    kind_of: dict[frozenset[str], set[int]] = {}
    for tree in derivations_within(FUNQL_RULES, 3):
        names = frozenset(t.category for t in FUNQL.typings(tree.example.target))
        kinds = runs.of(tree)
        assert len(kinds) == (1 if names else 0)
        kind_of.setdefault(names, set()).update(kinds)
    assert sorted(map(sorted, kind_of)) == [
        [], ["RIVER", "SET"], ["RIVER", "SET", "STATE"], ["ROOT"], ["SET"], ["SET", "STATE"],
    ]  # fmt: skip
    assert all(len(kinds) == 1 for names, kinds in kind_of.items() if names)
    assert len(set.union(*kind_of.values())) == 5


def test_a_placeholder_of_two_categories_is_of_one_kind_more() -> None:
    grammar = parse_grammar(["a ### A", "b ### B", "c ### C", "f NT_1 ### F NT_1"])
    cfg = OutputCfg.parse(["ROOT => F ##X", "ROOT => F ##Y", "X => A", "Y => A", "Y => B", "X => C"])
    automaton = build_automaton(grammar, cfg)
    assert automaton.n_kinds == 4  # {X, Y}, {Y}, {X} and {ROOT}
    assert len(automaton.rule) == 3 + 3  # f takes each of the three


@pytest.mark.parametrize("lines", [["a NT_1 ### A NT_1"], ["b ### B"]], ids=["endless", "no type"])
def test_a_grammar_without_valid_derivations_has_no_kinds(lines: list[str]) -> None:
    automaton = build_automaton(parse_grammar(lines), OutputCfg.parse(["ROOT => A ##ROOT", "ROOT => C"]))
    assert automaton.n_kinds == len(automaton.rule) == 0


@settings(deadline=None, max_examples=30)
@given(rules=grammars, cfg=output_cfgs, data=st.data())
def test_the_order_of_rules_changes_numbers_only(rules: list[Rule], cfg: OutputCfg, data: st.DataObject) -> None:
    other = data.draw(st.permutations(rules))
    a, b = (build_automaton(Grammar(some), cfg) for some in (rules, other))
    assert (a.n_kinds, len(a.rule), a.goal.sum()) == (b.n_kinds, len(b.rule), b.goal.sum())
