"""The induction objective L_D(G) (paper, Eqs. "grammar_objective" and "grammar_objective2").

The cost of a rule is |α| + |β| − k_α log p̂(α|β) − k_β log p̂(β|α), which depends only on the rule and the examples, so
it is computed once a rule. Costs are kept as integers, in units of 2⁻²⁰: their sums are exact in any order.
"""

import numpy as np
import numpy.typing as npt

from csl.engine import Threads
from csl.grammar.store import RuleStore
from csl.induction.config import InductionConfig
from csl.kernels.flat import SOURCE, TARGET, Rules
from csl.kernels.occurrence import Evidence, Postings, count_pairs, count_sides, postings

UNIT = 1 << 20

Ids = npt.NDArray[np.int32]
Costs = npt.NDArray[np.int64]


class Objective:
    """Costs of the rules of a store with respect to examples: rules of it, each counting `weights` times."""

    def __init__(
        self, store: RuleStore, examples: Ids, weights: Costs, symbols: int, config: InductionConfig, engine: Threads
    ) -> None:
        self._store, self._config, self._engine = store, config, engine
        examples, weights = _sample(examples, weights, config)
        posts = engine.chunks(_postings, [SOURCE, TARGET], store.arrays, examples, symbols, parts=2)
        self._evidence = Evidence(examples, weights, *posts)
        self._sides = [RuleStore(), RuleStore()]  # the distinct sources and targets met, indices erased
        self._counts = [np.empty(0, np.int64), np.empty(0, np.int64)]  # in how many examples each occurs
        self._size = np.empty(0, np.int64)
        self._cost = np.empty(0, np.int64)  # −1: not known yet

    def sizes(self) -> Costs:
        """|α| + |β| of all rules of the store: a lower bound of their costs."""
        known = len(self._size)
        if known < len(self._store):
            new = self._store.sizes(round(self._config.k_t * UNIT), round(self._config.k_nt * UNIT), known)
            self._size = np.concatenate([self._size, new])
        return self._size

    def costs(self, rules: Ids) -> Costs:
        """Make the costs of these rules known; return those of all rules, −1 where not known."""
        self._cost = np.concatenate([self._cost, np.full(len(self._store) - len(self._cost), -1)])
        todo = np.unique(rules[self._cost[rules] < 0])
        if len(todo):
            self._cost[todo] = self.sizes()[todo] + self._penalties(todo)
        return self._cost

    def total(self, rules: Ids) -> int:
        """L_D of a grammar, in units of 2⁻²⁰."""
        return int(self.costs(rules)[rules].sum())

    def _penalties(self, rules: Ids) -> Costs:
        """−c_D(α, β) of each rule. What a sample does not show is no evidence against a rule."""
        if self._config.objective == "nqg":  # it has none: the search looks at what a rule does to outputs
            return np.zeros(len(rules), np.int64)
        state = (self._store.arrays, self._evidence)
        both = self._engine.map(_count_pairs, rules, *state, doing="counting evidence: rules")
        penalty, log = np.zeros(len(rules)), np.log if self._config.logarithm == "ln" else np.log2
        for side, weight in ((SOURCE, self._config.k_beta), (TARGET, self._config.k_alpha)):
            if weight:
                one = self._count(side, rules)
                penalty -= weight * log(np.maximum(both, 0.5) / np.maximum(one, 1), where=one > both, out=0 * penalty)
        return np.round(penalty * UNIT).astype(np.int64)

    def _count(self, side: int, rules: Ids) -> Costs:
        """Count the examples in which one side of each rule occurs; each distinct side once."""
        sides, counts = self._sides[side], self._counts[side]
        known = len(sides)
        ids = sides.add_sides(self._store, rules, side)
        if known < len(sides):
            representatives = np.empty(len(sides), np.int32)
            representatives[ids[::-1]] = rules[::-1]
            new = self._engine.map(_count_sides, representatives[known:], self._store.arrays, side, self._evidence)
            counts = self._counts[side] = np.concatenate([counts, new])
        return counts[ids]


def _postings(sides: list[int], rules: Rules, examples: Ids, symbols: int) -> Postings:
    found: Postings = postings(rules, examples, sides[0], symbols)
    return found


def _count_pairs(ids: Ids, rules: Rules, evidence: Evidence) -> Costs:
    counts: Costs = count_pairs(rules, ids, evidence)
    return counts


def _count_sides(ids: Ids, rules: Rules, side: int, evidence: Evidence) -> Costs:
    counts: Costs = count_sides(rules, ids, side, evidence)
    return counts


def _sample(examples: Ids, weights: Costs, config: InductionConfig) -> tuple[Ids, Costs]:
    """Draw `sample_size` of the examples, if there are more."""
    if not 0 < config.sample_size < weights.sum():
        return examples, weights
    drawn = np.random.default_rng(config.seed).choice(weights.sum(), config.sample_size, replace=False)
    taken = np.bincount(np.searchsorted(np.cumsum(weights), drawn, side="right"), minlength=len(examples))
    return examples[taken > 0], taken[taken > 0]
