"""The splits of a rule into an outer and an inner part of which one is derivable already (NQG's candidates).

A split of ⟨x, y⟩ is a span of x, which must occur once, with the span of y that belongs to it. The inner part is
⟨span of x, span of y⟩; the outer part is ⟨x, y⟩ with a fresh nonterminal in place of both. The chart of the pair tells
which inner parts a grammar derives. Which outer parts it derives is found from the top: the whole pair is open; where
a rule is applied to what is open and all children but one are derived, that child is open, and its span of y is
determined. With c open pairs of n source symbols this costs c walks over the trie of the sources.
"""

import numpy as np

from csl.kernels.budget import spent
from csl.kernels.derive import CHILD, LENGTH, NEXT, START, Chart, add_item, edge, next_choice, pair_chart, rule_query
from csl.kernels.flat import copy_to, reserve
from csl.kernels.kernel import kernel
from csl.kernels.occurrence import occurs
from csl.kernels.unify import add_candidate, finished_candidates, no_candidates, occurs_elsewhere, room_for

CELL = 3  # column of an open pair: where a derived one has its rule


@kernel
def _same(y, p, q, length):
    t = 0
    while t < length and y[p + t] == y[q + t]:
        t += 1
    return t == length


@kernel
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


@kernel
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


@kernel
def _hole(rules, rule, y, place, length, items, chosen, hole):
    """Return the (place, length) that child `hole` must have if the rule's target is that span of y.

    The other children are the items `chosen`. The place is the first of that span; −1 if there is none.
    """
    values, a, b = rules.values, rules.middle[rule], rules.begin[rule + 1]
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


@kernel
def _open_below(parser, query, chart, opened, at):
    """Add the pairs that are open because the open pair `at` is; return the open pairs, which are a chart too."""
    (x, y, banned), trie, arity = query, parser.trie, parser.arity
    width = len(x) + 1
    a, b = opened.items[at, CELL] // width, opened.items[at, CELL] % width
    place, length = opened.items[at, START], opened.items[at, LENGTH]
    # a state: trie node, position, children taken, which of them is the open one (−1: none yet), their cells
    stack = np.empty((64, 4 + arity), np.int32)
    state, chosen = np.empty(4 + arity, np.int32), np.zeros(arity, np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, a, 0, -1
    depth = 1
    while depth > 0:
        depth -= 1
        copy_to(state, stack[depth])
        node, p, k, hole = np.int64(state[0]), state[1], state[2], state[3]
        if p < b:
            below = edge(trie, node, np.int32(0)) if k < arity else -1
            if below >= 0:
                for q in range(p + 1, b + 1):
                    for as_hole in (False, True):
                        if (hole >= 0 or q - p == b - a) if as_hole else chart.cells[p * width + q] < 0:
                            continue
                        stack = reserve(stack, depth + 1)
                        copy_to(stack[depth], state)
                        stack[depth, 0], stack[depth, 1], stack[depth, 2] = below, q, k + 1
                        stack[depth, 3] = k if as_hole else hole
                        stack[depth, 4 + k] = p * width + q
                        depth += 1
            below = edge(trie, node, x[p]) if x[p] > 0 else -1
            if below >= 0:
                stack = reserve(stack, depth + 1)
                copy_to(stack[depth], state)
                stack[depth, 0], stack[depth, 1] = below, p + 1
                depth += 1
            continue
        if hole < 0 or node == trie.lone:
            continue
        spans = state[4 : 4 + k]
        cell = np.int64(spans[hole])
        rule = trie.head[node]
        while rule >= 0:
            more = parser.alive[rule] and rule != banned
            for t in range(k):
                chosen[t] = chart.cells[spans[t]] if t != hole else 0
            while more:
                first, n = _hole(parser.rules, rule, y, place, length, chart.items, chosen, hole)
                if first >= 0 and _same_nonterminals(x, cell // width, cell % width, y, first, n):
                    opened = add_item(opened, cell, first, n, np.int64(0), np.int32(cell), chosen[:0])
                more = next_choice(chart, spans, chosen, hole)
            rule = trie.following[rule]
    return opened


@kernel
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


@kernel
def splits(parser, budget, ids, parentheses, shape):
    """Split each of the rules `ids`, with respect to the rules of the parser, in all ways.

    Returns for each candidate, which is the part of a split that is not known to be derivable, the rule it was found
    for, in the first column of an array; and the candidates. `parentheses` are what must be balanced in a span of x and
    in a span of y.
    """
    opening, closing = parentheses
    candidates = no_candidates()
    items, opened_items = np.empty((256, CHILD + parser.arity), np.int32), np.empty((64, CHILD), np.int32)
    for r in ids:
        query = rule_query(parser.rules, r, r)
        x, y, _ = query
        n, width = len(x), len(x) + 1
        chart, used = pair_chart(parser, query, budget, items)
        items = chart.items
        if spent(budget, used):
            continue
        opened = Chart(np.full(width * width, -1, np.int32), opened_items, 0)
        opened = add_item(opened, n, np.int64(0), len(y), np.int64(0), np.int32(n), y[:0])
        at = 0
        while at < opened.size:
            opened = _open_below(parser, query, chart, opened, at)
            at += 1
        opened_items = opened.items
        for i in range(n):
            for j in range(i + 1, width):
                cell = i * width + j
                if (chart.cells[cell] < 0 and opened.cells[cell] < 0) or j - i == n or (j == i + 1 and x[i] < 0):
                    continue
                if not _balanced(x, i, j, opening, closing) or occurs_elsewhere(x, 0, n, i, j):
                    continue
                for inner in (False, True):
                    table = opened if inner else chart
                    item = table.cells[cell]
                    while item >= 0:
                        place, length = table.items[item, START], table.items[item, LENGTH]
                        item = table.items[item, NEXT]
                        if not _balanced(y, place, place + length, opening, closing):
                            continue
                        candidates, out = room_for(candidates, n + len(y) + 1)
                        if inner:
                            source_length, whole = j - i, j - i + length
                            copy_to(out, x[i:j])
                            copy_to(out[source_length:], y[place : place + length])
                        else:
                            source_length, whole = _outer(x, y, i, j, place, length, out)
                        if whole > 0:
                            candidates = add_candidate(candidates, shape, source_length, whole, r, r)
    return finished_candidates(candidates)


@kernel
def touched(rules, rule, others, target_too):
    """Tell for each of `others` whether the rule's source, and target if `target_too`, may be used in deriving it."""
    values, begin, middle = rules
    out = np.zeros(len(others), np.bool_)
    for k in range(len(others)):
        r = others[k]
        out[k] = occurs(values, begin[rule], middle[rule], begin[r], middle[r]) and (
            not target_too or occurs(values, middle[rule], begin[rule + 1], middle[r], begin[r + 1])
        )
    return out
