"""The chart for pairs agrees with a plain enumeration of everything a small grammar derives."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar import Grammar, Nt, Rule, Symbol, parse_grammar, parse_rule
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Vocabulary
from csl.kernels.derive import build_trie, derive_rules
from csl.kernels.store import max_arity

Side = tuple[Symbol, ...]


def is_lone(rule: Rule) -> bool:
    return rule.source == (Nt(1),)


def targets_of(rules: list[Rule], x: Side, max_units: int, longest: int) -> set[Side]:
    """Every target of at most `longest` symbols that x derives; nonterminals of x derive themselves."""

    @cache
    def span(i: int, j: int, units: int) -> frozenset[Side]:
        found = {(x[i],)} if j == i + 1 and isinstance(x[i], Nt) else set()
        for rule in rules:
            if not is_lone(rule):
                found |= {filled(rule, parts) for parts in matches(rule.source, i, j)}
            elif units > 0:
                found |= {filled(rule, (part,)) for part in span(i, j, units - 1)}
        return frozenset(target for target in found if len(target) <= longest)

    def matches(source: Side, i: int, j: int) -> Iterator[tuple[Side, ...]]:
        if not source:
            if i == j:
                yield ()
        elif isinstance(source[0], Nt):
            for k in range(i + 1, j - len(source) + 2):
                for rest in matches(source[1:], k, j):
                    yield from ((first, *rest) for first in span(i, k, max_units))
        elif i < j and x[i] == source[0]:
            yield from matches(source[1:], i + 1, j)

    return set(span(0, len(x), max_units))


def filled(rule: Rule, parts: tuple[Side, ...]) -> Side:
    return tuple(s for t in rule.target for s in (parts[t.index - 1] if isinstance(t, Nt) else (t,)))


def derive(rules: list[Rule], query: Rule, max_units: int, banned: Rule | None = None) -> list[Rule]:
    """The rules of the derivation that the kernel finds, none if there is none."""
    vocabulary, store = Vocabulary(), RuleStore()
    ids = store.add_rules(rules, vocabulary)
    queries = store.add_rules([query], vocabulary)
    without = store.add_rules([banned], vocabulary) if banned else np.array([-1], np.int32)
    values, begin, middle = store.arrays
    alive = np.ones(len(store), np.bool_)
    trie, arity = build_trie(values, begin, middle, ids), max(1, max_arity(values, begin, middle, ids))
    found, offsets = derive_rules(values, begin, middle, alive, trie, arity, max_units, queries, without)
    assert offsets.tolist() == [0, len(found)]
    return [store.rule(int(r), vocabulary) for r in found]


@st.composite
def rules(draw: st.DrawFn, terminals: str = "ab", longest: int = 3) -> Rule:
    source = draw(st.lists(st.sampled_from([*terminals, None, None]), min_size=1, max_size=longest))
    arity = source.count(None)
    indices = iter(range(1, arity + 1))
    alpha = tuple(Nt(next(indices)) if s is None else s for s in source)
    extra = draw(st.lists(st.sampled_from([*"AB", *(Nt(i) for i in range(1, arity + 1))]), max_size=2))
    beta = draw(st.permutations([*(Nt(i) for i in range(1, arity + 1)), *extra]))
    return Rule(alpha, tuple(beta) or ("A",))


grammars = st.lists(rules(), min_size=1, max_size=6).map(lambda some: list(Grammar([*some, parse_rule("a ### A")])))


LONGEST = 6


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
    targets = targets_of(allowed, x, max_units, LONGEST)
    nonterminals = tuple(s for s in x if isinstance(s, Nt))
    asked = sorted(targets, key=repr)[:8] or [(*nonterminals, "A")]
    asked += near(data.draw(st.sampled_from(asked)), data.draw(st.integers(0, 5)), data.draw(st.sampled_from("AB")))
    for y in asked:
        if x == y or len(y) > LONGEST:
            continue  # a lone nonterminal derives itself by no rule at all
        found = derive(grammar, Rule(x, y), max_units, banned)
        assert bool(found) == (y in targets), (x, y)
        assert set(found) <= set(allowed)
        assert not found or y in targets_of(list(dict.fromkeys(found)), x, max_units, LONGEST)


@pytest.mark.parametrize(("max_units", "derivable"), [(0, 1), (1, 2), (2, 3)])
def test_units_in_a_row_are_limited(max_units: int, derivable: int) -> None:
    grammar = list(parse_grammar(["a ### A", "NT_1 ### NT_1 x"]))
    pairs = [Rule(("a",), ("A", *["x"] * k)) for k in range(5)]
    assert [bool(derive(grammar, pair, max_units)) for pair in pairs] == [k < derivable for k in range(5)]


def test_units_are_counted_anew_below_another_rule() -> None:
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
