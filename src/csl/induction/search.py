"""The greedy search of grammar induction (paper, appendix "Grammar Induction Algorithm Details")."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from csl.induction.objective import Objective
from csl.induction.config import InductionConfig
from csl.grammar.store import RuleStore
from csl.kernels.threads import Threads
from csl.kernels.derive import build_trie, derive_rules
from csl.kernels.hashing import build_table
from csl.kernels.prune import prune, remove_derivable, users
from csl.kernels.select import best_candidates, execute, group_costs
from csl.kernels.store import max_arity, rule_hashes, source_hashes, take
from csl.kernels.unify import unify

Ids = npt.NDArray[np.int32]


class Search:
    """A grammar in the making."""

    def __init__(self, store: RuleStore, objective: Objective, seeds: Ids, config: InductionConfig, threads: Threads, typable=None):
        self.store, self.objective, self.config, self.threads, self.typable = store, objective, config, threads, typable
        self.alive = np.zeros(len(store), np.bool_)
        self.seed = np.zeros(len(store), np.bool_)
        self.alive[seeds] = self.seed[seeds] = True
        self.examples = np.empty(0, np.int32)
        self.indexed = np.zeros(len(store), np.bool_)  # alive rules whose pairs are known
        self.pairs = np.empty((0, 3), np.int32)  # (r, g, r_add)
        self.valid = np.zeros(len(store), np.bool_)  # candidates the output CFG allows
        self.checked = 0
        self.hashes = np.empty(0, np.uint64)

    def _grow(self) -> None:
        n = len(self.store)
        for name in ("alive", "seed", "indexed", "valid"):
            old = getattr(self, name)
            if len(old) < n:
                setattr(self, name, np.concatenate([old, np.zeros(n - len(old), np.bool_)]))
        self.hashes = np.concatenate([self.hashes, source_hashes(*self.store.arrays, len(self.hashes))])

    @property
    def rules(self) -> Ids:
        return np.flatnonzero(self.alive).astype(np.int32)

    def add_examples(self, rules: Ids) -> None:
        self._grow()
        self.alive[rules] = True
        self.examples = np.concatenate([self.examples, rules])

    def total(self) -> int:
        rules = self.rules
        return int(self.objective.costs(rules)[rules].sum())

    def _chart(self):
        rules = self.rules
        values, begin, middle = self.store.arrays
        arity = max(1, max_arity(values, begin, middle, rules))
        return values, begin, middle, self.alive, build_trie(values, begin, middle, rules), arity

    def _order(self, rules, cost):
        return rules[np.lexsort((rule_hashes(*self.store.arrays, rules), -cost))]

    def _derive(self, chart, queries, banned):
        """Derivations of rules, each without the rule in `banned`: flat rules and their offsets."""
        found = self.threads.chunks(
            lambda part: derive_rules(*chart, self.config.max_units, queries[part], banned[part]), np.arange(len(queries))
        )
        lengths = np.concatenate([np.diff(offsets) for _, offsets in found])
        return np.concatenate([parts for parts, _ in found]), np.concatenate([[0], np.cumsum(lengths)])

    def remove_derivable(self) -> int:
        """Remove the rules that the others derive, the costliest first."""
        rules = self.rules
        rules = rules[~self.seed[rules]]
        before = int(self.alive.sum())
        fresh = ~self.indexed[rules]
        self._remove_derivable(self._order(rules[fresh], self.objective.sizes()[rules[fresh]]))
        rules = rules[self.alive[rules]]
        self._remove_derivable(self._order(rules, self.objective.costs(rules)[rules]))
        return before - int(self.alive.sum())

    def _remove_derivable(self, order):
        if len(order):
            chart = self._chart()
            hints, offsets = self._derive(chart, order, order)
            keep = np.diff(offsets) > 0
            kept, kept_offsets = take(hints, offsets, np.flatnonzero(keep))
            remove_derivable(*chart, self.config.max_units, order[keep], kept, kept_offsets)

    def prune(self) -> int:
        """Remove the rules that no example needs, the costliest first."""
        rules = self.rules
        rules = rules[~self.seed[rules]]
        order = self._order(rules, self.objective.costs(rules)[rules])
        chart = self._chart()
        used, used_offsets = self._derive(chart, self.examples, np.full(len(self.examples), -1, np.int32))
        assert (np.diff(used_offsets) > 0).all()
        lists, starts = users(used, used_offsets, len(self.store))
        idle = starts[order] == starts[order + 1]
        first = self.examples[lists[np.minimum(starts[order], len(lists) - 1)]]
        hints, offsets = self._derive(chart, first, order)
        keep = np.flatnonzero(idle | (np.diff(offsets) > 0))
        before = int(self.alive.sum())
        prune(*chart, self.config.max_units, order[keep], self.examples, used, used_offsets, lists, starts, *take(hints, offsets, keep))
        return before - int(self.alive.sum())

    def find_pairs(self) -> None:
        self._grow()
        rules = self.rules
        new = rules[~self.indexed[rules]]
        old = rules[self.indexed[rules]]
        config = self.config
        for queries, partners in ((new, rules), (old, new)):
            queries = queries[~self.seed[queries]]
            if not len(queries) or not len(partners):
                continue
            values, begin, middle = self.store.arrays
            table = build_table(self.hashes, partners)
            found = self.threads.chunks(
                lambda part: unify(values, begin, middle, *table, part, config.max_nonterminals, config.repeated_target, config.lone_target),
                queries,
            )
            for r, g, v, b, m in found:
                self.pairs = np.concatenate([self.pairs, np.stack([r, g, self.store.add(v, b, m)], axis=1)])
        self.indexed[rules] = True
        self._grow()
        if self.checked < len(self.store):
            values, begin, middle = self.store.arrays
            fresh = np.arange(self.checked, len(self.store))
            self.valid[fresh] = True if self.typable is None else self.typable(values, begin, middle, fresh)
            self.checked = len(self.store)

    def live_pairs(self):
        self.indexed &= self.alive
        r, g, a = self.pairs.T
        self.pairs = self.pairs[self.alive[r] & self.alive[g] & self.valid[a]]
        return self.pairs

    def step(self):
        """One step; returns the number of actions taken."""
        self._grow()
        self.find_pairs()
        pairs = self.live_pairs()
        if not len(pairs):
            return 0
        # groups: candidate → rules it lets go; and back
        key = np.unique(pairs[:, 2].astype(np.int64) << 32 | pairs[:, 0])
        candidate, member = (key >> 32).astype(np.int32), (key & 0xFFFFFFFF).astype(np.int32)
        added, group = np.unique(candidate, return_inverse=True)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(group))])
        back = np.argsort(member, kind="stable")
        chooser, back_sizes = np.unique(member[back], return_counts=True)
        back_offsets = np.concatenate([[0], np.cumsum(back_sizes)])
        cost = self.objective.costs(chooser)
        total = group_costs(member, offsets, cost)
        size = self.objective.sizes()[added]
        present = self.alive[added]
        tie = np.empty(len(added), np.int64)
        tie[np.lexsort((rule_hashes(*self.store.arrays, added), size))] = np.arange(len(added))
        bound = np.where(present, 0, np.where(cost[added] >= 0, cost[added], size))
        known = present | (cost[added] >= 0)
        while True:
            best = best_candidates(group[back], back_offsets, total - bound, tie)
            chosen = np.unique(best[best >= 0])
            todo = chosen[~known[chosen]]
            if not len(todo):
                break
            bound[todo] = self.objective.costs(added[todo])[added[todo]]
            known[todo] = True
        order = chosen[np.lexsort((tie[chosen], -(total - bound)[chosen]))]
        cost = self.objective.costs(added[order])
        before = self.alive.copy()
        taken = execute(order, member, offsets, added, cost, self.alive)
        self._restore(np.flatnonzero(before & ~self.alive).astype(np.int32))
        return len(taken)

    def _restore(self, removed: Ids) -> None:
        """Put back what can no longer be derived."""
        r, g, a = self.pairs.T
        simple = np.zeros(len(self.store), np.bool_)
        simple[r[self.alive[g] & self.alive[a]]] = True
        rest = removed[~simple[removed]]
        _, begin, _ = self.store.arrays
        rest = rest[np.lexsort((rest, begin[rest + 1] - begin[rest]))]
        self.put_back = 0
        while len(rest):
            _, offsets = self._derive(self._chart(), rest, np.full(len(rest), -1, np.int32))
            lost = rest[np.diff(offsets) == 0]
            if not len(lost): break
            self.alive[lost[0]] = True
            self.put_back += 1
            rest = lost[1:]
