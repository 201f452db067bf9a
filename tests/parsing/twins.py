"""A plain twin of forests: all derivations of an input one by one; and small random grammars to compare the two on."""

from collections.abc import Iterator
from functools import cache
from math import prod

from hypothesis import strategies as st

from csl.grammar import Nt, Rule, Symbol, parse_grammar
from csl.parsing.derivation import Derivation

Trees = list[Derivation]


class Twin:
    """All derivations of an input, by trying every rule on every span."""

    def __init__(self, rules: list[Rule], max_units: int, x: tuple[str, ...]) -> None:
        self.rules, self.max_units, self.x = rules, max_units, x
        self.count = cache(self.count)  # type: ignore[method-assign]
        self.trees = cache(self.trees)  # type: ignore[method-assign]

    def matches(self, source: tuple[Symbol, ...], i: int, j: int) -> Iterator[list[tuple[int, int]]]:
        """The spans that the nonterminals of a source take in each of its matches with [i, j)."""
        if not source:
            if i == j:
                yield []
        elif isinstance(source[0], Nt):
            for k in range(i + 1, j - len(source) + 2):
                yield from ([(i, k), *rest] for rest in self.matches(source[1:], k, j))
        elif i < j and self.x[i] == source[0]:
            yield from self.matches(source[1:], i + 1, j)

    def applications(self, i: int, j: int, units: int) -> Iterator[tuple[Rule, list[tuple[int, int, int]]]]:
        for rule in self.rules:
            if rule.source == (Nt(1),):
                if units > 0:
                    yield rule, [(i, j, units - 1)]
            else:
                for spans in self.matches(rule.source, i, j):
                    yield rule, [(*span, self.max_units) for span in spans]

    def count(self, i: int, j: int, units: int) -> int:
        return sum(prod(self.count(*s) for s in spans) for _, spans in self.applications(i, j, units))

    def trees(self, i: int, j: int, units: int) -> Trees:
        found: Trees = []
        for rule, spans in self.applications(i, j, units):
            parts: list[tuple[Derivation, ...]] = [()]
            for span in spans:
                parts = [(*part, tree) for part in parts for tree in self.trees(*span)]
            found += [Derivation(rule, part) for part in parts]
        return found


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    source = draw(st.lists(st.sampled_from(["a", "b", None, None]), min_size=1, max_size=3))
    indices = [Nt(i + 1) for i in range(source.count(None))]
    fresh = iter(indices)
    alpha = tuple(next(fresh) if s is None else s for s in source)
    extra = draw(st.lists(st.sampled_from(["A", "B", *indices]), max_size=2))
    return Rule(alpha, tuple(draw(st.permutations([*indices, *extra]))) or ("A",))


grammars = st.lists(rules(), min_size=1, max_size=6, unique=True).map(lambda r: [*r, *parse_grammar(["a ### A"])])
inputs = st.lists(st.sampled_from("aab?"), min_size=1, max_size=5).map(tuple)
