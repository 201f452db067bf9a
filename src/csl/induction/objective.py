"""The induction objective L_D(G) (paper, Eqs. "grammar_objective" and "grammar_objective2").

The cost of a rule is |α| + |β| − k_α log₂ p̂(α|β) − k_β log₂ p̂(β|α), a property of the rule and the examples alone, so
it is computed once a rule. Costs are kept as integers, in units of 2⁻²⁰: their sums are exact in any order.
"""

import numpy as np
import numpy.typing as npt

from csl.grammar.vocabulary import Ragged
from csl.induction.config import InductionConfig
from csl.grammar.store import RuleStore
from csl.kernels.threads import Threads
from csl.kernels.occurrence import count_sides, count_pairs, postings

UNIT = 1 << 20
UNKNOWN = np.int64(-1)


class Objective:
    """Costs of the rules of a store, with respect to examples (x, y)."""

    def __init__(self, store: RuleStore, x: Ragged, y: Ragged, symbols: int, config: InductionConfig, threads: Threads):
        self._store, self._config, self._threads = store, config, threads
        every = np.arange(len(x), dtype=np.int32)
        self._x = (*x, *postings(*x, symbols), every)
        self._y = (*y, *postings(*y, symbols), every)
        self._sides = (RuleStore(), RuleStore())  # distinct sources and targets, indices erased
        self._counts = [np.zeros(0, np.int64), np.zeros(0, np.int64)]
        self._cost = np.zeros(0, np.int64)
        self._size = np.zeros(0, np.int64)

    def sizes(self) -> npt.NDArray[np.int64]:
        """|α| + |β| of all rules of the store: a lower bound of their costs."""
        known, store = len(self._size), self._store
        if known < len(store):
            self._size = np.concatenate([self._size, store.sizes(self._config.k_t * UNIT, self._config.k_nt * UNIT, known)])
        return self._size

    def costs(self, rules: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Compute the costs of these rules where they are not known; return those of all rules (−1: not known)."""
        grown = len(self._store) - len(self._cost)
        self._cost = np.concatenate([self._cost, np.full(grown, UNKNOWN)])
        todo = np.unique(rules[self._cost[rules] < 0])
        if len(todo):
            self._cost[todo] = self.sizes()[todo] + self._penalties(todo)
        return self._cost

    def _penalties(self, rules: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """−c_D(α, β) of each rule."""
        store, config = self._store.arrays, self._config
        both = self._threads.map(lambda part: count_pairs(*store, part, *self._x[:4], *self._y), rules)
        penalty = np.zeros(len(rules))
        for side, weight, data in ((0, config.k_beta, self._x), (1, config.k_alpha, self._y)):
            if weight:
                alone = self._count_sides(side, rules, data)
                share = np.where(alone > 0, np.maximum(both, 0.5) / np.maximum(alone, 1), 1.0)
                penalty -= weight * np.log2(np.minimum(share, 1.0))
        return np.round(penalty * UNIT).astype(np.int64)

    def _count_sides(self, side: int, rules, data):  # type: ignore[no-untyped-def]
        sides = self._sides[side]
        ids = sides.add_sides(self._store, rules, side)
        known = len(self._counts[side])
        new = np.arange(known, len(sides), dtype=np.int32)
        if len(new):
            counts = self._threads.map(lambda part: count_sides(*sides.arrays, part, *data), new)
            self._counts[side] = np.concatenate([self._counts[side], counts])
        return self._counts[side][ids]
