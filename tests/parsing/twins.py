"""A plain twin of forests: all derivations of an input one by one; and small random grammars to compare the two on."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from math import prod

from hypothesis import strategies as st

from csl.grammar import Nt, Rule, Symbol, parse_grammar
from csl.grammar.output_cfg import ROOT, OutputCfg, Production
from csl.kernels.source_chart import Forests
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
            found += [Derivation(rule, parts) for parts in product(*(self.trees(*span) for span in spans))]
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


def unpacked(forests: Forests, k: int, rules: Sequence[Rule]) -> Trees:
    """All derivations in the forest of input k, as often as it holds them."""

    @cache
    def below(v: int) -> Trees:
        found: Trees = []
        for a in range(forests.applications[v], forests.applications[v + 1]):
            children = forests.children[forests.arguments[a] : forests.arguments[a + 1]].tolist()
            assert all(v < child < forests.vertices[k + 1] for child in children)
            found += [Derivation(rules[forests.rules[a]], parts) for parts in product(*map(below, children))]
        return found

    first, stop = forests.vertices[k], forests.vertices[k + 1]
    return below(int(first)) if first < stop else []


PRODUCTIONS = [
    "ROOT => ##X", "ROOT => ##X ##Y", "ROOT => A ##Y", "X => A", "X => B", "X => A ##X", "X => ##Y", "X => ##Y ##X",
    "Y => B", "Y => A A", "Y => ##Y ##X", "Y => B ##X ##Y", "Z => A", "X => ##Z",
]  # fmt: skip
output_cfgs = st.lists(st.sampled_from(PRODUCTIONS), min_size=5, unique=True).map(
    lambda lines: OutputCfg(map(Production.parse, ["ROOT => ##X", *lines]))
)


def typing_count(tree: Derivation, cfg: OutputCfg, category: str = ROOT.name) -> int:
    """In how many ways the category derives the output of a derivation, counted by the types of its parts."""
    return sum(
        prod(typing_count(child, cfg, name) for child, name in zip(tree.children, typing.children, strict=True))
        for typing in cfg.typings(tree.rule.target)
        if typing.category == category
    )
