"""Interning: every distinct rule gets one id."""

from typing import NamedTuple

import numpy as np

from csl.kernels.flat import Rules, copy_to, reserve
from csl.kernels.hashing import Table, erased_hash, find_slot, sequence_hash
from csl.kernels.kernel import kernel


class Interned(NamedTuple):
    """Rules with a hash table of them. The arrays may be longer than what is used: the first `size` rules."""

    rules: Rules
    table: Table
    size: int


@kernel
def rule_hash(rules, rule):
    """Hash a rule as it stands; the hash depends on where the source ends."""
    values, begin, middle, stop = rules.values, rules.begin[rule], rules.middle[rule], rules.begin[rule + 1]
    return sequence_hash(values, begin, middle) * np.uint64(0xD1342543DE82EF95) + sequence_hash(values, middle, stop)


@kernel
def _same_rule(rules, r, others, k):
    """Tell whether rule r is the rule k of others."""
    a, b, length = rules.begin[r], others.begin[k], others.begin[k + 1] - others.begin[k]
    if rules.begin[r + 1] - a != length or rules.middle[r] - a != others.middle[k] - b:
        return False
    t = 0
    while t < length and rules.values[a + t] == others.values[b + t]:
        t += 1
    return t == length


@kernel
def _doubled(keys, first):
    """Double the slots of a hash table."""
    larger, larger_first = np.zeros(2 * len(keys), np.uint64), np.full(2 * len(keys), -1, np.int32)
    for s in range(len(keys)):
        if first[s] >= 0:
            slot = find_slot(larger, larger_first, keys[s])
            larger[slot], larger_first[slot] = keys[s], first[s]
    return larger, larger_first


@kernel
def intern(known, new):
    """Give each of the new rules its id: that of the equal rule that is known, or the next free one.

    Returns the ids and the rules known now.
    """
    (values, begin, middle), (keys, first, following), count = known
    ids = np.empty(len(new.middle), np.int32)
    for k in range(len(ids)):
        if 2 * count >= len(keys):
            keys, first = _doubled(keys, first)
        h = rule_hash(new, k)
        slot = find_slot(keys, first, h)
        r = first[slot]
        while r >= 0 and not _same_rule(Rules(values, begin, middle), r, new, k):
            r = following[r]
        if r < 0:
            r, at = count, begin[count]
            start, length = new.begin[k], new.begin[k + 1] - new.begin[k]
            count += 1
            values, begin = reserve(values, at + length), reserve(begin, count + 1)
            middle, following = reserve(middle, r + 1), reserve(following, r + 1)
            copy_to(values[at:], new.values[start : start + length])
            middle[r], begin[count] = at + new.middle[k] - start, at + length
            following[r] = first[slot]
            keys[slot], first[slot] = h, r
        ids[k] = r
    return ids, Interned(Rules(values, begin, middle), Table(keys, first, following), count)


@kernel
def weights(rules, start, terminal, nonterminal):
    """Return |α| + |β| of the rules from `start` on, with these costs a symbol."""
    out = np.zeros(len(rules.middle) - start, np.int64)
    for k in range(len(out)):
        for p in range(rules.begin[start + k], rules.begin[start + k + 1]):
            out[k] += terminal if rules.values[p] > 0 else nonterminal
    return out


@kernel
def source_hashes(rules, start):
    """Return the erased hashes of the sources of the rules from `start` on."""
    out = np.empty(len(rules.middle) - start, np.uint64)
    for k in range(len(out)):
        out[k] = erased_hash(rules.values, rules.begin[start + k], rules.middle[start + k])
    return out


@kernel
def rule_hashes(rules, ids):
    """Return the hashes of whole rules: an order of rules that does not depend on their ids."""
    out = np.empty(len(ids), np.uint64)
    for k in range(len(ids)):
        out[k] = rule_hash(rules, np.int64(ids[k]))
    return out
