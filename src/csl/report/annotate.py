"""Which inputs are worth annotating: those that would give most other inputs all that they lack.

Each input lacks a set of things. To annotate an input gives all that it lacks itself. Inputs are chosen one by one,
each time the one that leaves most inputs without a lack. An input is looked for under the rarest thing it lacks only,
so that a choice costs about as much as there are things lacking.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from csl.report.derivations import ContextRule

Lacks = frozenset[ContextRule | str]
"""Rule pairs that training never shows, and tokens that no rule knows."""


class Choice(NamedTuple):
    """An input, how many inputs it leaves without a lack after those before it, and what it gives to any of them."""

    source: tuple[str, ...]
    filled: int
    gives: Lacks


class _Demand:
    """What inputs still lack."""

    def __init__(self, needs: Counter[Lacks]) -> None:
        self.needs = needs
        self.of: Counter[ContextRule | str] = Counter()  # how many inputs lack each thing
        for need, count in needs.items():
            for lack in need:
                self.of[lack] += count
        self._under: dict[ContextRule | str, list[Lacks]] = {}
        for need in needs:
            self._under.setdefault(min(need, key=self.of.__getitem__), []).append(need)

    def filled(self, offer: Lacks) -> int:
        """Count the inputs that lack nothing but what is offered."""
        return sum(self.needs[need] for lack in offer for need in self._under.get(lack, ()) if need <= offer)

    def worth(self, offer: Lacks) -> tuple[int, int]:
        return self.filled(offer), sum(self.of[lack] for lack in offer)

    def without(self, offer: Lacks) -> "_Demand":
        rest: Counter[Lacks] = Counter()
        for need, count in self.needs.items():
            rest[need - offer] += count
        del rest[frozenset()]
        return _Demand(rest)


def choose(needs: Iterable[Lacks], offers: Sequence[tuple[tuple[str, ...], Lacks]], number: int) -> list[Choice]:
    """Choose up to `number` of the offers, inputs with what they lack, to fill needs.

    Among equals it is the one whose gifts most inputs have a use for, then the shortest.
    """
    shortest: dict[Lacks, tuple[str, ...]] = {}
    for source, lacks in sorted(offers, key=lambda offer: (len(offer[0]), offer[0])):
        shortest.setdefault(lacks, source)
    chosen: list[Choice] = []
    demand = _Demand(Counter(need for need in needs if need))
    while shortest and demand.needs and len(chosen) < number:
        best = max(shortest, key=demand.worth)
        if not demand.filled(best):
            break
        chosen.append(Choice(shortest[best], demand.filled(best), frozenset(lack for lack in best if demand.of[lack])))
        demand = demand.without(best)
    return chosen
