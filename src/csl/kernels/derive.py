"""Derivability: whether a grammar derives the pair ⟨x, y⟩, and by which rules.

A chart over the spans of x. Because y is known, the item of a span is the span of y that it derives, named by its first
occurrence: the number of items stays small, and equal derived strings are one item. Rules are found
through a trie over their sources: from each start i (right to left) the trie is walked rightwards, taking a terminal
or a whole span that has items; each partial match is visited once. x and y may hold nonterminals, which derive just
themselves, so the same chart tells whether a rule follows from other rules.

Rules whose source is a lone nonterminal are applied to a finished span, at most `max_units` times in a row.

Partial matches are not shared, so that sources with many nonterminals side by side can have very many; each step of a
walk, and each choice of items, counts as an item of the budget. A pair that is given up counts as not derivable.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.budget import ENTRIES, spent
from csl.kernels.flat import Rules, arity_of, copy_to, reserve
from csl.kernels.hashing import find_slot
from csl.kernels.kernel import kernel

PLACES = 32  # in an output that are looked at in a step


class Trie(NamedTuple):
    """Sources as paths. Node 0 is the root; edges sit in a hash table under node · 2³² + symbol (0 = nonterminal)."""

    keys: npt.NDArray[np.uint64]
    children: npt.NDArray[np.int32]
    head: npt.NDArray[np.int32]  # node → first rule whose source ends there, −1 = none
    following: npt.NDArray[np.int32]  # rule → next rule with the same erased source
    marks: npt.NDArray[np.uint64]  # rule → `marks_of` its target
    shared: npt.NDArray[np.uint64]  # node → the marks that all rules there and below have
    lone: int  # the node of a lone nonterminal, −1 = none


class Parser(NamedTuple):
    """A grammar as chart kernels take it: the rules of the trie that are alive."""

    rules: Rules
    trie: Trie
    alive: npt.NDArray[np.bool_]
    arity: int  # the largest of a rule, at least 1
    max_units: int  # rules with a lone nonterminal as source that may be applied in a row


class Query(NamedTuple):
    """A pair to derive, and a rule that must not be used for it (−1: none)."""

    x: npt.NDArray[np.int32]
    y: npt.NDArray[np.int32]
    banned: int


class Chart(NamedTuple):
    """What of y each span of x derives: cell i · (n + 1) + j holds the first item of the span [i, j).

    It is negative if there is none: −k in a complete row i if the k − 1 cells after it have none either.
    """

    cells: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    size: int  # of the items


# columns of an item: first place in y, length, applications of lone-nonterminal rules at its top, rule, next item of
# the cell, then the child items
START, LENGTH, UNITS, RULE, NEXT, CHILD = 0, 1, 2, 3, 4, 5


@kernel
def edge(trie, node, symbol):
    """Follow an edge; −1 if there is none."""
    key = (np.uint64(node) << np.uint64(32)) | np.uint64(symbol)
    return np.int64(trie.children[find_slot(trie.keys, trie.children, key)])


@kernel
def marks_of(values):
    """Mark which terminals are there, a bit each, that some share: what a rule has and an output lacks rules it out."""
    marks = np.uint64(0)
    for p in range(len(values)):
        if values[p] > 0:
            marks |= np.uint64(1) << np.uint64(values[p] & 63)
    return marks


@kernel
def build_trie(rules, ids):
    """Build the trie of the given rules; chains keep their order."""
    values, begin, middle = rules
    symbols = 1
    for r in ids:
        symbols += middle[r] - begin[r]
    capacity = 16
    while capacity < 2 * symbols:
        capacity *= 2
    keys = np.zeros(capacity, np.uint64)
    children = np.full(capacity, -1, np.int32)
    head = np.full(symbols, -1, np.int32)
    following, marks = np.full(len(middle), -1, np.int32), np.zeros(len(middle), np.uint64)
    shared, nodes, lone = np.full(symbols, ~np.uint64(0), np.uint64), 1, -1
    for k in range(len(ids) - 1, -1, -1):
        r = ids[k]
        node, marks[r] = 0, marks_of(values[middle[r] : begin[r + 1]])
        for p in range(begin[r], middle[r]):
            key = (np.uint64(node) << np.uint64(32)) | np.uint64(max(values[p], 0))
            slot = find_slot(keys, children, key)
            if children[slot] < 0:
                keys[slot] = key
                children[slot] = nodes
                if node == 0 and values[p] < 0:
                    lone = nodes
                nodes += 1
            node = children[slot]
            shared[node] &= marks[r]
        following[r] = head[node]
        head[node] = r
    return Trie(keys, children, head[:nodes].copy(), following, marks, shared[:nodes].copy(), lone)


@kernel
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


@kernel
def add_item(chart, cell, place, length, units, rule, children):
    """Add an item to a cell unless the same span of y is there; return the chart."""
    cells, items, size = chart
    item = cells[cell]
    last = -1
    while item >= 0:
        if items[item, START] == place and items[item, LENGTH] == length:
            return chart
        last = item
        item = items[item, NEXT]
    items = reserve(items, size + 1)
    items[size, START], items[size, LENGTH] = place, length
    items[size, UNITS], items[size, RULE], items[size, NEXT] = units, rule, -1
    for t in range(len(children)):
        items[size, CHILD + t] = children[t]
    if last < 0:
        cells[cell] = size
    else:
        items[last, NEXT] = size
    return Chart(cells, items, size + 1)


@kernel
def next_choice(chart, spans, chosen, fixed):
    """Advance the choice of an item of each of the cells `spans`, as on an odometer; place `fixed` stays as it is.

    Returns False after the last choice.
    """
    cells, items, _ = chart
    for t in range(len(spans) - 1, -1, -1):
        if t != fixed:
            chosen[t] = items[chosen[t], NEXT]
            if chosen[t] >= 0:
                return True
            chosen[t] = cells[spans[t]]
    return False


@kernel
def _push(stack, depth, state, node, at, spans):
    """Put a state on the stack, which has room: a copy of `state` with another node, position and number of spans."""
    stack[depth, 0], stack[depth, 1], stack[depth, 2] = node, at, spans
    for t in range(3, len(state)):
        stack[depth, t] = state[t]


@kernel
def _walk(parser, goal, cells, stack, state, done, bucket, most):
    """Walk on from the state at the bottom of the stack; whole sources that are met go to the bucket of their end.

    Nodes below which all rules write what the output lacks are not entered. `goal` is the input, and what marks the
    output lacks; `state` is room for one.

    A state is (node, position, number of spans taken, the cells of these spans); a finished match is the same with the
    next match of its bucket in place of the position. `bucket[0]`, where no source ends, counts the matches. Returns
    the stack, the matches, and the number of steps; after more than `most` the walk stops.
    """
    trie, (x, lacks) = parser.trie, goal
    n, depth, steps = len(x), 1, 0
    while depth > 0 and steps <= most:
        stack = reserve(stack, depth + n)
        steps += 1
        depth -= 1
        copy_to(state, stack[depth])
        node, at, spans = np.int64(state[0]), np.int64(state[1]), np.int64(state[2])
        if trie.head[node] >= 0 and node != trie.lone:
            finished = bucket[0]
            done = reserve(done, finished + 1)
            copy_to(done[finished], state)
            done[finished, 1] = bucket[at]
            bucket[at] = finished
            bucket[0] += 1
        if at == n:
            continue
        nonterminal = edge(trie, node, np.int32(0)) if spans < parser.arity else -1
        if nonterminal >= 0 and trie.shared[nonterminal] & lacks == 0:
            cell = at * (n + 1) + at + 1
            while cell < (at + 1) * (n + 1):
                if cells[cell] < 0:
                    cell -= cells[cell]
                    continue
                _push(stack, depth, state, nonterminal, cell % (n + 1), spans + 1)
                stack[depth, 3 + spans] = cell
                depth, cell = depth + 1, cell + 1
        child = edge(trie, node, x[at]) if x[at] > 0 else -1
        if child >= 0 and trie.shared[child] & lacks == 0:
            _push(stack, depth, state, child, at + 1, spans)
            depth += 1
    return stack, done, steps


@kernel
def _is_at(y, q, items, item):
    """Tell whether what an item derives is at place q of y."""
    start, n = items[item, START], items[item, LENGTH]
    if q + n > len(y):
        return False
    t = 0
    while t < n and y[start + t] == y[q + t]:
        t += 1
    return t == n


@kernel
def _first_same(y, place, length):
    """Return the first place of y that has the same as `y[place:place + length]`."""
    for q in range(place):
        t = 0
        while t < length and y[q + t] == y[place + t]:
            t += 1
        if t == length:
            return q
    return place


@kernel
def _follow(target, p, y, place, items, chosen):
    """Follow a target, from its place p on, from a place of y, up to a nonterminal without an item.

    Returns where it ends, in the target and in y; the latter is −1 if y has something else.
    """
    p, q = np.int64(p), np.int64(place)
    while p < len(target) and (target[p] > 0 or chosen[-target[p] - 1] >= 0):
        if target[p] > 0:
            if q == len(y) or y[q] != target[p]:
                return p, -1
            q += 1
        else:
            item = chosen[-target[p] - 1]
            if not _is_at(y, q, items, item):
                return p, -1
            q += items[item, LENGTH]
        p += 1
    return p, q


@kernel
def fillings(target, y, heads, items, work, out, most):
    """Find each way to fill a target with items, one a nonterminal, so that it is in y.

    The items of nonterminal k are chained by their column NEXT, from `heads[k - 1]` on. The target is followed from
    each place of y; at a nonterminal each item is tried that y has there. `work` has the item of each nonterminal, −1
    before one is chosen; and of the choices on the way the nonterminal, its place in the target, and that in y. Returns
    a row for each way (the first place in y, the length, the items) in an array that may be longer, their number, and
    that of steps, which is no more than `most` by much.
    """
    chosen, n, steps, looked, found = work[0], len(target), 1 + len(y) // PLACES, 0, 0
    for t in range(len(heads)):
        chosen[t] = heads[t]
    lone = n == 1 and target[0] < 0
    item = chosen[-target[0] - 1] if lone else np.int32(-1)
    while item >= 0:  # what is there is known
        chosen[-target[0] - 1] = item
        start, length = np.int64(items[item, START]), np.int64(items[item, LENGTH])
        out = _with_row(out, np.int64(found), start, length, chosen, len(heads))
        item, steps, found = items[item, NEXT], steps + 1, found + 1
    if lone:
        return out, found, steps
    for symbol in target:
        if symbol < 0:
            chosen[-symbol - 1] = -1
    for place in range(len(y)):
        if target[0] > 0 and y[place] != target[0]:
            continue
        depth, (p, q) = 0, _follow(target, 0, y, place, items, chosen)
        while (q >= 0 or depth > 0) and steps + looked // PLACES <= most:
            if q >= 0 and p == n:
                if _first_same(y, place, q - place) == place:  # else it was found there
                    out = _with_row(out, np.int64(found), np.int64(place), q - place, chosen, len(heads))
                    found, steps = found + 1, steps + 1
                q = -1
                continue
            if q >= 0:
                work[1, depth], work[2, depth], work[3, depth] = -target[p] - 1, p, q
                item = heads[-target[p] - 1]
                depth += 1
            else:
                item = items[chosen[work[1, depth - 1]], NEXT]
            k, p, q = work[1, depth - 1], np.int64(work[2, depth - 1]), np.int64(work[3, depth - 1])
            while item >= 0 and not _is_at(y, q, items, item):
                item, looked = items[item, NEXT], looked + 1
            chosen[k], looked = item, looked + 1
            if item >= 0:
                p, q = _follow(target, p, y, q, items, chosen)
            else:
                depth, q = depth - 1, -1
    return out, found, steps + looked // PLACES


@kernel
def _with_row(out, row, place, length, chosen, n):
    """Write a row of `fillings`."""
    out = reserve(out, row + 1)
    out[row, 0], out[row, 1] = place, length
    for t in range(n):
        out[row, 2 + t] = chosen[t]
    return out


@kernel
def _apply(rules, match, y, chart, work, rows, most):
    """Apply a rule to items of cells, in each way that is in y; add what it derives to a cell.

    A match is the rule, the cells that its source takes, and the one to add to; `work` and `rows` are for `fillings`.
    Returns the chart, the rows, and the number of steps.
    """
    rule, spans, cell = match
    heads, target = work[4, : len(spans)], rules.values[rules.middle[rule] : rules.begin[rule + 1]]
    for t in range(len(spans)):
        heads[t] = chart.cells[spans[t]]
    rows, found, steps = fillings(target, y, heads, chart.items, work, rows, most)
    for k in range(found):
        place, length = np.int64(rows[k, 0]), np.int64(rows[k, 1])
        chart = add_item(chart, cell, place, length, np.int64(0), rule, rows[k, 2 : 2 + len(spans)])
    return chart, rows, steps


@kernel
def _apply_lone(parser, query, cell, chart, chosen, lacks, most):
    """Close a cell under the rules whose source is a lone nonterminal; return also the number of steps."""
    (values, begin, middle), trie, steps, y = parser.rules, parser.trie, 0, query.y
    item = chart.cells[cell]
    while item >= 0 and steps <= most:
        units = np.int64(chart.items[item, UNITS]) + 1
        rule = trie.head[trie.lone] if units <= parser.max_units else np.int32(-1)
        while rule >= 0:
            steps += 1
            if parser.alive[rule] and rule != query.banned and trie.marks[rule] & lacks == 0:
                steps += len(y) // PLACES
                chosen[0] = item
                place, length = first_place(values, middle[rule], begin[rule + 1], y, chart.items, chosen)
                if place >= 0:
                    chart = add_item(chart, cell, place, length, units, rule, chosen[:1])
            rule = trie.following[rule]
        item = chart.items[item, NEXT]
    return chart, steps


@kernel
def pair_chart(parser, query, budget, work):
    """Find what of y each span of x derives; `work` is an array for items, of CHILD + arity columns.

    Returns the chart and the number of items used; if they are more than the budget, the chart is not complete.
    """
    (x, y, banned), trie, alive = query, parser.trie, parser.alive
    n, has_units = len(x), trie.lone >= 0 and trie.head[trie.lone] >= 0
    used = (n + 1) * (n + 1) // ENTRIES
    if spent(budget, used):
        return Chart(np.empty(0, np.int32), work, 0), used
    chart = Chart(np.full((n + 1) * (n + 1), -1, np.int32), work, 0)
    width = 3 + parser.arity
    stack, done = np.empty((64, width), np.int32), np.empty((64, width), np.int32)
    bucket, state = np.empty(n + 1, np.int32), np.empty(width, np.int32)
    room, lacks = np.empty((5, parser.arity), np.int32), ~marks_of(y)
    rows = np.empty((16, 2 + parser.arity), np.int32)
    for i in range(n - 1, -1, -1):
        bucket[:] = -1
        bucket[0] = 0
        start = edge(trie, np.int64(0), x[i]) if x[i] > 0 else -1  # a node to walk on from, after the span [i, j)
        if x[i] < 0:
            for p in range(len(y)):
                if y[p] == x[i]:
                    chart = add_item(chart, i * (n + 1) + i + 1, p, np.int64(1), np.int64(0), np.int32(-1), room[0, :0])
                    break
        if start >= 0:
            stack[0, 0], stack[0, 1], stack[0, 2] = start, i + 1, 0
        for j in range(i + 1, n + 1):
            cell = i * (n + 1) + j
            if start < 0 and bucket[j] < 0 and chart.cells[cell] < 0:
                continue
            if start >= 0:
                most = budget.items - used
                stack, done, steps = _walk(parser, (x, lacks), chart.cells, stack, state, done, bucket, most)
                used += steps
                start = -1
            match = bucket[j]
            while match >= 0:
                rule = trie.head[done[match, 0]]
                spans = done[match, 3 : 3 + done[match, 2]]
                while rule >= 0:
                    used += 1
                    if alive[rule] and rule != banned and trie.marks[rule] & lacks == 0:
                        most = budget.items - used
                        chart, rows, steps = _apply(parser.rules, (rule, spans, cell), y, chart, room, rows, most)
                        used += steps
                    rule = trie.following[rule]
                match = done[match, 1] if used <= budget.items else -1
            if trie.lone >= 0 and chart.cells[cell] >= 0:
                if has_units:
                    chart, steps = _apply_lone(parser, query, cell, chart, room[0], lacks, budget.items - used)
                    used += steps
                start = trie.lone
                stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = start, j, 1, cell
            if spent(budget, used):
                return chart, used
        empty = 0
        for cell in range(i * (n + 1) + n, i * (n + 1) + i, -1):
            empty = empty + 1 if chart.cells[cell] < 0 else 0
            if empty > 0:
                chart.cells[cell] = -empty
    return chart, used


@kernel
def derive(parser, query, budget, work):
    """Derive a pair: return the goal item or −1, the items, and how many of the budget were used.

    The RULE and CHILD columns of the items tell the derivation. If more than the budget was used, it was given up.
    """
    chart, used = pair_chart(parser, query, budget, work)
    if spent(budget, used):
        return np.int32(-1), chart.items, used
    goal = chart.cells[len(query.x)]
    while goal >= 0 and chart.items[goal, LENGTH] != len(query.y):
        goal = chart.items[goal, NEXT]
    return goal, chart.items, used


@kernel
def rule_query(rules, rule, banned):
    """Return the query for a rule: its sides as a pair."""
    values, begin, middle = rules
    return Query(values[begin[rule] : middle[rule]], values[middle[rule] : begin[rule + 1]], banned)


@kernel
def _collect(rules, items, goal, out, count):
    """Append the rules of a derivation, parents first, to `out`; return it (maybe longer) and their number."""
    stack = np.empty(64, np.int32)
    stack[0] = goal
    depth = 1
    while depth > 0:
        depth -= 1
        item = stack[depth]
        rule = items[item, RULE]
        if rule < 0:
            continue
        out = reserve(out, count + 1)
        out[count] = rule
        count += 1
        k = arity_of(rules, rule)
        stack = reserve(stack, depth + k)
        for t in range(k - 1, -1, -1):
            stack[depth] = items[item, CHILD + t]
            depth += 1
    return out, count


@kernel
def derive_rules(parser, budget, queries, banned):
    """Derive each rule of `queries` without the rule of the same place in `banned` (−1: none).

    Returns, end to end, the rules of the derivations found, and their offsets, an empty span for what is not derivable;
    and how many items each query used: more than the budget if it was given up.
    """
    offsets, used = np.zeros(len(queries) + 1, np.int64), np.zeros(len(queries), np.int64)
    out, count = np.empty(1024, np.int32), np.int64(0)
    work = np.empty((256, CHILD + parser.arity), np.int32)
    for k in range(len(queries)):
        goal, work, used[k] = derive(parser, rule_query(parser.rules, queries[k], banned[k]), budget, work)
        if goal >= 0:
            out, count = _collect(parser.rules, work, goal, out, count)
        offsets[k + 1] = count
    return out[:count].copy(), offsets, used


@kernel
def remove_derivable(parser, budget, order, hints, hint_offsets, most):
    """Remove the rules of `order`, one after the other, that the other rules derive; `parser.alive` is changed.

    `hints[hint_offsets[k]:hint_offsets[k + 1]]` are the rules of a derivation of `order[k]` without itself, found
    earlier: good for as long as they are alive (paper: "we check if we can just remove r_c"). After more than `most`
    items the rest is left. Returns, end to end, the rules of the derivations of those looked at, and their offsets, an
    empty span for what stays; and how many of them were given up, and the items used.
    """
    work = np.empty((256, CHILD + parser.arity), np.int32)
    offsets = np.zeros(len(order) + 1, np.int64)
    out, count = np.empty(1024, np.int32), np.int64(0)
    done, given_up, total = 0, 0, 0
    while done < len(order) and total <= most:
        r = order[done]
        derivable = True
        for p in range(hint_offsets[done], hint_offsets[done + 1]):
            derivable &= parser.alive[hints[p]]
        if derivable:
            out = reserve(out, count + hint_offsets[done + 1] - hint_offsets[done])
            copy_to(out[count:], hints[hint_offsets[done] : hint_offsets[done + 1]])
            count += hint_offsets[done + 1] - hint_offsets[done]
        else:
            goal, work, used = derive(parser, rule_query(parser.rules, r, r), budget, work)
            derivable = goal >= 0
            given_up += spent(budget, used)
            total += used
            if derivable:
                out, count = _collect(parser.rules, work, goal, out, count)
        if derivable:
            parser.alive[r] = False
        done += 1
        offsets[done] = count
    return out[:count].copy(), offsets[: done + 1].copy(), given_up, total
