"""Output CFGs without left recursion, for parsers that work top-down.

Categories that begin with each other form a group: an output of any of them is a *seed*, a right-hand side that does
not begin with the group, followed by *tails*, the rests of productions that do. This is the left-corner transform of
Moore (2000), "Removing Left Recursion from Context-Free Grammars", kept to the groups. Every other production stays as
it is. A group of n categories gets at most n² new categories; the textbook way can get exponentially many.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from csl.grammar.output_cfg import Category, OutputCfg, Production

Rhs = tuple[str | Category, ...]


def without_left_recursion(cfg: OutputCfg) -> OutputCfg:
    """Give a CFG of the same outputs in which no category begins with itself, however indirectly.

    >>> print(without_left_recursion(OutputCfg.parse(["ROOT => ##ROOT , ##N", "ROOT => ##N", "N => 1"])), end="")
    N => 1
    ROOT => ##ROOT.seed
    ROOT => ##ROOT.seed ##ROOT.tail
    ROOT.seed => ##N
    ROOT.tail => , ##N
    ROOT.tail => , ##N ##ROOT.tail
    """
    groups = _groups(cfg)
    grouped = {category for group in groups for category in group}
    new = _NewNames(cfg.categories)
    productions = [p for p in cfg.productions if p.lhs not in grouped]
    for group in groups:
        productions += _Group(group, cfg, new).productions()
    return OutputCfg(productions).trimmed()


def _groups(cfg: OutputCfg) -> list[tuple[Category, ...]]:
    """Find the sets of categories that begin with each other, and thereby with themselves."""
    first: dict[Category, list[Category]] = defaultdict(list)
    for p in cfg.productions:
        if isinstance(p.rhs[0], Category):
            first[p.lhs].append(p.rhs[0])
    below = {category: _reached(first[category], first) for category in list(first)}
    recursive = [category for category in below if category in below[category]]
    return list(dict.fromkeys(tuple(b for b in recursive if b in below[a] and a in below[b]) for a in recursive))


def _reached(start: Iterable[Category], edges: Mapping[Category, list[Category]]) -> set[Category]:
    found: set[Category] = set()
    agenda = list(start)
    while agenda:
        category = agenda.pop()
        if category not in found:
            found.add(category)
            agenda += edges.get(category, ())
    return found


class _NewNames:
    """Names of categories that the CFG does not have."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)

    def __call__(self, name: str) -> Category:
        name = next(n for i in count(1) if (n := name if i == 1 else f"{name}{i}") not in self._known)
        self._known.add(name)
        return Category(name)


class _Group:
    """Categories that begin with each other."""

    def __init__(self, members: tuple[Category, ...], cfg: OutputCfg, new: _NewNames) -> None:
        self.members, self._new = members, new
        self._tails: dict[tuple[Category, Category], Category] = {}
        self._seeds: dict[Category, list[Rhs]] = defaultdict(list)
        units: dict[Category, list[Category]] = defaultdict(list)  # from b to the a of a => b
        steps: dict[Category, list[tuple[Rhs, Category]]] = defaultdict(list)  # from b to (rest, a) of a => b rest
        for p in cfg.productions:
            if p.lhs not in members:
                continue
            head, rest = p.rhs[0], p.rhs[1:]
            if not isinstance(head, Category) or head not in members:
                self._seeds[p.lhs].append(p.rhs)
            elif rest:
                steps[head].append((rest, p.lhs))
            else:
                units[head].append(p.lhs)
        self._is = {b: _reached([b], units) for b in members}  # the categories that b is by unit productions
        self._steps = {b: [step for a in members if a in self._is[b] for step in steps[a]] for b in members}
        up = {b: [a for _, a in self._steps[b]] for b in members}
        self._goals = {b: {a for c in _reached(up[b], up) for a in self._is[c]} for b in members}  # by one step or more

    def productions(self) -> Iterator[Production]:
        """Give the productions that replace those of the group."""
        for b, seeds in self._seeds.items():
            seed = self._new(f"{b.name}.seed")
            for a in self.members:
                yield from (Production(a, (seed, *rest)) for rest in self._endings(a, b))
            yield from (Production(seed, rhs) for rhs in seeds)
        done: set[tuple[Category, Category]] = set()
        while todo := [pair for pair in self._tails if pair not in done]:
            for a, b in todo:
                done.add((a, b))
                for rest, c in self._steps[b]:
                    if a in self._is[c] or a in self._goals[c]:
                        yield from (Production(self._tails[a, b], (*rest, *end)) for end in self._endings(a, c))

    def _endings(self, a: Category, b: Category) -> Iterator[Rhs]:
        """Give what may follow a b so that both are an a: nothing, tails, or none of the two."""
        if a in self._is[b]:
            yield ()
        if a in self._goals[b]:
            if (a, b) not in self._tails:
                self._tails[a, b] = self._new(f"{a.name}.tail" if a == b else f"{a.name}.tail.{b.name}")
            yield (self._tails[a, b],)
