"""How often the sides of a rule occur in the examples: the counts behind p̂ (paper, Eq. "grammar_objective2").

A side occurs in a sequence when, for some filling of its nonterminals, it is a stretch of it. Its terminal fragments
are found from left to right, each at the first place that leaves every nonterminal between them at least one token;
taking the first place is exact. Only the examples on the posting list of the rarest terminal are looked at.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def occurs(values, a, b, text, start, stop):
    """Whether the side `values[a:b]` occurs in `text[start:stop]`."""
    p = a
    at = start
    first = True
    while True:
        gap = 0
        while p < b and values[p] < 0:
            gap += 1
            p += 1
        if p == b:
            return at + gap <= stop
        f = p
        while p < b and values[p] > 0:
            p += 1
        length = p - f
        q = at + gap
        if first or gap > 0:
            last = stop - length
            head = values[f]
            while q <= last:
                if text[q] == head:
                    t = 1
                    while t < length and text[q + t] == values[f + t]:
                        t += 1
                    if t == length:
                        break
                q += 1
            if q > last:
                return False
        first = False
        at = q + length


@njit(cache=True, nogil=True)
def postings(values, offsets, symbols):
    """For each symbol below `symbols`, the sequences it occurs in: lists laid end to end, and their offsets."""
    last = np.full(symbols, -1, np.int64)
    sizes = np.zeros(symbols + 1, np.int64)
    for e in range(len(offsets) - 1):
        for p in range(offsets[e], offsets[e + 1]):
            if last[values[p]] != e:
                last[values[p]] = e
                sizes[values[p] + 1] += 1
    starts = np.cumsum(sizes)
    lists = np.empty(starts[-1], np.int32)
    fill = starts.copy()
    last[:] = -1
    for e in range(len(offsets) - 1):
        for p in range(offsets[e], offsets[e + 1]):
            s = values[p]
            if last[s] != e:
                last[s] = e
                lists[fill[s]] = e
                fill[s] += 1
    return lists, starts


@njit(cache=True, nogil=True)
def rarest(values, a, b, starts):
    """Return the terminal of a side with the shortest posting list, or 0 if it has no terminal."""
    best = 0
    size = np.int64(1) << 62
    for p in range(a, b):
        s = values[p]
        if s > 0 and starts[s + 1] - starts[s] < size:
            size = starts[s + 1] - starts[s]
            best = s
    return best


@njit(cache=True, nogil=True)
def _candidates(symbol, lists, starts, every):
    return lists[starts[symbol] : starts[symbol + 1]] if symbol > 0 else every


@njit(cache=True, nogil=True)
def count_side(values, a, b, texts, offsets, lists, starts, every):
    """Count the sequences in which one side occurs."""
    found = 0
    for e in _candidates(rarest(values, a, b, starts), lists, starts, every):
        if occurs(values, a, b, texts, offsets[e], offsets[e + 1]):
            found += 1
    return found


@njit(cache=True, nogil=True)
def count_both(values, a, m, b, x, x_offsets, x_lists, x_starts, y, y_offsets, y_lists, y_starts, every):
    """Count the examples in which the source occurs in x and the target in y."""
    sources = _candidates(rarest(values, a, m, x_starts), x_lists, x_starts, every)
    targets = _candidates(rarest(values, m, b, y_starts), y_lists, y_starts, every)
    found = 0
    for e in sources if len(sources) <= len(targets) else targets:
        if occurs(values, a, m, x, x_offsets[e], x_offsets[e + 1]) and occurs(
            values, m, b, y, y_offsets[e], y_offsets[e + 1]
        ):
            found += 1
    return found


@njit(cache=True, nogil=True)
def count_sides(values, begin, middle, sides, texts, offsets, lists, starts, every):
    """Count, for each side of a store of sides, the sequences in which it occurs."""
    counts = np.empty(len(sides), np.int64)
    for k in range(len(sides)):
        s = sides[k]
        counts[k] = count_side(values, begin[s], begin[s + 1], texts, offsets, lists, starts, every)
    return counts


@njit(cache=True, nogil=True)
def count_pairs(
    values, begin, middle, rules, x, x_offsets, x_lists, x_starts, y, y_offsets, y_lists, y_starts, every
):
    """Count, for each rule, the examples in which both its sides occur."""
    counts = np.empty(len(rules), np.int64)
    for k in range(len(rules)):
        r = rules[k]
        counts[k] = count_both(
            values, begin[r], middle[r], begin[r + 1],
            x, x_offsets, x_lists, x_starts, y, y_offsets, y_lists, y_starts, every,
        )  # fmt: skip
    return counts
