"""UNIFY as two hash joins (paper, Figure "grammar_induction": r_a ∘ r_b ⇒ r_c).

For a rule r_c and every span [i, j) of its source, two look-ups in a table of rules by erased source:

(inside) a rule g whose source is the span; r_add is r_c with the span, and every occurrence of g's target,
         replaced by a fresh nonterminal: r_add ∘ g ⇒ r_c;
(above)  a rule g whose source is r_c's with the span replaced by a nonterminal; r_add fills that hole:
         g ∘ r_add ⇒ r_c.

In both cases the target side is then determined. A rule of n source symbols costs O(n²) look-ups, whatever the size
of the grammar.

Rules are stored end to end: rule r is `values[begin[r]:begin[r + 1]]`, its source ends at `middle[r]`.
"""

import numpy as np
from numba import njit

from csl.kernels.hashing import BASE, find_slot, mix


@njit(cache=True, nogil=True)
def _same_erased(values, a, b, length):
    """Whether two stretches are equal when nonterminal indices are erased."""
    for t in range(length):
        u, v = values[a + t], values[b + t]
        if u != v and (u > 0 or v > 0):
            return False
    return True


@njit(cache=True, nogil=True)
def _occurs_elsewhere(values, begin, stop, i, j):
    """Whether the stretch [i, j) occurs at another place of [begin, stop)."""
    length = j - i
    for p in range(begin, stop - length + 1):
        if p != i:
            t = 0
            while t < length and values[p + t] == values[i + t]:
                t += 1
            if t == length:
                return True
    return False


@njit(cache=True, nogil=True)
def _inside(values, begin, middle, r, i, j, g, out):
    """Write r_add for g inside r_c = r at [i, j) to `out`; return its (source length, length), or (0, 0)."""
    # g's nonterminals, in order, are those of the span
    c0, c1, c2 = begin[r], middle[r], begin[r + 1]
    names = np.zeros(j - i + 1, np.int32)
    k = 0
    for p in range(i, j):
        if values[p] < 0:
            k += 1
            names[k] = values[p]
    fresh = np.int32(-(c1 - c0) - 1)  # below any index of r_c
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
    length = g2 - g1
    p = c1
    found = 0
    last = -length
    while p < c2:
        t = 0
        if p + length <= c2:
            while t < length:
                s = values[g1 + t]
                if (names[-s] if s < 0 else s) != values[p + t]:
                    break
                t += 1
        if t == length:
            out[n] = fresh
            n += 1
            found += 1
            last = p
            p += length
        else:
            out[n] = values[p]
            n += 1
            p += 1
            # an occurrence that begins inside the last one is an overlap: not a candidate
    if found == 0 or _overlapping(values, c1, c2, g1, length, names):
        return 0, 0
    for q in range(source_length, n):  # the span's nonterminals must have gone with it
        if out[q] < 0 and out[q] != fresh:
            for t in range(1, k + 1):
                if names[t] == out[q]:
                    return 0, 0
    return source_length, n


@njit(cache=True, nogil=True)
def _overlapping(values, c1, c2, g1, length, names):
    """Whether two occurrences of g's target in r_c's overlap."""
    last = -length
    for p in range(c1, c2 - length + 1):
        t = 0
        while t < length:
            s = values[g1 + t]
            if (names[-s] if s < 0 else s) != values[p + t]:
                break
            t += 1
        if t == length:
            if p < last + length:
                return True
            last = p
    return False


@njit(cache=True, nogil=True)
def _above(values, begin, middle, r, i, j, g, out):
    """Write r_add for g above r_c = r with a hole at [i, j) to `out`; return its lengths, or (0, 0)."""
    c0, c1, c2 = begin[r], middle[r], begin[r + 1]
    g0, g1, g2 = begin[g], middle[g], begin[g + 1]
    hole = values[g0 + (i - c0)]
    names = np.zeros(g1 - g0 + 1, np.int32)  # r_c's name for each of g's nonterminals
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
    filling = -1
    for p in range(g1, g2):
        s = values[p]
        if s == hole:
            if filling < 0:
                filling = q
            else:
                for t in range(length):
                    if values[filling + t] != values[q + t]:
                        return 0, 0
            q += length
        else:
            if (names[-s] if s < 0 else s) != values[q]:
                return 0, 0
            q += 1
    n = 0
    for p in range(i, j):
        out[n] = values[p]
        n += 1
    for t in range(length):
        s = values[filling + t]
        if s < 0:
            p = i
            while p < j and values[p] != s:
                p += 1
            if p == j:
                return 0, 0
        out[n] = s
        n += 1
    return j - i, n


@njit(cache=True, nogil=True)
def _renumber(out, source_length, n):
    """Number the nonterminals 1, 2, … from left to right; return the arity and the most one is repeated."""
    old = np.zeros(source_length, np.int32)
    arity = 0
    for p in range(source_length):
        if out[p] < 0:
            old[arity] = out[p]
            arity += 1
            out[p] = -arity
    uses = np.zeros(arity + 1, np.int32)
    most = 0
    for p in range(source_length, n):
        if out[p] < 0:
            k = 0
            while old[k] != out[p]:
                k += 1
            out[p] = -(k + 1)
            uses[k] += 1
            most = max(most, uses[k])
    return arity, most


@njit(cache=True, nogil=True)
def _appended(array, size, extra):
    """Return an array with room for `extra` more than `size`, the old one if it has it."""
    if size + extra <= len(array):
        return array
    grown = np.empty(max(2 * len(array), size + extra), array.dtype)
    grown[:size] = array[:size]
    return grown


@njit(cache=True, nogil=True)
def unify(values, begin, middle, keys, first, following, rules, max_arity, repeats, lone_target):
    """Find every (r_c, g, r_add) for r_c in `rules` and g in the table.

    Returns the ids r_c and g of each triple and the candidates r_add laid end to end (values, begin, middle), one a
    triple. `max_arity`, `repeats` (target nonterminals may repeat) and `lone_target` (a target may be a lone
    nonterminal) say which candidates are allowed; a lone nonterminal as source never is.
    """
    found_r = np.empty(1024, np.int32)
    found_g = np.empty(1024, np.int32)
    out_begin = np.zeros(1025, np.int64)
    out_middle = np.empty(1024, np.int64)
    out_values = np.empty(16384, np.int32)
    count = 0
    power = np.ones(2, np.uint64)
    nonterminal = mix(np.int64(0))
    for index in range(len(rules)):
        r = rules[index]
        c0, c1, c2 = begin[r], middle[r], begin[r + 1]
        n = c1 - c0
        if len(power) < n + 2:
            power = np.ones(n + 2, np.uint64)
            for t in range(1, n + 2):
                power[t] = power[t - 1] * BASE
        prefix = np.zeros(n + 1, np.uint64)
        for t in range(n):
            prefix[t + 1] = prefix[t] * BASE + mix(max(np.int64(values[c0 + t]), np.int64(0)))
        for i in range(n):
            for j in range(i + 1, n + 1):
                for above in range(2):
                    if above == 1:
                        rest = prefix[n] - prefix[j] * power[n - j]
                        h = (prefix[i] * BASE + nonterminal) * power[n - j] + rest
                    elif i == 0 and j == n:
                        continue  # r_add's source would be a lone nonterminal
                    else:
                        h = prefix[j] - prefix[i] * power[j - i]
                    if above == 1 and j == i + 1 and values[c0 + i] < 0:
                        continue  # likewise
                    g = first[find_slot(keys, first, h)]
                    twice = -1  # whether the span occurs twice; found out when first needed
                    while g >= 0:
                        if g != r:
                            out_begin = _appended(out_begin, count + 1, 1)
                            at = out_begin[count]
                            out_values = _appended(out_values, at, (c2 - c0) + 2)
                            out = out_values[at:]
                            if twice < 0:
                                twice = np.int64(_occurs_elsewhere(values, c0, c1, c0 + i, c0 + j))
                            if twice == 1:
                                break
                            if above == 1:
                                matches = (
                                    middle[g] - begin[g] == n - (j - i) + 1
                                    and values[begin[g] + i] < 0
                                    and _same_erased(values, begin[g], c0, i)
                                    and _same_erased(values, begin[g] + i + 1, c0 + j, n - j)
                                )
                                if matches:
                                    a, b = _above(values, begin, middle, r, c0 + i, c0 + j, g, out)
                                else:
                                    a, b = 0, 0
                            else:
                                matches = middle[g] - begin[g] == j - i and _same_erased(values, begin[g], c0 + i, j - i)
                                if matches:
                                    a, b = _inside(values, begin, middle, r, c0 + i, c0 + j, g, out)
                                else:
                                    a, b = 0, 0
                            if b > 0:
                                arity, most = _renumber(out, a, b)
                                allowed = (
                                    arity <= max_arity
                                    and (repeats or most <= 1)
                                    and (lone_target or b - a > 1 or out[a] > 0)
                                )
                                if allowed:
                                    found_r = _appended(found_r, count, 1)
                                    found_g = _appended(found_g, count, 1)
                                    out_middle = _appended(out_middle, count, 1)
                                    found_r[count] = r
                                    found_g[count] = g
                                    out_middle[count] = at + a
                                    count += 1
                                    out_begin[count] = at + b
                        g = following[g]
    return (
        found_r[:count].copy(),
        found_g[:count].copy(),
        out_values[: out_begin[count]].copy(),
        out_begin[: count + 1].copy(),
        out_middle[:count].copy(),
    )
