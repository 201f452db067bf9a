"""Choosing actions: for each rule the candidate that saves most.

Costs and gains are integers (fixed point, see `csl.induction.objective`), so that sums do not depend on their order.
"""

import numpy as np

from csl.kernels.kernel import kernel


@kernel
def best_candidates(candidates, offsets, gain, tie):
    """For each rule, its candidate with the largest positive gain, the smaller `tie` if equal; −1 if there is none.

    Rule k's candidates are `candidates[offsets[k]:offsets[k + 1]]`.
    """
    best = np.full(len(offsets) - 1, -1, np.int64)
    for k in range(len(best)):
        for p in range(offsets[k], offsets[k + 1]):
            a = candidates[p]
            b = best[k]
            if gain[a] > 0 and (b < 0 or gain[a] > gain[b] or (gain[a] == gain[b] and tie[a] < tie[b])):
                best[k] = a
    return best


@kernel
def execute(order, members, offsets, added, cost, alive):
    """Take the actions in order, each only if it still saves something; `alive` is changed.

    Action a adds rule `added[a]` and removes its members. Returns the number of actions taken.
    """
    count = 0
    for k in range(len(order)):
        a = order[k]
        gain = np.int64(0) if alive[added[a]] else -cost[added[a]]
        for p in range(offsets[a], offsets[a + 1]):
            if alive[members[p]]:
                gain += cost[members[p]]
        if gain > 0:
            alive[added[a]] = True
            for p in range(offsets[a], offsets[a + 1]):
                alive[members[p]] = False
            count += 1
    return count
