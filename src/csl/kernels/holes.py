"""Anti-unification by hashing: rules that are equal but for one span of the source and one of the target.

A split of a rule is a span of its source, which must occur once, and a span of its target with the same nonterminals.
The outer part has a fresh nonterminal in place of the source span and of every occurrence of the target span; the inner
part is what was there. Rules with equal outer parts have equal keys, so they are found without comparing rules: O(n²)
keys for a source of n symbols and, only where another rule has the same source around the hole, O(m²) for a target.
"""

import numpy as np

from csl.kernels.flat import copy_to
from csl.kernels.hashing import BASE, mix
from csl.kernels.kernel import kernel
from csl.kernels.unify import occurs_elsewhere

HOLE = -(2**20)  # an index that no nonterminal has


@kernel
def source_holes(rules, ids):
    """Return a key, and a row (rule, i, j), for each proper span [i, j) of each source that occurs once."""
    values, begin, middle = rules
    number = 0
    for r in ids:
        number += (middle[r] - begin[r]) * (middle[r] - begin[r] + 1) // 2
    keys, rows, count = np.empty(number, np.uint64), np.empty((number, 3), np.int64), 0
    for r in ids:
        for i in range(begin[r], middle[r]):
            for j in range(i + 1, middle[r] + 1):
                lone = j == i + 1 and values[i] < 0
                if lone or j - i == middle[r] - begin[r] or occurs_elsewhere(values, begin[r], middle[r], i, j):
                    continue
                key = np.uint64(0)
                for p in range(begin[r], middle[r]):
                    if p < i or p >= j:
                        key = key * BASE + mix(max(np.int64(values[p]), np.int64(0)))
                    elif p == i:
                        key = key * BASE + mix(np.int64(HOLE))
                keys[count] = key
                rows[count, 0], rows[count, 1], rows[count, 2] = r, i, j
                count += 1
    return keys[:count], rows[:count]


@kernel
def _with_holes(rules, row, a, b, out):
    """Write the target with a hole for every occurrence of [a, b) to `out`, nonterminals numbered as in the outer part.

    Returns the length; 0 if [a, b) is not the first occurrence, or a nonterminal is in only one of the two spans.
    """
    values, begin, middle = rules
    r, i, j = row
    stop, n, p = begin[r + 1], 0, middle[r]
    while p < stop:
        t = 0
        while t < b - a and p + t < stop and values[p + t] == values[a + t]:
            t += 1
        if t == b - a:
            if p < a:
                return 0
            out[n] = HOLE
            n, p = n + 1, p + t
            continue
        out[n] = values[p]
        if values[p] < 0:
            index = 0
            for q in range(begin[r], middle[r]):
                if i <= q < j:
                    if values[q] == values[p]:
                        return 0  # a nonterminal of the span stays behind
                elif values[q] < 0:
                    index -= 1
                    if values[q] == values[p]:
                        out[n] = index
        n, p = n + 1, p + 1
    for p in range(a, b):
        if values[p] < 0:
            q = i
            while q < j and values[q] != values[p]:
                q += 1
            if q == j:
                return 0  # the span of the target has a nonterminal that the span of the source has not
    return n


@kernel
def target_holes(rules, keys, rows):
    """Return a key, and a row (rule, i, j, a, b, holes), for each split at the source spans of `rows`."""
    begin, middle = rules.begin, rules.middle
    number = 0
    for k in range(len(rows)):
        m = begin[rows[k, 0] + 1] - middle[rows[k, 0]]
        number += m * (m + 1) // 2
    out_keys, out, count = np.empty(number, np.uint64), np.empty((number, 6), np.int64), 0
    work = np.empty(1024, np.int64)
    for k in range(len(rows)):
        r = rows[k, 0]
        m0, m1 = middle[r], begin[r + 1]
        if m1 - m0 > len(work):
            work = np.empty(2 * (m1 - m0), np.int64)
        for a in range(m0, m1):
            for b in range(a + 1, m1 + 1):
                length = _with_holes(rules, rows[k], a, b, work) if b - a < m1 - m0 else 0
                if length == 0:
                    continue
                key, holes = keys[k], 0
                for t in range(length):
                    key = key * BASE + mix(work[t])
                    holes += work[t] == HOLE
                out_keys[count] = key
                copy_to(out[count], rows[k])
                out[count, 3], out[count, 4], out[count, 5] = a, b, holes
                count += 1
    return out_keys[:count].copy(), out[:count].copy()
