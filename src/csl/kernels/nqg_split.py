"""The splits of a rule into an outer and an inner part of which one is derivable already (NQG's candidates).

A split of ⟨x, y⟩ is a span of x, which must occur once, with the stretch of y that belongs to it. The inner part is
⟨span, stretch⟩; the outer part is ⟨x, y⟩ with a fresh nonterminal in place of both. The chart of the pair tells which
inner parts a grammar derives. Which outer parts it derives is found from the top: the whole pair is open; where a rule
is applied to what is open and all children but one are derived, that child is open, and its stretch is determined.
With c open pairs of n source symbols this costs c walks over the trie of the sources.

Rules are stored end to end: rule r is `values[begin[r]:begin[r + 1]]`, its source ends at `middle[r]`.
"""

import numpy as np
from numba import njit

from csl.kernels.derive import CHILD, GIVEN_UP, LENGTH, NEXT, START, add_item, edge, pair_chart
from csl.kernels.occurrence import occurs
from csl.kernels.room import with_room
from csl.kernels.unify import occurs_elsewhere, renumber

CELL = 3  # column of an open pair: where a derived one has its rule


@njit(cache=True, nogil=True)
def _same(y, p, q, length):
    t = 0
    while t < length and y[p + t] == y[q + t]:
        t += 1
    return t == length


@njit(cache=True, nogil=True)
def _balanced(side, a, b, opening, closing):
    """Whether every parenthesis of `side[a:b]` has its other half there."""
    depth = 0
    for p in range(a, b):
        if side[p] == opening:
            depth += 1
        elif side[p] == closing:
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


@njit(cache=True, nogil=True)
def _same_nonterminals(x, i, j, y, place, length):
    for p in range(i, j):
        if x[p] < 0:
            t = 0
            while t < length and y[place + t] != x[p]:
                t += 1
            if t == length:
                return False
    for t in range(length):
        if y[place + t] < 0:
            p = i
            while p < j and x[p] != y[place + t]:
                p += 1
            if p == j:
                return False
    return True


@njit(cache=True, nogil=True)
def _hole(values, a, b, y, place, length, items, chosen, hole):
    """Return the (place, length) that child `hole` must have if the target `values[a:b]` is that stretch of y.

    The other children are the items `chosen`. The place is the first of that stretch; −1 if there is none.
    """
    room, holes = length, 0
    for p in range(a, b):
        if values[p] == -(hole + 1):
            holes += 1
        else:
            room -= items[chosen[-values[p] - 1], LENGTH] if values[p] < 0 else 1
    if room < holes or room % holes != 0:
        return -1, 0
    size, filling, q = room // holes, -1, place
    for p in range(a, b):
        s = values[p]
        if s > 0:
            if y[q] != s:
                return -1, 0
            q += 1
            continue
        if s == -(hole + 1):
            start, n = (filling if filling >= 0 else q), size
            filling = start
        else:
            start, n = items[chosen[-s - 1], START], items[chosen[-s - 1], LENGTH]
        if not _same(y, start, q, n):
            return -1, 0
        q += n
    first = 0
    while not _same(y, first, filling, size):
        first += 1
    return first, size


@njit(cache=True, nogil=True)
def _open_below(values, begin, middle, alive, trie, arity, banned, x, y, cells, items, opened, size, at, open_cells):
    """Add the pairs that are open because the open pair `at` is; return the open pairs and their number."""
    width = len(x) + 1
    a, b = opened[at, CELL] // width, opened[at, CELL] % width
    place, length = opened[at, START], opened[at, LENGTH]
    lone = edge(trie, 0, 0)
    # a state: trie node, position, children taken, which of them is the open one (−1: none yet), their cells
    stack = np.empty((64, 4 + arity), np.int32)
    state, chosen, nothing = np.empty(4 + arity, np.int32), np.zeros(arity, np.int32), np.empty(0, np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, a, 0, -1
    depth = 1
    while depth > 0:
        depth -= 1
        state[:] = stack[depth]
        node, p, k, hole = state[0], state[1], state[2], state[3]
        if p < b:
            below = edge(trie, node, 0) if k < arity else -1
            if below >= 0:
                for q in range(p + 1, b + 1):
                    for as_hole in (False, True):
                        if (hole >= 0 or q - p == b - a) if as_hole else cells[p * width + q] < 0:
                            continue
                        stack = with_room(stack, depth, 1)
                        stack[depth] = state
                        stack[depth, 0], stack[depth, 1], stack[depth, 2] = below, q, k + 1
                        stack[depth, 3] = k if as_hole else hole
                        stack[depth, 4 + k] = p * width + q
                        depth += 1
            below = edge(trie, node, x[p]) if x[p] > 0 else -1
            if below >= 0:
                stack = with_room(stack, depth, 1)
                stack[depth] = state
                stack[depth, 0], stack[depth, 1] = below, p + 1
                depth += 1
            continue
        if hole < 0 or node == lone:
            continue
        cell = state[4 + hole]
        rule = trie.head[node]
        while rule >= 0:
            more = alive[rule] and rule != banned
            for t in range(k):
                chosen[t] = cells[state[4 + t]] if t != hole else 0
            while more:
                first, n = _hole(values, middle[rule], begin[rule + 1], y, place, length, items, chosen, hole)
                if first >= 0 and _same_nonterminals(x, cell // width, cell % width, y, first, n):
                    opened, size = add_item(opened, size, cell, open_cells, first, n, 0, cell, nothing, 0)
                t = k - 1
                while t >= 0:  # the next choice of items, as on an odometer
                    if t != hole:
                        chosen[t] = items[chosen[t], NEXT]
                        if chosen[t] >= 0:
                            break
                        chosen[t] = cells[state[4 + t]]
                    t -= 1
                more = t >= 0
            rule = trie.following[rule]
    return opened, size


@njit(cache=True, nogil=True)
def _outer(x, y, i, j, place, length, out):
    """Write the outer part to `out`; return its (source length, length), or zeros if there is none."""
    fresh = np.int32(-len(x) - 1)  # an index that x does not have
    n = 0
    for p in range(len(x)):
        if p == i:
            out[n] = fresh
            n += 1
        if p < i or p >= j:
            out[n] = x[p]
            n += 1
    source_length, free = n, 0
    for p in range(len(y)):
        if p + length <= len(y) and _same(y, place, p, length):
            if p < free:
                return 0, 0  # occurrences overlap
            out[n] = fresh
            n += 1
            free = p + length
        elif p >= free:
            out[n] = y[p]
            n += 1
            for q in range(i, j):
                if x[q] == y[p] and x[q] < 0:
                    return 0, 0  # a nonterminal of the span stays behind
    return source_length, n


@njit(cache=True, nogil=True)
def splits(values, begin, middle, alive, trie, arity, rules, opening, closing, most_nonterminals, repeats, lone_target):
    """Split each of `rules`, with respect to the rules of the trie that are alive, in all ways.

    Returns for each candidate, which is the part of a split that is not known to be derivable, the rule it was found
    for; and the candidates laid end to end (values, begin, middle). `opening` and `closing` are the parentheses that
    must be balanced in a span and in a stretch; `most_nonterminals`, `repeats` (target nonterminals may repeat) and
    `lone_target` (a target may be a lone nonterminal) say which candidates are allowed; a lone nonterminal as source
    never is.
    """
    found = np.empty(1024, np.int32)
    out_values, out_begin, out_middle = np.empty(16384, np.int32), np.zeros(1025, np.int64), np.empty(1024, np.int64)
    count = 0
    items, opened = np.empty((256, CHILD + arity), np.int32), np.empty((64, CHILD), np.int32)
    nothing = np.empty(0, np.int32)
    for r in rules:
        x, y = values[begin[r] : middle[r]], values[middle[r] : begin[r + 1]]
        n, width = len(x), len(x) + 1
        cells, items = pair_chart(values, begin, middle, alive, trie, arity, r, 0, x, y, items)
        if cells[0] == GIVEN_UP:
            continue
        open_cells = np.full(width * width, -1, np.int32)
        opened, size = add_item(opened, 0, n, open_cells, 0, len(y), 0, n, nothing, 0)
        at = 0
        while at < size:
            opened, size = _open_below(
                values, begin, middle, alive, trie, arity, r, x, y, cells, items, opened, size, at, open_cells
            )
            at += 1
        for i in range(n):
            for j in range(i + 1, width):
                cell = i * width + j
                if (cells[cell] < 0 and open_cells[cell] < 0) or j - i == n or (j == i + 1 and x[i] < 0):
                    continue
                if not _balanced(x, i, j, opening, closing) or occurs_elsewhere(x, 0, n, i, j):
                    continue
                for inner in (False, True):
                    table = opened if inner else items
                    item = open_cells[cell] if inner else cells[cell]
                    while item >= 0:
                        place, length = table[item, START], table[item, LENGTH]
                        item = table[item, NEXT]
                        if not _balanced(y, place, place + length, opening, closing):
                            continue
                        begin_at = out_begin[count]
                        out_values = with_room(out_values, begin_at, n + len(y) + 1)
                        out = out_values[begin_at:]
                        if inner:
                            source_length, whole = j - i, j - i + length
                            out[:source_length] = x[i:j]
                            out[source_length:whole] = y[place : place + length]
                        else:
                            source_length, whole = _outer(x, y, i, j, place, length, out)
                            if whole == 0:
                                continue
                        nonterminals, most = renumber(out, source_length, whole)
                        lone = whole - source_length == 1 and out[source_length] < 0
                        if nonterminals <= most_nonterminals and (repeats or most <= 1) and (lone_target or not lone):
                            found, out_middle = with_room(found, count, 1), with_room(out_middle, count, 1)
                            out_begin = with_room(out_begin, count + 1, 1)
                            found[count] = r
                            out_middle[count] = begin_at + source_length
                            count += 1
                            out_begin[count] = begin_at + whole
    return (
        found[:count].copy(),
        out_values[: out_begin[count]].copy(),
        out_begin[: count + 1].copy(),
        out_middle[:count].copy(),
    )


@njit(cache=True, nogil=True)
def touched(values, begin, middle, rule, others, target_too):
    """Say of each of `others` whether the rule's source, and target if `target_too`, may be used in deriving it."""
    out = np.zeros(len(others), np.bool_)
    for k in range(len(others)):
        r = others[k]
        out[k] = occurs(values, begin[rule], middle[rule], begin[r], middle[r]) and (
            not target_too or occurs(values, middle[rule], begin[rule + 1], middle[r], begin[r + 1])
        )
    return out
