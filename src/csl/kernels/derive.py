"""Derivability: whether a grammar derives the pair ⟨x, y⟩, and by which rules.

A chart over the spans of x. Because y is known, the item of a span is the stretch of y that the span derives, named
by its first occurrence: the number of items stays small, and equal derived strings are one item. Rules are found
through a trie over their sources: from each start i (right to left) the trie is walked rightwards, taking a terminal
or a whole span that has items; each partial match is visited once. x and y may hold nonterminals, which derive just
themselves, so the same chart tells whether a rule follows from other rules.

Rules whose source is a lone nonterminal are applied to a finished span, at most `max_units` times in a row.

Partial matches are not shared, so that sources with many nonterminals side by side can have very many. A pair that
takes more than STEPS steps is given up and counts as not derivable.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from csl.kernels.hashing import find_slot
from csl.kernels.room import with_room

STEPS = 2**22  # for one pair: a second or less, and some 100 MB
PLACES = 32  # in an output that are looked at in a step
LONGEST = 10_000  # tokens of an input


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


# columns of an item: first place in y, length, applications of lone-nonterminal rules at its top, rule, next item of
# the cell, then the child items
START, LENGTH, UNITS, RULE, NEXT, CHILD = 0, 1, 2, 3, 4, 5
GIVEN_UP = -2


@njit(cache=True, nogil=True)
def first_place(values, a, b, y, items, children):
    """Return (place, length) of the first occurrence in y of the target `values[a:b]` filled with items, or (−1, 0)."""
    m = len(y)
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
                start, n = items[child, START], items[child, LENGTH]
                t = 0
                while t < n and y[start + t] == y[q + t]:
                    t += 1
                if t < n:
                    break
                q += n
            p += 1
        if p == b:
            return place, length
    return -1, 0


@njit(cache=True, nogil=True)
def add_item(items, size, cell, cells, place, length, units, rule, children, k):
    """Add an item to a cell unless the same stretch is there; return the items and their number."""
    item = cells[cell]
    last = -1
    while item >= 0:
        if items[item, START] == place and items[item, LENGTH] == length:
            return items, size
        last = item
        item = items[item, NEXT]
    items = with_room(items, size, 1)
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
def _pushed(stack, depth, state, node, at, spans):
    """Put a state on the stack: a copy of `state` with another node, position and number of spans."""
    stack = with_room(stack, depth, 1)
    stack[depth] = state
    stack[depth, 0], stack[depth, 1], stack[depth, 2] = node, at, spans
    return stack


@njit(cache=True, nogil=True)
def walk(trie, arity, x, cells, lone, stack, depth, done, finished, bucket):
    """Walk on from the states on the stack; whole sources that are met go to the bucket of their end.

    A state is (node, position, number of spans taken, the cells of these spans); a finished match is the same with the
    next match of its bucket in place of the position. Returns the stack, the matches and their number. The steps from
    the same start are counted in `bucket[0]`, where no source ends; after STEPS the walk is broken off.
    """
    n = len(x)
    state = np.empty(stack.shape[1], np.int32)
    while depth > 0 and bucket[0] < STEPS:
        bucket[0] += 1
        depth -= 1
        state[:] = stack[depth]
        node, at, spans = state[0], state[1], state[2]
        if trie.head[node] >= 0 and node != lone:
            done = with_room(done, finished, 1)
            done[finished] = state
            done[finished, 1] = bucket[at]
            bucket[at] = finished
            finished += 1
        if at == n:
            continue
        nonterminal = edge(trie, node, 0) if spans < arity else -1
        if nonterminal >= 0:
            for end in range(at + 1, n + 1):
                cell = at * (n + 1) + end
                if cells[cell] >= 0:
                    stack = _pushed(stack, depth, state, nonterminal, end, spans + 1)
                    stack[depth, 3 + spans] = cell
                    depth += 1
        child = edge(trie, node, x[at]) if x[at] > 0 else -1
        if child >= 0:
            stack = _pushed(stack, depth, state, child, at + 1, spans)
            depth += 1
    return stack, done, finished


@njit(cache=True, nogil=True)
def _apply(values, begin, middle, rule, y, spans, units, cell, cells, items, size, chosen):
    """Apply a rule to every choice of items of the cells `spans`; add what it derives to the cell.

    Returns the items, their number, and the number of steps, which is no more than STEPS by much.
    """
    k, steps = len(spans), 0
    for t in range(k):
        chosen[t] = cells[spans[t]]
    while True:
        steps += 1 + len(y) // PLACES
        place, length = first_place(values, middle[rule], begin[rule + 1], y, items, chosen)
        if place >= 0:
            items, size = add_item(items, size, cell, cells, place, length, units, rule, chosen, k)
        t = k - 1
        while t >= 0:  # the next choice, as on an odometer
            chosen[t] = items[chosen[t], NEXT]
            if chosen[t] >= 0:
                break
            chosen[t] = cells[spans[t]]
            t -= 1
        if t < 0 or steps >= STEPS:
            return items, size, steps


@njit(cache=True, nogil=True)
def _apply_lone(values, begin, middle, alive, trie, lone, banned, max_units, y, cell, cells, items, size, chosen):
    """Close a cell under the rules whose source is a lone nonterminal; return also the number of steps."""
    steps = 0
    item = cells[cell]
    while item >= 0:
        rule = trie.head[lone] if items[item, UNITS] < max_units else -1
        while rule >= 0:
            steps += 1
            if alive[rule] and rule != banned:
                steps += len(y) // PLACES
                chosen[0] = item
                place, length = first_place(values, middle[rule], begin[rule + 1], y, items, chosen)
                if place >= 0:
                    units = items[item, UNITS] + 1
                    items, size = add_item(items, size, cell, cells, place, length, units, rule, chosen, 1)
            rule = trie.following[rule]
        item = items[item, NEXT] if steps < STEPS else -1
    return items, size, steps


@njit(cache=True, nogil=True)
def pair_chart(values, begin, middle, alive, trie, arity, banned, max_units, x, y, work):
    """Find what of y each span of x derives, with the rules of the trie that are alive, except `banned`.

    Returns the cells and the items; cell i · (n + 1) + j holds the first item of the span [i, j), or −1. If the pair is
    given up, cell 0, which is no span, is GIVEN_UP, and the others say nothing. `arity` is the largest arity of a rule,
    at least 1; `work` is what an earlier call returned as items, or an array of CHILD + arity columns.
    """
    n, m = len(x), len(y)
    if n > LONGEST:
        return np.full(1, GIVEN_UP, np.int32), work
    items, size = work, 0
    cells = np.full((n + 1) * (n + 1), -1, np.int32)  # cell i · (n + 1) + j → first item of the span [i, j)
    stack, done = np.empty((64, 3 + arity), np.int32), np.empty((64, 3 + arity), np.int32)
    bucket = np.empty(n + 1, np.int32)
    chosen = np.empty(arity, np.int32)
    lone = edge(trie, 0, 0)
    steps = 0
    for i in range(n - 1, -1, -1):
        if steps >= STEPS:
            break
        bucket[:] = -1
        finished, depth = 0, 0
        if x[i] > 0:
            child = edge(trie, 0, x[i])
            if child >= 0:
                stack[0, 0], stack[0, 1], stack[0, 2] = child, i + 1, 0
                depth = 1
        else:
            for p in range(m):
                if y[p] == x[i]:
                    items, size = add_item(items, size, i * (n + 1) + i + 1, cells, p, 1, 0, -1, chosen, 0)
                    break
        for j in range(i + 1, n + 1):
            cell = i * (n + 1) + j
            if depth > 0:
                stack, done, finished = walk(trie, arity, x, cells, lone, stack, depth, done, finished, bucket)
                depth = 0
            match = bucket[j]
            while match >= 0:
                rule = trie.head[done[match, 0]]
                spans = done[match, 3 : 3 + done[match, 2]]
                while rule >= 0:
                    if alive[rule] and rule != banned:
                        items, size, more = _apply(
                            values, begin, middle, rule, y, spans, 0, cell, cells, items, size, chosen
                        )
                        steps += more
                    rule = trie.following[rule]
                match = done[match, 1] if steps < STEPS else -1
            if lone >= 0 and cells[cell] >= 0:
                items, size, more = _apply_lone(
                    values,
                    begin,
                    middle,
                    alive,
                    trie,
                    lone,
                    banned,
                    max_units,
                    y,
                    cell,
                    cells,
                    items,
                    size,
                    chosen,
                )
                steps += more
                stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = lone, j, 1, cell
                depth = 1
            if steps >= STEPS or bucket[0] >= STEPS:
                break
        steps += bucket[0]
    if steps >= STEPS:
        cells[0] = GIVEN_UP
    return cells, items


@njit(cache=True, nogil=True)
def derive(values, begin, middle, alive, trie, arity, banned, max_units, x, y, work):
    """Derive ⟨x, y⟩: return the goal item or −1, and the items; their RULE and CHILD columns tell the derivation.

    The arguments are those of `pair_chart`. A goal of GIVEN_UP says that it was given up.
    """
    cells, items = pair_chart(values, begin, middle, alive, trie, arity, banned, max_units, x, y, work)
    goal = cells[len(x)] if cells[0] != GIVEN_UP else GIVEN_UP
    while goal >= 0 and items[goal, LENGTH] != len(y):
        goal = items[goal, NEXT]
    return goal, items


@njit(cache=True, nogil=True)
def collect(items, goal, middle, begin, values, out):
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
        out = with_room(out, count, 1)
        out[count] = rule
        count += 1
        k = 0
        for p in range(begin[rule], middle[rule]):
            if values[p] < 0:
                k += 1
        stack = with_room(stack, depth, k)
        for t in range(k - 1, -1, -1):
            stack[depth] = items[item, CHILD + t]
            depth += 1
    return out, count


@njit(cache=True, nogil=True)
def derive_counted(values, begin, middle, alive, trie, arity, max_units, queries, banned):
    """Derive as `derive_rules` does; return also how many queries were given up."""
    given_up = 0
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
        given_up += goal == GIVEN_UP
        if goal >= 0:
            found, count = collect(work, goal, middle, begin, values, found)
            parts = with_room(parts, at, count)
            parts[at : at + count] = found[:count]
        offsets[index + 1] = at + count
    return parts[: offsets[-1]].copy(), offsets, given_up


@njit(cache=True, nogil=True)
def derive_rules(values, begin, middle, alive, trie, arity, max_units, queries, banned):
    """Derive each rule of `queries` without the rule of the same place in `banned` (−1: none).

    Returns, end to end, the rules of the derivations found, and their offsets; an empty stretch means not derivable.
    """
    parts, offsets, _ = derive_counted(values, begin, middle, alive, trie, arity, max_units, queries, banned)
    return parts, offsets
