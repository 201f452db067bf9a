"""How often the sides of a rule occur in the examples: the counts behind p̂ (paper, Eq. "grammar_objective2").

A side occurs in a sequence when, for some filling of its nonterminals, it is a stretch of it. Its terminal fragments
are found from left to right, each at the first place that leaves every nonterminal between them at least one token;
taking the first place is exact. Only the examples on the posting list of the rarest terminal are looked at.

Examples are rules of the store without nonterminals; example e is the rule `examples[e]` and counts `weights[e]` times.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class Postings(NamedTuple):
    """The examples that hold a symbol on one side: `lists[starts[s]:starts[s + 1]]`; and the list of all examples."""

    lists: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    every: npt.NDArray[np.int32]


@njit(cache=True, nogil=True)
def occurs(values, a, b, start, stop):
    """Whether the side `values[a:b]` occurs in the text `values[start:stop]`."""
    p = a
    at = start
    if b - a > stop - start:
        return False
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
        at += gap
        while at + length <= stop:
            t = 0
            while t < length and values[at + t] == values[f + t]:
                t += 1
            if t == length:
                break
            at += 1
        if at + length > stop:
            return False
        at += length


@njit(cache=True, nogil=True)
def _bounds(begin, middle, rule, side):
    """Where a side (0: source, 1: target) of a rule starts and stops."""
    return (begin[rule], middle[rule]) if side == 0 else (middle[rule], begin[rule + 1])


@njit(cache=True, nogil=True)
def postings(values, begin, middle, examples, side, symbols):
    """Build the posting lists of one side of the examples for the symbols 1 … symbols − 1."""
    last = np.full(symbols, -1, np.int64)
    sizes = np.zeros(symbols + 1, np.int64)
    for e in range(len(examples)):
        start, stop = _bounds(begin, middle, examples[e], side)
        for p in range(start, stop):
            if last[values[p]] != e:
                last[values[p]] = e
                sizes[values[p] + 1] += 1
    starts = np.cumsum(sizes)
    lists = np.empty(starts[-1], np.int32)
    fill = starts.copy()
    last[:] = -1
    for e in range(len(examples)):
        start, stop = _bounds(begin, middle, examples[e], side)
        for p in range(start, stop):
            s = values[p]
            if last[s] != e:
                last[s] = e
                lists[fill[s]] = e
                fill[s] += 1
    return Postings(lists, starts, np.arange(len(examples)).astype(np.int32))


@njit(cache=True, nogil=True)
def _fewest(values, a, b, posts):
    """Return the shortest posting list of a terminal of the side `values[a:b]`; all examples if it has none."""
    best = posts.every
    for p in range(a, b):
        s = values[p]
        if s > 0 and posts.starts[s + 1] - posts.starts[s] < len(best):
            best = posts.lists[posts.starts[s] : posts.starts[s + 1]]
    return best


@njit(cache=True, nogil=True)
def count_sides(values, begin, middle, rules, side, examples, weights, posts):
    """Count, for each rule, the examples in which its source (side 0) or target (side 1) occurs."""
    counts = np.zeros(len(rules), np.int64)
    for k in range(len(rules)):
        a, b = _bounds(begin, middle, rules[k], side)
        for e in _fewest(values, a, b, posts):
            start, stop = _bounds(begin, middle, examples[e], side)
            if occurs(values, a, b, start, stop):
                counts[k] += weights[e]
    return counts


@njit(cache=True, nogil=True)
def count_pairs(values, begin, middle, rules, examples, weights, sources, targets):
    """Count, for each rule, the examples in which both its sides occur."""
    counts = np.zeros(len(rules), np.int64)
    for k in range(len(rules)):
        a, m, b = begin[rules[k]], middle[rules[k]], begin[rules[k] + 1]
        some = _fewest(values, a, m, sources)
        others = _fewest(values, m, b, targets)
        for e in some if len(some) <= len(others) else others:
            x = examples[e]
            if occurs(values, a, m, begin[x], middle[x]) and occurs(values, m, b, middle[x], begin[x + 1]):
                counts[k] += weights[e]
    return counts
