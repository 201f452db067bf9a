"""UNIFY finds what the reference finds, what it finds composes to r_c again, and nothing that is promised is missing.

The contract. For r_c, another rule g and a span of r_c's source that occurs there once, r_add is returned when its
source is not a lone nonterminal and

- above: g, expanded with r_add at the span, is r_c (r_add's source is the span);
- inside: r_add, expanded with g at the span, is r_c, and r_add's nonterminal there takes the place of every
  occurrence of g's target in r_c's, none of which overlap.
"""

from collections import defaultdict
from itertools import pairwise, product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csl import reference
from csl.grammar import Nt, Rule, compose, parse_rule
from csl.kernels.hashing import build_table
from csl.kernels.store import source_hashes
from csl.kernels.unify import Shape, unify
from csl.reference import fill, places

from ..grammars import random_rules
from .encoded import Encoded

Triples = dict[tuple[Rule, Rule], set[Rule]]  # (r_c, g) → all r_add


def found(
    rules: list[Rule], max_arity: int = 9, repeats: bool = True, lone_target: bool = True, first: int | None = None
) -> Triples:
    """What the kernel finds among the rules, for all of them or the first ones as r_c."""
    encoded = Encoded(rules)
    table = build_table(source_hashes(encoded.arrays, 0), encoded.ids)
    pairs, candidates = unify(encoded.arrays, table, encoded.ids[:first], Shape(max_arity, repeats, lone_target))
    r_add = encoded.store.add(candidates)
    triples: Triples = defaultdict(set)
    for (c, other), new in zip(pairs, r_add, strict=True):
        triples[encoded.rules[c], encoded.rules[other]].add(encoded.store.rule(new, encoded.vocabulary))
    return triples


def plain(rules: list[Rule]) -> Triples:
    pairs = {(c, g): set(reference.unify(c, g)) for c in rules for g in rules if c != g}
    return {pair: added for pair, added in pairs.items() if added}


def compositions(a: Rule, b: Rule) -> list[Rule]:
    return [compose(a, i, b) for i in range(1, a.arity + 1)]


@st.composite
def families(draw: st.DrawFn) -> list[Rule]:
    """A few rules and some of their compositions."""
    rules = draw(st.lists(random_rules(), min_size=2, max_size=5))
    for _ in range(draw(st.integers(0, 4))):
        a, b = draw(st.sampled_from(rules)), draw(st.sampled_from(rules))
        composed = [c for c in compositions(a, b) if len(c.source) <= 6 and len(c.target) <= 12]
        rules += composed[:1]
    return list(dict.fromkeys(rules))


@settings(deadline=None, max_examples=300)
@given(families())
@example([parse_rule("NT_1 a ### NT_1 A NT_1"), parse_rule("NT_1 a a ### NT_1 A NT_1 A NT_1 A NT_1")])
@example([parse_rule("NT_1 a b ### NT_1 A NT_1"), parse_rule("NT_1 a ### NT_1 A")])
@example([parse_rule("NT_1 ### NT_1 A"), parse_rule("a b ### A B A"), parse_rule("a NT_1 ### A NT_1 A")])
def test_the_kernel_finds_what_the_reference_finds(rules: list[Rule]) -> None:
    assert found(rules) == plain(rules)


@settings(deadline=None, max_examples=200)
@given(families())
def test_what_is_found_composes_to_the_rule_it_came_from(rules: list[Rule]) -> None:
    for (c, g), added in found(rules).items():
        for r_add in added:
            assert c in compositions(r_add, g) + compositions(g, r_add), (str(c), str(g), str(r_add))


@settings(deadline=None, max_examples=100)
@given(families(), st.integers(1, 3), st.booleans(), st.booleans())
def test_options_only_leave_out_the_shapes_they_name(
    rules: list[Rule], max_arity: int, repeats: bool, lone_target: bool
) -> None:
    def allowed(rule: Rule) -> bool:
        uses = [rule.target.count(Nt(i)) for i in range(1, rule.arity + 1)]
        lone = len(rule.target) == 1 and rule.arity == 1
        return rule.arity <= max_arity and (repeats or max(uses, default=0) <= 1) and (lone_target or not lone)

    expected = {pair: kept for pair, added in found(rules).items() if (kept := set(filter(allowed, added)))}
    assert found(rules, max_arity, repeats, lone_target) == expected


def small_rules(terminals: str, outputs: str, longest_source: int, longest_target: int) -> list[Rule]:
    """Every rule up to these lengths."""
    rules = []
    for n, m in product(range(1, longest_source + 1), range(1, longest_target + 1)):
        for shape in product([*terminals, None], repeat=n):
            own = [Nt(i) for i in range(1, shape.count(None) + 1)]
            names = iter(own)
            source = tuple(next(names) if s is None else s for s in shape)
            rules += [Rule(source, target) for target in product([*outputs, *own], repeat=m) if set(own) <= set(target)]
    return rules


def promised(a: Rule, i: int, b: Rule, c: Rule, inside: bool) -> bool:
    """Whether the contract promises to find r_add, `a` (inside) or `b` (above), when a, expanded with b at i, is c."""
    r_add = a if inside else b
    at = a.source.index(Nt(i))
    span = c.source[at : at + len(b.source)]
    if len(places(span, c.source)) > 1 or r_add.source == (Nt(1),):
        return False
    if not inside:
        return True
    target = fill(b.target, {s: (t,) for s, t in zip(b.source, span, strict=True)})
    starts = places(target, c.target)
    apart = all(q - p >= len(target) for p, q in pairwise(starts))
    return apart and len(starts) == a.target.count(Nt(i))


@pytest.mark.parametrize("sizes", [("a", "AB", 3, 3), ("ab", "A", 3, 2), ("a", "A", 2, 5)])
def test_nothing_that_the_contract_promises_is_missing_among_all_small_rules(sizes: tuple[str, str, int, int]) -> None:
    rules = small_rules(*sizes)
    known = set(rules)
    expected: Triples = defaultdict(set)
    for a in rules:
        for i, b in product(range(1, a.arity + 1), rules):
            if len(a.source) + len(b.source) - 1 > sizes[2]:
                continue
            c = compose(a, i, b)
            if c not in known:
                continue
            if b != c and promised(a, i, b, c, inside=True):
                expected[c, b].add(a)
            if a != c and promised(a, i, b, c, inside=False):
                expected[c, a].add(b)
    assert found(rules) == expected
    assert sum(map(len, expected.values())) > len(rules)


@pytest.mark.parametrize(
    ("c", "g", "added"),
    [
        ("jump twice ### J J", "jump ### J", ["NT_1 twice ### NT_1 NT_1"]),
        ("jump twice ### J J", "NT_1 twice ### NT_1 NT_1", ["jump ### J"]),
        ("a and a ### A A", "a ### A", []),  # the span occurs twice
        ("a x ### A A A", "a ### A A", []),  # the occurrences overlap
        ("a twice b ### A A B A A", "a ### A A", ["NT_1 twice b ### NT_1 B NT_1"]),
        ("NT_1 a b ### NT_1 A NT_1", "NT_1 a ### NT_1 A", []),  # NT_1 stays behind
        ("NT_1 b ### NT_1 B A", "NT_1 ### NT_1 A", ["NT_1 b ### NT_1 B"]),
        ("NT_1 b c ### B NT_1 C A", "NT_1 b ### NT_1 B", []),  # its target is nowhere in one piece
        ("NT_1 b ### NT_1 A B", "NT_1 ### NT_1 A", ["NT_1 b ### NT_1 B"]),
        ("a b ### A B C", "NT_1 ### NT_1 C", ["a b ### A B"]),
        ("the dog ### DOG", "dog ### DOG", ["the NT_1 ### NT_1"]),
        ("a b ### A", "a b ### B", []),  # the whole source: what is left would be a lone nonterminal
        ("NT_1 a NT_2 ### NT_2 A NT_1", "NT_1 NT_2 ### NT_2 NT_1", ["NT_1 a ### A NT_1", "a NT_1 ### NT_1 A"]),
    ],
)
def test_unify_by_example(c: str, g: str, added: list[str]) -> None:
    rule, other = parse_rule(c), parse_rule(g)
    assert found([rule, other])[rule, other] == set(map(parse_rule, added))


def test_long_rules_and_many_triples_find_room() -> None:
    words = [f"w{i}" for i in range(60)]
    long = Rule(tuple(words), tuple(w.upper() for w in words))
    parts = [Rule(long.source[i:j], long.target[i:j]) for i in range(60) for j in range(i + 1, 61) if (i, j) != (0, 60)]
    triples = found([long, *parts], first=1)
    assert all(len(triples[long, part]) == 1 for part in parts)
    assert triples[long, parts[0]] == {Rule((Nt(1), *long.source[1:]), (Nt(1), *long.target[1:]))}
