"""Derivability: can a grammar derive the pair ⟨x, y⟩, and by which rules? (DESIGN: "Derivability")

A chart over the spans of x. Because y is known, the item of a span is the stretch of y that the span derives, named
by its first occurrence: the number of items stays small, and equal derived strings are one item. Rules are found
through a trie over their sources: from each start i (right to left) the trie is walked rightwards, taking a terminal
or a whole span that has items; each partial match is visited once. x and y may hold nonterminals, which derive just
themselves, so the same chart tells whether a rule follows from other rules.

Rules whose source is a lone nonterminal are applied to a finished span, at most `max_units` times in a row.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from csl.kernels.hashing import find_slot


class Trie(NamedTuple):
    """Sources as paths. Node 0 is the root; edges sit in a hash table under node · 2³² + symbol (0 = nonterminal)."""

    keys: npt.NDArray[np.uint64]
    children: npt.NDArray[np.int32]
    head: npt.NDArray[np.int32]  # node → first rule whose source ends there, −1 = none
    following: npt.NDArray[np.int32]  # rule → next rule with the same erased source


@njit(cache=True, nogil=True)
def edge(trie, node, symbol):
    """Follow an edge; −1 if there is none."""
    key = (np.uint64(node) << np.uint64(32)) | np.uint64(symbol)
    return trie.children[find_slot(trie.keys, trie.children, key)]


@njit(cache=True, nogil=True)
def build_trie(values, begin, middle, rules):
    """Build the trie of the given rules; chains keep their order."""
    symbols = 1
    for k in range(len(rules)):
        symbols += middle[rules[k]] - begin[rules[k]]
    capacity = 16
    while capacity < 2 * symbols:
        capacity *= 2
    keys = np.zeros(capacity, np.uint64)
    children = np.full(capacity, -1, np.int32)
    head = np.full(symbols, -1, np.int32)
    following = np.full(len(middle), -1, np.int32)
    nodes = 1
    for k in range(len(rules) - 1, -1, -1):
        r = rules[k]
        node = 0
        for p in range(begin[r], middle[r]):
            key = (np.uint64(node) << np.uint64(32)) | np.uint64(max(values[p], 0))
            slot = find_slot(keys, children, key)
            if children[slot] < 0:
                keys[slot] = key
                children[slot] = nodes
                nodes += 1
            node = children[slot]
        following[r] = head[node]
        head[node] = r
    return Trie(keys, children, head[:nodes].copy(), following)


@njit(cache=True, nogil=True)
def _grown(array):
    bigger = np.empty((2 * array.shape[0], array.shape[1]), array.dtype)
    bigger[: array.shape[0]] = array
    return bigger


# columns of an item: first place in y, length, applications of lone-nonterminal rules at its top, rule, next item of
# the cell, then the child items
START, LENGTH, UNITS, RULE, NEXT, CHILD = 0, 1, 2, 3, 4, 5


@njit(cache=True, nogil=True)
def _first_place(values, a, b, y, lcp, m, items, children, k):
    """Return (place, length) of the first occurrence in y of the target `values[a:b]` filled with items, or (−1, 0)."""
    length = 0
    for p in range(a, b):
        length += items[children[-values[p] - 1], LENGTH] if values[p] < 0 else 1
        if length > m:
            return -1, 0
    for place in range(m - length + 1):
        q = place
        p = a
        while p < b:
            s = values[p]
            if s > 0:
                if y[q] != s:
                    break
                q += 1
            else:
                child = children[-s - 1]
                if lcp[items[child, START], q] < items[child, LENGTH]:
                    break
                q += items[child, LENGTH]
            p += 1
        if p == b:
            return place, length
    return -1, 0


@njit(cache=True, nogil=True)
def _repeats(y, m, lcp):
    """Fill lcp[i, j], the length of the longest common prefix of y[i:] and y[j:]."""
    for i in range(m - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            lcp[i, j] = lcp[i + 1, j + 1] + 1 if y[i] == y[j] else 0


@njit(cache=True, nogil=True)
def _add(items, size, cell, cells, place, length, units, rule, children, k):
    """Add an item to a cell unless the same stretch is there; return the items and their number."""
    item = cells[cell]
    last = -1
    while item >= 0:
        if items[item, START] == place and items[item, LENGTH] == length:
            return items, size
        last = item
        item = items[item, NEXT]
    if size == items.shape[0]:
        items = _grown(items)
    items[size, START] = place
    items[size, LENGTH] = length
    items[size, UNITS] = units
    items[size, RULE] = rule
    items[size, NEXT] = -1
    for t in range(k):
        items[size, CHILD + t] = children[t]
    if last < 0:
        cells[cell] = size
    else:
        items[last, NEXT] = size
    return items, size + 1


@njit(cache=True, nogil=True)
def derive(values, begin, middle, alive, trie, arity, banned, max_units, x, y, work):
    """Derive ⟨x, y⟩ with the rules of the trie that are alive, except `banned`.

    Returns the goal item or −1, and the items, in whose RULE and CHILD columns the derivation can be read. `arity` is
    the largest arity of a rule; `work` is what an earlier call returned as items, or an array of CHILD + arity
    columns to use.
    """
    n, m = len(x), len(y)
    items = work
    size = 0
    width = n + 1
    cells = np.full(width * width, -1, np.int32)
    lcp = np.zeros((m + 1, m + 1), np.int32)
    _repeats(y, m, lcp)
    # a state of the walk: node, position, number of spans taken, the cells of those spans
    stack = np.empty((64, 3 + arity), np.int32)
    # a finished match: node, next in its bucket, number of spans, cells
    done = np.empty((64, 3 + arity), np.int32)
    bucket = np.empty(width, np.int32)
    chosen = np.empty(arity + 1, np.int32)
    lone = edge(trie, 0, 0)
    for i in range(n - 1, -1, -1):
        bucket[:] = -1
        finished = 0
        depth = 0
        if x[i] > 0:
            node = edge(trie, 0, x[i])
            if node >= 0:
                stack[0, 0], stack[0, 1], stack[0, 2] = node, i + 1, 0
                depth = 1
        else:
            for p in range(m):
                if y[p] == x[i]:
                    items, size = _add(items, size, i * width + i + 1, cells, p, 1, 0, -1, chosen, 0)
                    break
        for j in range(i + 1, n + 1):
            cell = i * width + j
            while depth > 0:
                depth -= 1
                node, at, k = stack[depth, 0], stack[depth, 1], stack[depth, 2]
                if trie.head[node] >= 0 and node != lone:
                    if finished == done.shape[0]:
                        done = _grown(done)
                    done[finished] = stack[depth]
                    done[finished, 1] = bucket[at]
                    bucket[at] = finished
                    finished += 1
                if at == n:
                    continue
                here = depth
                nonterminal = edge(trie, node, 0) if k < arity else -1
                if nonterminal >= 0:
                    saved = stack[here].copy()
                    for q in range(at + 1, n + 1):
                        if cells[at * width + q] >= 0:
                            if depth == stack.shape[0]:
                                stack = _grown(stack)
                            stack[depth] = saved
                            stack[depth, 0], stack[depth, 1], stack[depth, 2] = nonterminal, q, k + 1
                            stack[depth, 3 + k] = at * width + q
                            depth += 1
                    if x[at] > 0:
                        child = edge(trie, node, x[at])
                        if child >= 0:
                            if depth == stack.shape[0]:
                                stack = _grown(stack)
                            stack[depth] = saved
                            stack[depth, 0], stack[depth, 1] = child, at + 1
                            depth += 1
                elif x[at] > 0:
                    child = edge(trie, node, x[at])
                    if child >= 0:
                        stack[depth, 0], stack[depth, 1] = child, at + 1
                        depth += 1
            # all matches of [i, j) are known: build its items
            match = bucket[j]
            while match >= 0:
                k = done[match, 2]
                rule = trie.head[done[match, 0]]
                while rule >= 0:
                    if alive[rule] and rule != banned:
                        for t in range(k):
                            chosen[t] = cells[done[match, 3 + t]]
                        while True:
                            place, length = _first_place(
                                values, middle[rule], begin[rule + 1], y, lcp, m, items, chosen, k
                            )
                            if place >= 0:
                                items, size = _add(items, size, cell, cells, place, length, 0, rule, chosen, k)
                            t = k - 1
                            while t >= 0:
                                chosen[t] = items[chosen[t], NEXT]
                                if chosen[t] >= 0:
                                    break
                                chosen[t] = cells[done[match, 3 + t]]
                                t -= 1
                            if t < 0:
                                break
                    rule = trie.following[rule]
                match = done[match, 1]
            if lone >= 0:
                item = cells[cell]
                while item >= 0:
                    if items[item, UNITS] < max_units:
                        rule = trie.head[lone]
                        while rule >= 0:
                            if alive[rule] and rule != banned:
                                chosen[0] = item
                                place, length = _first_place(
                                    values, middle[rule], begin[rule + 1], y, lcp, m, items, chosen, 1
                                )
                                if place >= 0:
                                    items, size = _add(
                                        items, size, cell, cells, place, length, items[item, UNITS] + 1, rule, chosen, 1
                                    )
                            rule = trie.following[rule]
                    item = items[item, NEXT]
                if cells[cell] >= 0:
                    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = lone, j, 1, cell
                    depth = 1
    item = cells[n]
    while item >= 0 and items[item, LENGTH] != m:
        item = items[item, NEXT]
    return item, items


@njit(cache=True, nogil=True)
def _collect(items, goal, middle, begin, values, out):
    """Write the rules of a derivation, parents first, to `out`; return it (maybe longer) and their number."""
    stack = np.empty(64, np.int32)
    stack[0] = goal
    depth = 1
    count = 0
    while depth > 0:
        depth -= 1
        item = stack[depth]
        rule = items[item, RULE]
        if rule < 0:
            continue
        if count == len(out):
            bigger = np.empty(2 * count, out.dtype)
            bigger[:count] = out
            out = bigger
        out[count] = rule
        count += 1
        k = 0
        for p in range(begin[rule], middle[rule]):
            if values[p] < 0:
                k += 1
        if depth + k > len(stack):
            taller = np.empty(2 * (depth + k), np.int32)
            taller[:depth] = stack[:depth]
            stack = taller
        for t in range(k - 1, -1, -1):
            stack[depth] = items[item, CHILD + t]
            depth += 1
    return out, count


@njit(cache=True, nogil=True)
def derive_rules(values, begin, middle, alive, trie, arity, max_units, queries, banned):
    """Derive each rule of `queries` without the rule of the same place in `banned` (−1: none).

    Returns, end to end, the rules of the derivations found, and their offsets; an empty stretch means not derivable.
    """
    offsets = np.zeros(len(queries) + 1, np.int64)
    parts = np.empty(1024, np.int32)
    found = np.empty(64, np.int32)
    work = np.empty((256, CHILD + arity), np.int32)
    for index in range(len(queries)):
        q = queries[index]
        x, y = values[begin[q] : middle[q]], values[middle[q] : begin[q + 1]]
        goal, work = derive(values, begin, middle, alive, trie, arity, banned[index], max_units, x, y, work)
        at = offsets[index]
        count = 0
        if goal >= 0:
            found, count = _collect(work, goal, middle, begin, values, found)
            while at + count > len(parts):
                longer = np.empty(2 * len(parts), np.int32)
                longer[:at] = parts[:at]
                parts = longer
            parts[at : at + count] = found[:count]
        offsets[index + 1] = at + count
    return parts[: offsets[-1]].copy(), offsets
