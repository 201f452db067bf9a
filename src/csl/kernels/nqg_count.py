"""How many derivations an input has, and how many of them give its output: what NQG's outputs cost.

A chart as in `csl.kernels.derive`, with numbers: of the derivations of each span, to anything, and of those to each
stretch of y. Rules with a lone nonterminal as source are not applied; NQG's grammars have none.
"""

import numpy as np
from numba import njit

from csl.kernels.derive import CHILD, LENGTH, NEXT, START, add_item, edge, first_place, walk
from csl.kernels.room import with_room


@njit(cache=True, nogil=True)
def _add_count(items, counts, size, cell, cells, place, length, count):
    """Add to the number of derivations of a stretch in a cell."""
    item = cells[cell]
    while item >= 0:
        if items[item, START] == place and items[item, LENGTH] == length:
            counts[item] += count
            return items, counts, size
        item = items[item, NEXT]
    counts = with_room(counts, size, 1)
    counts[size] = count
    items, size = add_item(items, size, cell, cells, place, length, 0, 0, items[0, CHILD:], 0)
    return items, counts, size


@njit(cache=True, nogil=True)
def _apply(values, begin, middle, rule, y, spans, cell, cells, items, counts, size, chosen):
    """Apply a rule to every choice of stretches of the cells `spans`."""
    for t in range(len(spans)):
        chosen[t] = cells[spans[t]]
        if chosen[t] < 0:
            return items, counts, size
    while True:
        place, length = first_place(values, middle[rule], begin[rule + 1], y, items, chosen)
        if place >= 0:
            count = 1.0
            for t in range(len(spans)):
                count *= counts[chosen[t]]
            items, counts, size = _add_count(items, counts, size, cell, cells, place, length, count)
        t = len(spans) - 1
        while t >= 0:
            chosen[t] = items[chosen[t], NEXT]
            if chosen[t] >= 0:
                break
            chosen[t] = cells[spans[t]]
            t -= 1
        if t < 0:
            return items, counts, size


@njit(cache=True, nogil=True)
def _count(values, begin, middle, alive, trie, arity, x, y, items, counts):
    """Return the numbers of derivations of x and of ⟨x, y⟩, and the arrays that the next call can use again."""
    n, size = len(x), 0
    of_input = np.zeros((n + 1) * (n + 1))
    some = np.full((n + 1) * (n + 1), -1, np.int32)  # ≥ 0: the span has derivations, to anything
    cells = np.full((n + 1) * (n + 1), -1, np.int32)
    stack, done = np.empty((64, 3 + arity), np.int32), np.empty((64, 3 + arity), np.int32)
    bucket, chosen = np.empty(n + 1, np.int32), np.empty(arity, np.int32)
    lone = edge(trie, 0, 0)
    for i in range(n - 1, -1, -1):
        bucket[:] = -1
        finished, depth = 0, 0
        below = edge(trie, 0, x[i]) if x[i] > 0 else -1
        if below >= 0:
            stack[0, 0], stack[0, 1], stack[0, 2] = below, i + 1, 0
            depth = 1
        for j in range(i + 1, n + 1):
            cell = i * (n + 1) + j
            if depth > 0:
                stack, done, finished = walk(trie, arity, x, some, lone, stack, depth, done, finished, bucket)
                depth = 0
            match = bucket[j]
            while match >= 0:
                spans = done[match, 3 : 3 + done[match, 2]]
                product = 1.0
                for span in spans:
                    product *= of_input[span]
                rule = trie.head[done[match, 0]]
                while rule >= 0:
                    if alive[rule]:
                        of_input[cell] += product
                        items, counts, size = _apply(
                            values, begin, middle, rule, y, spans, cell, cells, items, counts, size, chosen
                        )
                    rule = trie.following[rule]
                match = done[match, 1]
            if of_input[cell] > 0:
                some[cell] = 0
                if lone >= 0:
                    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = lone, j, 1, cell
                    depth = 1
    goal = cells[n]
    while goal >= 0 and items[goal, LENGTH] != len(y):
        goal = items[goal, NEXT]
    return of_input[n], counts[goal] if goal >= 0 else 0.0, items, counts


@njit(cache=True, nogil=True)
def count_derivations(values, begin, middle, alive, trie, arity, examples):
    """Return for each of `examples`, rules ⟨x, y⟩ themselves, the numbers of derivations of x and of ⟨x, y⟩.

    Derivations are those with the rules of the trie that are alive; `arity` is the largest arity of these, at least 1.
    """
    out = np.zeros((len(examples), 2))
    items, counts = np.empty((256, CHILD + arity), np.int32), np.empty(256)
    for k in range(len(examples)):
        e = examples[k]
        x, y = values[begin[e] : middle[e]], values[middle[e] : begin[e + 1]]
        out[k, 0], out[k, 1], items, counts = _count(values, begin, middle, alive, trie, arity, x, y, items, counts)
    return out
