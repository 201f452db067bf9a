"""Letting go of rules that no example needs (paper: "we check if we can just remove r_c").

One derivation is kept for each example. Rule r can go when every example whose derivation uses it has another one
without it; the other examples need no look. Removing rules only takes derivations away, so a rule once found needed
stays needed for the rest of the pass.
"""

import numpy as np
from numba import njit

from csl.kernels.derive import CHILD, collect, derive


@njit(cache=True, nogil=True)
def remove_derivable(values, begin, middle, alive, trie, arity, max_units, order, hints, hint_offsets):
    """Remove the rules of `order`, one after the other, that the other rules derive; `alive` is changed.

    `hints[hint_offsets[k]:hint_offsets[k + 1]]` are the rules of a derivation of `order[k]` without itself, found
    earlier: good for as long as they are alive.
    """
    work = np.empty((256, CHILD + arity), np.int32)
    for k in range(len(order)):
        r = order[k]
        goal = 0
        for p in range(hint_offsets[k], hint_offsets[k + 1]):
            if not alive[hints[p]]:
                goal = -1
        if goal < 0:
            x, y = values[begin[r] : middle[r]], values[middle[r] : begin[r + 1]]
            goal, work = derive(values, begin, middle, alive, trie, arity, r, max_units, x, y, work)
        if goal >= 0:
            alive[r] = False


@njit(cache=True, nogil=True)
def users(used, offsets, rules):
    """For each rule below `rules`, the examples whose derivation uses it, in order, and the offsets of these lists."""
    sizes = np.zeros(rules + 1, np.int64)
    for p in range(len(used)):
        sizes[used[p] + 1] += 1
    starts = np.cumsum(sizes)
    lists = np.empty(len(used), np.int32)
    fill = starts.copy()
    for e in range(len(offsets) - 1):
        for p in range(offsets[e], offsets[e + 1]):
            lists[fill[used[p]]] = e
            fill[used[p]] += 1
    return lists, starts


@njit(cache=True, nogil=True)
def _distinct(rules, n):
    """Move the distinct ones of the first n rules to the front; return how many there are."""
    kept = 0
    for p in range(n):
        q = 0
        while q < kept and rules[q] != rules[p]:
            q += 1
        if q == kept:
            rules[kept] = rules[p]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def prune(
    values,
    begin,
    middle,
    alive,
    trie,
    arity,
    max_units,
    order,
    examples,
    used,
    offsets,
    lists,
    starts,
    hints,
    hint_offsets,
):
    """Try to remove the rules of `order` one after the other; `alive` is changed.

    `examples[e]` is the rule of example e. `hints[hint_offsets[k]:hint_offsets[k + 1]]` is a derivation, found
    earlier, of the first user of `order[k]` without that rule.
    """
    count = len(examples)
    place = offsets[:-1].copy()  # where example e's derivation now starts and how long it is
    length = np.diff(offsets)
    pool = used.copy()
    size = len(used)
    # users found out during the pass, in chains; an entry is void when the example's derivation has changed again
    version = np.zeros(count, np.int32)
    chain = np.full(len(alive), -1, np.int64)
    late_example = np.empty(256, np.int32)
    late_version = np.empty(256, np.int32)
    late_next = np.empty(256, np.int64)
    late = 0
    found = np.empty(64, np.int32)
    work = np.empty((256, CHILD + arity), np.int32)
    again = np.empty(64, np.int32)
    for k in range(len(order)):
        r = order[k]
        if not alive[r]:
            continue
        affected = 0
        for p in range(starts[r], starts[r + 1]):
            if version[lists[p]] == 0:
                if affected == len(again):
                    again = np.concatenate((again, again))
                again[affected] = lists[p]
                affected += 1
        entry = chain[r]
        while entry >= 0:
            if version[late_example[entry]] == late_version[entry]:
                if affected == len(again):
                    again = np.concatenate((again, again))
                again[affected] = late_example[entry]
                affected += 1
            entry = late_next[entry]
        mark = size
        new_offsets = np.zeros(affected + 1, np.int64)
        needed = False
        for t in range(affected):
            e = again[t]
            n = 0
            if t == 0 and starts[r] < starts[r + 1] and e == lists[starts[r]]:
                n = hint_offsets[k + 1] - hint_offsets[k]
                for p in range(hint_offsets[k], hint_offsets[k + 1]):
                    if not alive[hints[p]]:
                        n = 0
                if n > len(found):
                    found = np.empty(2 * n, np.int32)
                for p in range(n):
                    found[p] = hints[hint_offsets[k] + p]
            if n == 0:
                q = examples[e]
                x, y = values[begin[q] : middle[q]], values[middle[q] : begin[q + 1]]
                goal, work = derive(values, begin, middle, alive, trie, arity, r, max_units, x, y, work)
                if goal < 0:
                    needed = True
                    break
                found, n = collect(work, goal, middle, begin, values, found)
            n = _distinct(found, n)
            while size + n > len(pool):
                longer = np.empty(2 * len(pool) + 16, np.int32)
                longer[:size] = pool[:size]
                pool = longer
            pool[size : size + n] = found[:n]
            size += n
            new_offsets[t + 1] = size - mark
        if needed:
            size = mark
            continue
        alive[r] = False
        for t in range(affected):
            e = again[t]
            place[e] = mark + new_offsets[t]
            length[e] = new_offsets[t + 1] - new_offsets[t]
            version[e] += 1
            for p in range(place[e], place[e] + length[e]):
                if late == len(late_next):
                    late_example = np.concatenate((late_example, late_example))
                    late_version = np.concatenate((late_version, late_version))
                    late_next = np.concatenate((late_next, late_next))
                late_example[late] = e
                late_version[late] = version[e]
                late_next[late] = chain[pool[p]]
                chain[pool[p]] = late
                late += 1
