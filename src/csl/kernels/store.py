"""Interning: every distinct rule gets one id.

Rule r is `values[begin[r]:begin[r + 1]]`, source then target; its source ends at `middle[r]`.
"""

import numpy as np
from numba import njit

from csl.kernels.hashing import erased_hash, find_slot, sequence_hash
from csl.kernels.room import with_room


@njit(cache=True, nogil=True)
def rule_hash(values, begin, middle, stop):
    """Hash a rule as it stands, source and target told apart."""
    return sequence_hash(values, begin, middle) * np.uint64(0xD1342543DE82EF95) + sequence_hash(values, middle, stop)


@njit(cache=True, nogil=True)
def intern(values, begin, middle, following, count, keys, first, new_values, new_begin, new_middle):
    """Give each new rule its id: that of the equal rule in the store, or the next free one.

    Returns the ids, the number of rules now, and the store's arrays, which may have been replaced by longer ones.
    """
    ids = np.empty(len(new_middle), np.int32)
    for k in range(len(new_middle)):
        b, m, e = new_begin[k], new_middle[k], new_begin[k + 1]
        h = rule_hash(new_values, b, m, e)
        if 2 * count >= len(keys):
            old_keys, old_first = keys, first
            keys = np.zeros(2 * len(old_keys), np.uint64)
            first = np.full(2 * len(old_keys), -1, np.int32)
            for s in range(len(old_keys)):
                if old_first[s] >= 0:
                    slot = find_slot(keys, first, old_keys[s])
                    keys[slot] = old_keys[s]
                    first[slot] = old_first[s]
        slot = find_slot(keys, first, h)
        r = first[slot]
        while r >= 0:
            same = begin[r + 1] - begin[r] == e - b and middle[r] - begin[r] == m - b
            t = 0
            while same and t < e - b:
                same = values[begin[r] + t] == new_values[b + t]
                t += 1
            if same:
                break
            r = following[r]
        if r < 0:
            r = count
            count += 1
            at = begin[r]
            values = with_room(values, at, e - b)
            begin, middle, following = with_room(begin, count, 1), with_room(middle, r, 1), with_room(following, r, 1)
            values[at : at + e - b] = new_values[b:e]
            middle[r] = at + m - b
            begin[count] = at + e - b
            following[r] = first[slot]
            keys[slot] = h
            first[slot] = r
        ids[k] = r
    return ids, count, values, begin, middle, following, keys, first


@njit(cache=True, nogil=True)
def sides(values, begin, middle, rules, side):
    """Copy one side (0: source, 1: target) of each rule, end to end; return it and the offsets."""
    offsets = np.zeros(len(rules) + 1, np.int64)
    for k in range(len(rules)):
        r = rules[k]
        offsets[k + 1] = offsets[k] + (middle[r] - begin[r] if side == 0 else begin[r + 1] - middle[r])
    out = np.empty(offsets[-1], np.int32)
    for k in range(len(rules)):
        start = begin[rules[k]] if side == 0 else middle[rules[k]]
        out[offsets[k] : offsets[k + 1]] = values[start : start + offsets[k + 1] - offsets[k]]
    return out, offsets


@njit(cache=True, nogil=True)
def weights(values, begin, start, stop, terminal, nonterminal):
    """Return |α| + |β| of the rules from `start` to `stop`, with these costs a symbol."""
    out = np.zeros(stop - start, np.int64)
    for r in range(start, stop):
        for p in range(begin[r], begin[r + 1]):
            out[r - start] += terminal if values[p] > 0 else nonterminal
    return out


@njit(cache=True, nogil=True)
def source_hashes(values, begin, middle, start):
    """Return the erased hashes of the sources of the rules from `start` on."""
    out = np.empty(len(middle) - start, np.uint64)
    for r in range(start, len(middle)):
        out[r - start] = erased_hash(values, begin[r], middle[r])
    return out


@njit(cache=True, nogil=True)
def rule_hashes(values, begin, middle, rules):
    """Return the hashes of whole rules: an order of rules that does not depend on their ids."""
    out = np.empty(len(rules), np.uint64)
    for k in range(len(rules)):
        r = rules[k]
        out[k] = rule_hash(values, begin[r], middle[r], begin[r + 1])
    return out


@njit(cache=True, nogil=True)
def max_arity(values, begin, middle, rules):
    """Return the largest number of nonterminals in a source."""
    most = 0
    for k in range(len(rules)):
        n = 0
        for p in range(begin[rules[k]], middle[rules[k]]):
            n += values[p] < 0
        most = max(most, n)
    return most


@njit(cache=True, nogil=True)
def take(values, offsets, rows):
    """Take rows of a ragged array."""
    out_offsets = np.zeros(len(rows) + 1, np.int64)
    for k in range(len(rows)):
        out_offsets[k + 1] = out_offsets[k] + offsets[rows[k] + 1] - offsets[rows[k]]
    out = np.empty(out_offsets[-1], values.dtype)
    for k in range(len(rows)):
        out[out_offsets[k] : out_offsets[k + 1]] = values[offsets[rows[k]] : offsets[rows[k] + 1]]
    return out, out_offsets
