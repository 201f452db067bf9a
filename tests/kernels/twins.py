"""Plain twins of the induction kernels, on rules instead of arrays, and random rules to compare the two on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import log2

import numpy as np
from hypothesis import strategies as st

from csl.examples import Example
from csl.grammar import Nt, Rule, Symbol
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import IntArray, Vocabulary
from csl.induction.config import InductionConfig
from csl.kernels.derive import Parser, build_trie
from csl.kernels.flat import max_arity

Side = tuple[Symbol, ...]


class Encoded:
    """Distinct rules in a store: rule i has the id i."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = list(dict.fromkeys(rules))
        self.vocabulary, self.store = Vocabulary(), RuleStore()
        self.ids = self.store.add_rules(self.rules, self.vocabulary)
        assert self.ids.tolist() == list(range(len(self.rules)))
        self.arrays = self.store.arrays

    def parser(self, max_units: int) -> Parser:
        """A parser of all the rules."""
        trie, arity = build_trie(self.arrays, self.ids), max(1, max_arity(self.arrays, self.ids))
        return Parser(self.arrays, trie, np.ones(len(self.ids), np.bool_), arity, max_units)

    def ids_of(self, rules: Iterable[Rule]) -> IntArray:
        return self.ids[[self.rules.index(rule) for rule in rules]]


# UNIFY


def erased(side: Sequence[Symbol]) -> list[str | None]:
    return [None if isinstance(s, Nt) else s for s in side]


def places(part: Sequence[Symbol], whole: Sequence[Symbol]) -> list[int]:
    """Where a span occurs."""
    n = len(part)
    return [p for p in range(len(whole) - n + 1) if tuple(whole[p : p + n]) == tuple(part)]


def renamed(side: Sequence[Symbol], names: Mapping[Nt, Symbol]) -> Side:
    return tuple(names[s] if isinstance(s, Nt) else s for s in side)


def unifications(c: Rule, g: Rule) -> Iterator[Rule]:
    """Give every r_add that UNIFY finds for r_c and g, whatever its shape; a lone nonterminal is never its source."""
    n = len(c.source)
    for i in range(n):
        for j in range(i + 1, n + 1):
            span = c.source[i:j]
            if len(places(span, c.source)) == 1:
                if j - i < n and erased(span) == erased(g.source):
                    yield from _inside(c, i, j, g)
                if not (j == i + 1 and isinstance(span[0], Nt)):
                    yield from _above(c, i, j, g)


def _inside(c: Rule, i: int, j: int, g: Rule) -> Iterator[Rule]:
    span = c.source[i:j]
    names = {a: b for a, b in zip(g.source, span, strict=True) if isinstance(a, Nt)}
    target = renamed(g.target, names)
    found = places(target, c.target)
    apart = all(b - a >= len(target) for a, b in pairwise(found))
    if not found or not apart:
        return
    fresh = Nt(99)
    beta: list[Symbol] = []
    p = 0
    while p < len(c.target):
        beta.append(fresh if p in found else c.target[p])
        p += len(target) if p in found else 1
    if not set(names.values()) & set(beta):
        yield Rule.canonical((*c.source[:i], fresh, *c.source[j:]), beta)


def _above(c: Rule, i: int, j: int, g: Rule) -> Iterator[Rule]:
    span, hole = c.source[i:j], Nt(99)
    around = (*c.source[:i], hole, *c.source[j:])
    if erased(around) != erased(g.source):
        return
    names = {a: b for a, b in zip(g.source, around, strict=True) if isinstance(a, Nt)}
    target = renamed(g.target, names)
    room = len(c.target) - len(target) + target.count(hole)
    length = room // target.count(hole)
    at = target.index(hole)
    filling = c.target[at : at + length]
    filled = [s for t in target for s in (filling if t == hole else (t,))]
    if length and tuple(filled) == c.target and {s for s in filling if isinstance(s, Nt)} <= set(span):
        yield Rule.canonical(span, filling)


# occurrence and cost


def occurs(side: Sequence[Symbol], text: Sequence[str]) -> bool:
    """Whether the side, each of its nonterminals standing for one token or more, is a span of the text."""

    def here(p: int, at: int) -> bool:
        if p == len(side):
            return True
        if at == len(text):
            return False
        if isinstance(side[p], Nt):
            return any(here(p + 1, end) for end in range(at + 1, len(text) + 1))
        return side[p] == text[at] and here(p + 1, at + 1)

    return any(here(0, at) for at in range(len(text) + 1))


def cost(rule: Rule, examples: Mapping[Example, int], config: InductionConfig) -> float:
    """|α| + |β| − k_α log₂ p̂(α|β) − k_β log₂ p̂(β|α), the examples counted as often as the mapping says.

    A pair of sides that no example has counts as half an example, a side that none has costs nothing.
    """
    size = sum(config.k_nt if isinstance(s, Nt) else config.k_t for s in rule.source + rule.target)
    alpha = sum(n for e, n in examples.items() if occurs(rule.source, e.source))
    beta = sum(n for e, n in examples.items() if occurs(rule.target, e.target))
    both = sum(n for e, n in examples.items() if occurs(rule.source, e.source) and occurs(rule.target, e.target))
    for k, alone in ((config.k_alpha, beta), (config.k_beta, alpha)):
        size -= k * log2(max(both, 0.5) / alone) if alone else 0
    return size


# derivability


def derivable(rules: Sequence[Rule], query: Rule, max_units: int) -> bool:
    """Whether the rules derive the query, whose nonterminals derive themselves."""
    return query.target in targets_of(rules, query.source, max_units, len(query.target))


def targets_of(rules: Sequence[Rule], x: Side, max_units: int, longest: int) -> frozenset[Side]:
    """Every target of at most `longest` symbols that x derives; nonterminals of x derive themselves."""

    @cache
    def span(i: int, j: int, units: int) -> frozenset[Side]:
        found: set[Side] = {(x[i],)} if j == i + 1 and isinstance(x[i], Nt) else set()
        for rule in rules:
            if rule.source != (Nt(1),):
                found |= {fill(rule, parts) for parts in matches(rule.source, i, j)}
            elif units > 0:
                found |= {fill(rule, (part,)) for part in span(i, j, units - 1)}
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

    return span(0, len(x), max_units)


def fill(rule: Rule, parts: tuple[Side, ...]) -> Side:
    return tuple(s for t in rule.target for s in (parts[t.index - 1] if isinstance(t, Nt) else (t,)))


# random rules


@st.composite
def random_rules(
    draw: st.DrawFn, sources: str = "ab", targets: str = "AB", longest: int = 4, max_arity: int = 3
) -> Rule:
    """Short rules over few tokens, so that they often fit together; targets may repeat nonterminals."""
    shape = draw(st.lists(st.sampled_from([*sources, None]), min_size=1, max_size=longest))
    while shape.count(None) > max_arity:
        shape.remove(None)
    arity = shape.count(None)
    indices = iter(range(1, arity + 1))
    own = [Nt(i) for i in range(1, arity + 1)]
    extra = draw(st.lists(st.sampled_from([*targets, *own]), min_size=0 if own else 1, max_size=longest - arity + 1))
    return Rule(tuple(Nt(next(indices)) if s is None else s for s in shape), tuple(draw(st.permutations(own + extra))))
