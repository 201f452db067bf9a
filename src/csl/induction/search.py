"""The greedy search of grammar induction (paper, appendix "Grammar Induction Algorithm Details")."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from csl.induction.objective import Objective
from csl.induction.config import InductionConfig
from csl.induction.store import RuleStore
from csl.induction.threads import Threads
from csl.kernels.derive import build_trie, derive_rules
from csl.kernels.hashing import build_table
from csl.kernels.prune import expand, prune, users
from csl.kernels.select import best_candidates, execute, group_costs
from csl.kernels.store import rule_hashes, source_hashes
from csl.kernels.unify import unify

Ids = npt.NDArray[np.int32]


class Search:
    """A grammar in the making."""

    def __init__(self, store: RuleStore, objective: Objective, seeds: Ids, config: InductionConfig, threads: Threads, typable=None):
        self.store, self.objective, self.config, self.threads, self.typable = store, objective, config, threads, typable
        self.alive = np.zeros(len(store), np.bool_)
        self.last = 0
        self.seed = np.zeros(len(store), np.bool_)
        self.alive[seeds] = self.seed[seeds] = True
        self.examples = np.empty(0, np.int32)
        self.used, self.used_offsets = np.empty(0, np.int32), np.zeros(1, np.int64)
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
        self.used = np.concatenate([self.used, rules])
        self.used_offsets = np.concatenate([self.used_offsets, self.used_offsets[-1] + np.arange(1, len(rules) + 1)])

    def total(self) -> int:
        rules = self.rules
        return int(self.objective.costs(rules)[rules].sum())

    def _chart(self):
        rules = self.rules
        values, begin, middle = self.store.arrays
        arity = max(1, max_arity(values, begin, middle, rules))
        return values, begin, middle, self.alive, build_trie(values, begin, middle, rules), arity

    def prune(self) -> int:
        """Remove the rules that no example needs, the costliest first."""
        rules = self.rules
        rules = rules[~self.seed[rules]]
        fresh = ~self.indexed[rules] & np.isin(rules, self.examples[self.last:])
        before = int(self.alive.sum())
        self._prune(rules[fresh], self.objective.sizes()[rules[fresh]])
        rules = rules[self.alive[rules]]
        self._prune(rules, self.objective.costs(rules)[rules])
        self.last = len(self.examples)
        return before - int(self.alive.sum())

    def _prune(self, rules, cost):
        if not len(rules): return 0
        order = rules[np.lexsort((rule_hashes(*self.store.arrays, rules), -cost))]
        lists, starts = users(self.used, self.used_offsets, len(self.store))
        chart = self._chart()
        idle = starts[order] == starts[order + 1]
        queries = np.where(idle, 0, lists[np.minimum(starts[order], len(lists) - 1)])
        hints = self.threads.chunks(
            lambda part: derive_rules(*chart, self.config.max_units, self.examples[queries[part]], order[part]),
            np.arange(len(order)),
        )
        parts = np.concatenate([h[0] for h in hints])
        lengths = np.concatenate([np.diff(h[1]) for h in hints])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        keep = idle | (lengths > 0)
        starts_kept = offsets[:-1][keep]
        hint_offsets = np.concatenate([[0], np.cumsum(lengths[keep])])
        take = np.concatenate([parts[a : a + n] for a, n in zip(starts_kept, lengths[keep])] or [parts[:0]])
        before = int(self.alive.sum())
        self.used, self.used_offsets = prune(
            *chart, self.config.max_units, order[keep], self.examples, self.used, self.used_offsets, lists, starts, take, hint_offsets
        )
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
                lambda part: unify(values, begin, middle, self.hashes, *table, part, config.max_nonterminals, config.repeated_target, config.lone_target),
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
        """Put back what can no longer be derived, and say what the others are made of."""
        r, g, a = self.pairs.T
        usable = self.alive[g] & self.alive[a]
        part_of = np.full(len(self.store), -1, np.int32)
        made = {}
        first = {}
        for k in np.flatnonzero(usable)[::-1]:
            first[r[k]] = k
        parts = []
        rest = []
        for x in removed:
            if x in first:
                part_of[x] = len(parts)
                parts.append([g[first[x]], a[first[x]]])
            else:
                rest.append(x)
        chart = self._chart()
        _, begin, middle = self.store.arrays
        rest = np.array(rest, np.int32)
        rest = rest[np.lexsort((rest, begin[rest + 1] - begin[rest]))]
        back = 0
        for x in rest:
            found, off = derive_rules(*chart, self.config.max_units, np.array([x], np.int32), np.array([-1], np.int32))
            if len(found):
                part_of[x] = len(parts)
                parts.append(found)
            else:
                self.alive[x] = True
                back += 1
                chart = self._chart()
        self.put_back = back
        flat = np.concatenate(parts or [np.empty(0, np.int32)]).astype(np.int32)
        part_offsets = np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)
        self.used, self.used_offsets = expand(self.used, self.used_offsets, self.alive, flat, part_offsets, part_of)


from numba import njit
@njit(cache=True)
def max_arity(values, begin, middle, rules):
    most = 0
    for k in range(len(rules)):
        n = 0
        for p in range(begin[rules[k]], middle[rules[k]]):
            n += values[p] < 0
        most = max(most, n)
    return most
