"""UNIFY as two hash joins (paper, Figure "grammar_induction": r_a ∘ r_b ⇒ r_c).

For a rule r_c and every span [i, j) of its source, two look-ups in a table of rules by erased source:

(inside) a rule g whose source is the span; r_add is r_c with the span, and every occurrence of g's target,
         replaced by a fresh nonterminal: r_add ∘ g ⇒ r_c;
(above)  a rule g whose source is r_c's with the span replaced by a nonterminal; r_add fills that hole:
         g ∘ r_add ⇒ r_c.

In both cases the target side is then determined. A span that occurs twice in the source is skipped, since nothing
determines which occurrence the target belongs to; so is a g whose target occurrences overlap. A rule of n source
symbols costs O(n²) look-ups, whatever the size of the grammar.
"""

from typing import NamedTuple

import numpy as np

from csl.kernels.flat import Rules, copy_to, reserve
from csl.kernels.hashing import BASE, find_slot, mix
from csl.kernels.kernel import kernel


class Shape(NamedTuple):
    """Which candidates are allowed; a lone nonterminal as source never is."""

    max_arity: int
    repeats: bool  # target nonterminals may repeat
    lone_target: bool  # a target may be a lone nonterminal


class Candidates(NamedTuple):
    """Rules found, in arrays that may be longer than what is used, and what each was found for."""

    rules: Rules
    origin: np.ndarray  # a row for each rule
    size: int


@kernel
def _same_erased(values, a, b, length):
    """Whether two spans are equal when nonterminal indices are erased."""
    for t in range(length):
        u, v = values[a + t], values[b + t]
        if u != v and (u > 0 or v > 0):
            return False
    return True


@kernel
def occurs_elsewhere(values, start, stop, i, j):
    """Whether the span [i, j) occurs at another place of [start, stop)."""
    for p in range(start, stop - (j - i) + 1):
        if p != i:
            t = 0
            while t < j - i and values[p + t] == values[i + t]:
                t += 1
            if t == j - i:
                return True
    return False


@kernel
def _matches(values, a, b, names, at, stop):
    """Whether the target `values[a:b]`, its nonterminal −k renamed to names[k], stands at `at`, before `stop`."""
    if at + b - a > stop:
        return False
    for p in range(a, b):
        s = values[p]
        if (names[-s] if s < 0 else s) != values[at + p - a]:
            return False
    return True


@kernel
def _inside(rules, r, i, j, g, out):
    """Write r_add for g inside r_c = r at [i, j) to `out`; return its (source length, length), or (0, 0)."""
    values, begin, middle = rules
    c0, c1, c2 = begin[r], middle[r], begin[r + 1]
    names = np.zeros(j - i + 1, np.int32)  # g's nonterminals are, in order, those of the span
    k = 0
    for p in range(i, j):
        if values[p] < 0:
            k += 1
            names[k] = values[p]
    fresh = np.int32(c0 - c1 - 1)  # an index that r_c does not have
    n = 0
    for p in range(c0, c1):
        if p == i:
            out[n] = fresh
            n += 1
        if p < i or p >= j:
            out[n] = values[p]
            n += 1
    source_length = n
    g1, g2 = middle[g], begin[g + 1]
    free = c1  # where the last occurrence ended
    for p in range(c1, c2):
        if _matches(values, g1, g2, names, p, c2):
            if p < free:
                return 0, 0  # occurrences overlap
            out[n] = fresh
            n += 1
            free = p + g2 - g1
        elif p >= free:
            out[n] = values[p]
            n += 1
            for t in range(1, k + 1):
                if names[t] == values[p]:
                    return 0, 0  # a nonterminal of the span stays behind
    return (source_length, n) if free > c1 else (0, 0)


@kernel
def _above(rules, r, i, j, g, out):
    """Write r_add for g above r_c = r with a hole at [i, j) to `out`; return its lengths, or (0, 0)."""
    values, begin, middle = rules
    c0, c1, c2 = begin[r], middle[r], begin[r + 1]
    g0, g1, g2 = begin[g], middle[g], begin[g + 1]
    hole = values[g0 + (i - c0)]
    names = np.zeros(g1 - g0 + 1, np.int32)  # r_c's names for g's other nonterminals
    for p in range(g0, g1):
        if values[p] < 0 and values[p] != hole:
            q = c0 + (p - g0) if p - g0 < i - c0 else j + (p - g0) - (i - c0) - 1
            names[-values[p]] = values[q]
    holes = 0
    for p in range(g1, g2):
        if values[p] == hole:
            holes += 1
    room = (c2 - c1) - ((g2 - g1) - holes)
    if room < holes or room % holes != 0:
        return 0, 0
    length = room // holes
    q = c1
    filling = -1  # where the hole's content stands for the first time
    for p in range(g1, g2):
        s = values[p]
        if s != hole:
            if (names[-s] if s < 0 else s) != values[q]:
                return 0, 0
            q += 1
            continue
        if filling < 0:
            filling = q
        for t in range(length):
            if values[filling + t] != values[q + t]:
                return 0, 0
        q += length
    copy_to(out, values[i:j])
    copy_to(out[j - i :], values[filling : filling + length])
    for t in range(length):  # its nonterminals must be those of the span
        if values[filling + t] < 0:
            p = i
            while p < j and values[p] != values[filling + t]:
                p += 1
            if p == j:
                return 0, 0
    return j - i, j - i + length


@kernel
def _add_rule(rules, r, i, j, g, above, out):
    """Write the r_add of r_c = r, its span [i, j) and g to `out`; return its lengths, or (0, 0) if there is none."""
    values, begin, middle = rules
    c0, n = begin[r], middle[r] - begin[r]
    if not above:
        if middle[g] - begin[g] == j - i and _same_erased(values, begin[g], i, j - i):
            return _inside(rules, r, i, j, g, out)
        return 0, 0
    before = i - c0
    if (
        middle[g] - begin[g] == n - (j - i) + 1
        and values[begin[g] + before] < 0
        and _same_erased(values, begin[g], c0, before)
        and _same_erased(values, begin[g] + before + 1, j, middle[r] - j)
    ):
        return _above(rules, r, i, j, g, out)
    return 0, 0


@kernel
def _renumber(out, source_length, length):
    """Renumber the nonterminals from left to right; return the arity and how often the most frequent occurs."""
    old = np.zeros(source_length, np.int32)
    uses = np.zeros(source_length, np.int32)
    arity, most = 0, 0
    for p in range(length):
        if out[p] >= 0:
            continue
        k = 0
        while k < arity and old[k] != out[p]:
            k += 1
        if k == arity:
            old[k] = out[p]
            arity += 1
        out[p] = -(k + 1)
        if p >= source_length:
            uses[k] += 1
            most = max(most, uses[k])
    return arity, most


@kernel
def no_candidates():
    """Start a list of candidates."""
    rules = Rules(np.empty(16384, np.int32), np.zeros(1025, np.int64), np.empty(1024, np.int64))
    return Candidates(rules, np.empty((1024, 2), np.int32), 0)


@kernel
def room_for(candidates, length):
    """Return the candidates with room for one of this length, and where that is to be written."""
    (values, begin, middle), origin, count = candidates
    values = reserve(values, begin[count] + length)
    return Candidates(Rules(values, begin, middle), origin, count), values[begin[count] :]


@kernel
def add_candidate(candidates, shape, source_length, length, r, g):
    """Add the candidate that was written, if its shape is allowed, as one for r_c = r and g."""
    (values, begin, middle), origin, count = candidates
    at = begin[count]
    out = values[at:]
    arity, most = _renumber(out, source_length, length)
    lone = length - source_length == 1 and out[source_length] < 0
    if arity > shape.max_arity or (most > 1 and not shape.repeats) or (lone and not shape.lone_target):
        return candidates
    begin, middle, origin = reserve(begin, count + 2), reserve(middle, count + 1), reserve(origin, count + 1)
    middle[count], begin[count + 1] = at + source_length, at + length
    origin[count, 0], origin[count, 1] = r, g
    return Candidates(Rules(values, begin, middle), origin, count + 1)


@kernel
def finished_candidates(candidates):
    """Copy what is used: (r_c, g) of each candidate, and the candidates as rules."""
    (values, begin, middle), origin, count = candidates
    rules = Rules(values[: begin[count]].copy(), begin[: count + 1].copy(), middle[:count].copy())
    return origin[:count].copy(), rules


@kernel
def unify(rules, table, ids, shape):
    """Find every (r_c, g, r_add) for r_c in `ids` and g in the table of rules by erased source.

    Returns the ids r_c and g of each triple in a row, and the candidates r_add, one a triple.
    """
    values, begin, middle = rules
    candidates = no_candidates()
    nonterminal = mix(np.int64(0))
    power, prefix = np.ones(1, np.uint64), np.zeros(1, np.uint64)
    for r in ids:
        c0, n = begin[r], middle[r] - begin[r]
        if len(power) <= n:
            power, prefix = np.ones(2 * n, np.uint64), np.zeros(2 * n, np.uint64)
            for t in range(1, 2 * n):
                power[t] = power[t - 1] * BASE
        for t in range(n):
            prefix[t + 1] = prefix[t] * BASE + mix(max(np.int64(values[c0 + t]), np.int64(0)))
        for i in range(n):
            for j in range(i + 1, n + 1):
                for above in (False, True):
                    if above:
                        if j == i + 1 and values[c0 + i] < 0:
                            continue  # r_add's source would be a lone nonterminal
                        rest = prefix[n] - prefix[j] * power[n - j]
                        key = (prefix[i] * BASE + nonterminal) * power[n - j] + rest
                    else:
                        if j - i == n:
                            continue  # likewise
                        key = prefix[j] - prefix[i] * power[j - i]
                    g = table.first[find_slot(table.keys, table.first, key)]
                    if g < 0 or occurs_elsewhere(values, c0, c0 + n, c0 + i, c0 + j):
                        continue
                    while g >= 0:
                        candidates, out = room_for(candidates, begin[r + 1] - c0 + 1)
                        source_length, length = 0, 0
                        if g != r:
                            source_length, length = _add_rule(rules, r, c0 + i, c0 + j, g, above, out)
                        if length > 0:
                            candidates = add_candidate(candidates, shape, source_length, length, r, g)
                        g = table.following[g]
    return finished_candidates(candidates)
