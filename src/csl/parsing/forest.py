"""What a packed forest says: how many derivations there are, and the best of them.

The best derivation is the shortest. The k shortest are found bottom-up (Huang & Chiang 2005, algorithm 2): each vertex
keeps its k best, drawn from a heap of combinations of its children's. If outputs must be distinct, each vertex keeps
one derivation for each output. That loses nothing: two outputs of a child always give two outputs of the parent. With
a applications it costs O(a + v k log k) for v vertices; more if many derivations have the same output.
"""

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.grammar import Rule
from csl.kernels.source_chart import Forests, OffsetArray
from csl.parsing.derivation import MAX_OUTPUT, Derivation, expanded, target_length

Places = npt.NDArray[np.int64]


class Ranked(NamedTuple):
    """A derivation with its size and its output."""

    size: int
    target: tuple[str, ...]
    derivation: Derivation


def join_forests(parts: Sequence[Forests]) -> Forests:
    """Put packed forests end to end: what building them together would have given."""
    if len(parts) == 1:
        return parts[0]
    first = np.cumsum([0, *(part.vertices[-1] for part in parts)])
    return Forests(
        np.concatenate([part.status for part in parts]),
        _join_offsets([part.vertices for part in parts]),
        np.concatenate([part.spans for part in parts]),
        _join_offsets([part.applications for part in parts]),
        np.concatenate([part.rules for part in parts]),
        _join_offsets([part.arguments for part in parts]),
        np.concatenate([part.children + np.int32(base) for part, base in zip(parts, first, strict=False)]),
    )


def _join_offsets(parts: Sequence[OffsetArray]) -> OffsetArray:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))])


class Compact(NamedTuple):
    """Forests in which rules are numbered by their place in `rules`, and contexts by theirs in `contexts`.

    A table of all contexts by all rules of a grammar can be too large.
    """

    forests: Forests
    starts: Places  # rule → its first context, and at the end their number
    rules: Places  # those that occur
    contexts: Places  # the root, and those of the rules


def compacted(forests: Forests, starts: Places) -> Compact:
    """Give forests their own numbers for their rules, whose first contexts are `starts`."""
    occurs = np.zeros(len(starts) - 1, np.bool_)
    occurs[forests.rules] = True
    rules, number = np.flatnonzero(occurs), np.cumsum(occurs, dtype=np.int32) - 1
    arity = np.diff(starts)[rules]
    ends = 1 + np.cumsum(arity)
    contexts = np.arange(1, 1 + arity.sum()) + np.repeat(starts[rules] - (ends - arity), arity)
    return Compact(
        forests._replace(rules=number[forests.rules]),
        np.append(ends - arity, 1 + arity.sum()),
        rules,
        np.append(0, contexts),
    )


Application = tuple[int, list[int]]
"""Its rule, and the vertices of its children."""


class Forest:
    """All derivations of one input. The goal is vertex 0, and children have higher numbers than their parents."""

    def __init__(self, vertices: list[list[Application]], rules: Sequence[Rule]) -> None:
        self.vertices = vertices
        self._rules = rules

    @classmethod
    def from_arrays(cls, arrays: Forests, rules: Sequence[Rule]) -> "Forest":
        """Take the one forest in `arrays`."""
        children, arguments = arrays.children.tolist(), arrays.arguments.tolist()
        edges: list[Application] = [
            (rule, children[begin:stop])
            for rule, (begin, stop) in zip(arrays.rules.tolist(), pairwise(arguments), strict=True)
        ]
        return cls([edges[begin:stop] for begin, stop in pairwise(arrays.applications.tolist())], rules)

    def count(self) -> int:
        """Count the derivations, exactly."""
        counts = [0] * len(self.vertices)
        for v in reversed(range(len(self.vertices))):
            for _, children in self.vertices[v]:
                product = 1
                for child in children:
                    product *= counts[child]
                counts[v] += product
        return counts[0] if counts else 0

    def best(self, limit: int, distinct: bool) -> list[Ranked]:
        """Give the shortest derivations, at most `limit`; if `distinct`, one for each output."""
        best: list[list[Ranked]] = [[] for _ in self.vertices]
        for v in reversed(range(len(self.vertices))):
            best[v] = self._best_of(v, best, limit, distinct)
        return best[0] if best else []

    def _best_of(self, v: int, best: list[list[Ranked]], limit: int, distinct: bool) -> list[Ranked]:
        """Give the best derivations of a vertex."""
        edges = self.vertices[v]
        heap = [
            (1 + sum(best[child][0].size for child in children), a, (0,) * len(children))
            for a, (_, children) in enumerate(edges)
            if all(best[child] for child in children)
        ]
        heapq.heapify(heap)
        found: list[Ranked] = []
        seen = set()
        while heap and len(found) < limit:
            size, a, ranks = heapq.heappop(heap)
            rule, children = edges[a]
            parts = [best[child][rank] for child, rank in zip(children, ranks, strict=True)]
            if target_length(self._rules[rule], [len(part.target) for part in parts]) <= MAX_OUTPUT:
                target = expanded(self._rules[rule].target, [part.target for part in parts])
                if not distinct or target not in seen:
                    seen.add(target)
                    derivation = Derivation(self._rules[rule], tuple(part.derivation for part in parts))
                    found.append(Ranked(size, target, derivation))
            # each combination has one predecessor: the one with its last rank that is not 0 made smaller
            last = max((t for t, rank in enumerate(ranks) if rank), default=0)
            for t in range(last, len(ranks)):
                options, rank = best[children[t]], ranks[t] + 1
                if rank < len(options):
                    larger = size - parts[t].size + options[rank].size
                    heapq.heappush(heap, (larger, a, (*ranks[:t], rank, *ranks[t + 1 :])))
        return found
