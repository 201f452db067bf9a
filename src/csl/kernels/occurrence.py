"""How often the sides of a rule occur in the examples: the counts behind p̂ (paper, Eq. "grammar_objective2").

A side occurs in a sequence when, for some filling of its nonterminals, it is a span of it. Its terminal fragments
are found from left to right, each at the first place that leaves every nonterminal between them at least one token;
taking the first place is exact. Only the examples on the shortest posting list are looked at: of a terminal, or of two
terminals in a row; and of these only those whose marks, a bit a term, say that the other terms may be there, too.

Examples are rules of the store without nonterminals; example e is the rule `examples[e]` and counts `weights[e]` times.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.flat import SOURCE, bounds
from csl.kernels.hashing import BASE, find_slot
from csl.kernels.kernel import kernel

WORDS = 4  # of 64 marks each: 256, which terms share


class Postings(NamedTuple):
    """The examples that hold a term on one side: `lists[starts[t]:starts[t + 1]]`; the list of all; the marks of each.

    A term is a symbol, or two symbols in a row; these are numbered after the symbols, through a hash table.
    """

    lists: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    every: npt.NDArray[np.int32]
    marks: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.uint64]
    terms: npt.NDArray[np.int32]


class Evidence(NamedTuple):
    """Examples, how often each counts, and where the symbols of each side occur in them."""

    examples: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int64]
    sources: Postings
    targets: Postings


@kernel
def _key(first, second):
    return (np.uint64(first) << np.uint64(32)) | np.uint64(second)


@kernel
def _mark(marks, term):
    """Set the mark of a term."""
    bit = (np.uint64(term) * BASE) >> np.uint64(56)
    marks[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


@kernel
def _lacks(marks, wanted):
    """Tell whether an example surely lacks a term that is wanted."""
    lacking = np.uint64(0)
    for w in range(WORDS):
        lacking |= wanted[w] & ~marks[w]
    return lacking != 0


@kernel
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


@kernel
def _number_pairs(rules, examples, side, symbols):
    """Give numbers from `symbols` on to pairs of symbols in a row; return a hash table and one more than the last."""
    values, length = rules.values, 0
    for e in range(len(examples)):
        start, stop = bounds(rules, examples[e], side)
        length += stop - start
    capacity = 16
    while capacity < 2 * min(length, symbols * symbols):
        capacity *= 2
    keys, terms = np.zeros(capacity, np.uint64), np.full(capacity, -1, np.int32)
    number = symbols
    for e in range(len(examples)):
        start, stop = bounds(rules, examples[e], side)
        for p in range(start + 1, stop):
            key = _key(values[p - 1], values[p])
            slot = find_slot(keys, terms, key)
            if terms[slot] < 0:
                keys[slot], terms[slot] = key, number
                number += 1
    return keys, terms, number


@kernel
def postings(rules, examples, side, symbols):
    """Build the posting lists of one side of the examples, whose symbols are 1 … symbols − 1."""
    values = rules.values
    keys, terms, number = _number_pairs(rules, examples, side, symbols)
    sizes = np.zeros(number + 1, np.int64)
    lists, fill = np.empty(0, np.int32), np.zeros(0, np.int64)
    marks = np.zeros((len(examples), WORDS), np.uint64)
    for counting in (True, False):  # first how long the lists are, then the lists
        last = np.full(number, -1, np.int64)
        if not counting:
            fill = np.cumsum(sizes)
            lists = np.empty(fill[-1], np.int32)
        for e in range(len(examples)):
            start, stop = bounds(rules, examples[e], side)
            for p in range(start, stop):
                for pair in (False, True):
                    if pair and p == start:
                        continue
                    t = terms[find_slot(keys, terms, _key(values[p - 1], values[p]))] if pair else values[p]
                    if last[t] == e:
                        continue
                    last[t] = e
                    if counting:
                        sizes[t + 1] += 1
                        _mark(marks[e], t)
                    else:
                        lists[fill[t]] = e
                        fill[t] += 1
    every = np.empty(len(examples), np.int32)
    for e in range(len(examples)):
        every[e] = e
    return Postings(lists, np.cumsum(sizes), every, marks, keys, terms)


@kernel
def _fewest(values, a, b, posts, wanted):
    """Return the shortest posting list of a term of the side `values[a:b]`; all examples if it has no terminal.

    The marks of all its terms go to `wanted`.
    """
    best = posts.every
    for w in range(WORDS):
        wanted[w] = np.uint64(0)
    for p in range(a, b):
        if values[p] < 0:
            continue
        t = np.int64(values[p])
        _mark(wanted, t)
        if p > a and values[p - 1] > 0:
            t = posts.terms[find_slot(posts.keys, posts.terms, _key(values[p - 1], values[p]))]
            if t < 0:
                return posts.every[:0]  # no example has the two in a row
            _mark(wanted, t)
        if posts.starts[t + 1] - posts.starts[t] < len(best):
            best = posts.lists[posts.starts[t] : posts.starts[t + 1]]
    return best


@kernel
def count_sides(rules, ids, side, data):
    """Count, for each rule, the examples in which its source or target occurs."""
    (values, begin, middle), examples, weights = rules, data.examples, data.weights
    counts, posts = np.zeros(len(ids), np.int64), data.sources if side == SOURCE else data.targets
    wanted = np.zeros(WORDS, np.uint64)
    for k in range(len(ids)):
        a, b = bounds(rules, ids[k], side)
        for e in _fewest(values, a, b, posts, wanted):
            if _lacks(posts.marks[e], wanted):
                continue
            x = examples[e]
            start, stop = (begin[x], middle[x]) if side == SOURCE else (middle[x], begin[x + 1])
            if occurs(values, a, b, start, stop):
                counts[k] += weights[e]
    return counts


@kernel
def count_pairs(rules, ids, data):
    """Count, for each rule, the examples in which both its sides occur."""
    (values, begin, middle), examples, weights = rules, data.examples, data.weights
    counts, (sources, targets) = np.zeros(len(ids), np.int64), data[2:]
    in_source, in_target = np.zeros(WORDS, np.uint64), np.zeros(WORDS, np.uint64)
    for k in range(len(ids)):
        a, m, b = begin[ids[k]], middle[ids[k]], begin[ids[k] + 1]
        some = _fewest(values, a, m, sources, in_source)
        others = _fewest(values, m, b, targets, in_target)
        for e in some if len(some) <= len(others) else others:
            if _lacks(sources.marks[e], in_source) or _lacks(targets.marks[e], in_target):
                continue
            x = examples[e]
            if occurs(values, a, m, begin[x], middle[x]) and occurs(values, m, b, middle[x], begin[x + 1]):
                counts[k] += weights[e]
    return counts
