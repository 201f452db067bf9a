"""Fragments, templates and swaps of GECA (Andreas 2020), as hash joins.

An example is one sequence: input, separator, output. A fragment is one span, or two different ones, of at most `window`
tokens, none of them across the separator; its template is the sequence with every occurrence of the spans replaced by
a hole, −1 for the span that comes first and −2 for the other. Spans whose occurrences overlap are skipped, since
nothing determines which one the hole stands for; so are fragments that leave no hole on one of the sides.

An example of n and m tokens has O(window² n m) fragments. The hash of a template follows from prefix hashes, in as many
steps as it has holes. Almost nothing is kept of templates that have one fragment: a first pass finds them, with a
few bits a fragment. Equal hashes of 64 bits count as equal.

Sequences are ragged: sequence s is `values[offsets[s]:offsets[s + 1]]`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.flat import copy_to, reserve
from csl.kernels.hashing import BASE, find_slot, mix, sequence_hash
from csl.kernels.kernel import kernel

SEPARATOR = 1  # the token between input and output
SOURCE, TARGET, BOTH = 1, 2, 3  # the sides that a span occurs on
OVERLAP = 4


class Sequences(NamedTuple):
    """Sequences of tokens, or of other numbers, laid end to end."""

    values: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]


class Swaps(NamedTuple):
    """All swaps: a place of a fragment, and another fragment that is interchangeable with it."""

    spans: npt.NDArray[np.int32]  # fragment → (sequence, place, length, place, length): where it is first
    places: Sequences  # fragment → the sequences that it is in
    others: Sequences  # fragment → those that it can be swapped for
    ends: npt.NDArray[np.int64]  # fragment → the number of swaps that replace it or one before


@kernel
def _prefixes(values, start, stop):
    """Hash all beginnings of `values[start:stop]`; also give the powers of the base."""
    prefix, power = np.zeros(stop - start + 1, np.uint64), np.ones(stop - start + 1, np.uint64)
    for t in range(stop - start):
        prefix[t + 1] = prefix[t] * BASE + mix(np.int64(values[start + t]))
        power[t + 1] = power[t] * BASE
    return prefix, power


@kernel
def _spans(prefix, power, middle, window):
    """List the different spans of a sequence, as rows (first place, length, sides), by place.

    Also gives, for every place and length, the next place of the same span, or the end of the sequence.
    """
    size = len(prefix) - 1
    following = np.full((size, window), size, np.int32)
    sides, later = np.zeros((size, window), np.int8), np.zeros((size, window), np.bool_)
    for n in range(1, window + 1):
        for i in range(size - n, -1, -1):
            if i <= middle < i + n:
                continue
            own = prefix[i + n] - prefix[i] * power[n]
            sides[i, n - 1] = SOURCE if i < middle else TARGET
            for j in range(i + 1, size - n + 1):
                if prefix[j + n] - prefix[j] * power[n] == own:
                    following[i, n - 1], later[j, n - 1] = j, True
                    sides[i, n - 1] |= sides[j, n - 1] | (OVERLAP if j < i + n else 0)
                    break
    spans, count = np.empty((size * window, 3), np.int32), 0
    for i in range(size):
        for n in range(1, window + 1):
            if 0 < sides[i, n - 1] < OVERLAP and not later[i, n - 1]:
                spans[count, 0], spans[count, 1], spans[count, 2] = i, n, sides[i, n - 1]
                count += 1
    return spans[:count], following


@kernel
def _template_hash(prefix, power, following, i, n, j, m):
    """Hash the template of the spans first at i and j, of lengths n and m; tell whether they never overlap."""
    size = len(prefix) - 1
    h, at = np.uint64(0), 0
    while i < size or j < size:
        if i < j:
            p, length, hole = i, n, -1
            i = following[i, n - 1]
        else:
            p, length, hole = j, m, -2
            j = following[j, m - 1]
        if p < at:
            return h, False
        h = h * power[p - at] + (prefix[p] - prefix[at] * power[p - at])
        h = h * BASE + mix(np.int64(hole))
        at = p + length
    return h * power[size - at] + (prefix[size] - prefix[at] * power[size - at]), True


@kernel
def fragments(sequences, s, window):
    """List the fragments of sequence s: hashes, hashes of templates, and rows (place, length, place, length).

    Places are those of the first occurrences; a fragment of one span has a second length of 0.
    """
    values, start, stop = sequences.values, sequences.offsets[s], sequences.offsets[s + 1]
    size, middle = stop - start, 0
    while values[start + middle] != SEPARATOR:
        middle += 1
    prefix, power = _prefixes(values, start, stop)
    spans, following = _spans(prefix, power, middle, window)
    hashes, templates, rows = np.empty(256, np.uint64), np.empty(256, np.uint64), np.empty((256, 4), np.int32)
    count = 0
    for a in range(len(spans)):
        i, n, sides = spans[a]
        if i > middle:
            break  # all that follow are in the output too
        one = mix(np.int64(prefix[i + n] - prefix[i] * power[n])) * BASE
        hashes, templates = reserve(hashes, count + len(spans)), reserve(templates, count + len(spans))
        rows = reserve(rows, count + len(spans))
        for b in range(a, len(spans)):
            j, m, others = spans[b]
            if b == a:
                j, m = size, 0
            elif j < i + n:
                continue
            if sides | others != BOTH:
                continue
            h, apart = _template_hash(prefix, power, following, i, n, j, m)
            if not apart:
                continue
            other = mix(np.int64(prefix[j + m] - prefix[j] * power[m])) if m else np.uint64(0)
            hashes[count], templates[count] = one + other, h
            rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = i, n, j, m
            count += 1
    return hashes[:count], templates[:count], rows[:count]


@kernel
def mark_shared(sequences, window, bits):
    """Find templates of more than one fragment: a set of 2^bits bits, by the low bits of the hash.

    All of them are in it, and a few others.
    """
    once, again = np.zeros(1 << (bits - 3), np.uint8), np.zeros(1 << (bits - 3), np.uint8)
    for s in range(len(sequences.offsets) - 1):
        for h in fragments(sequences, s, window)[1]:
            place = np.int64(mix(np.int64(h)) & np.uint64((1 << bits) - 1))
            byte, bit = place >> 3, np.uint8(1 << (place & 7))
            if once[byte] & bit:
                again[byte] |= bit
            once[byte] |= bit
    return again


@kernel
def collect(sequences, window, shared, bits):
    """List (template, fragment), as hashes, for the templates of the set."""
    found, count = np.empty((4096, 2), np.uint64), 0
    for s in range(len(sequences.offsets) - 1):
        hashes, templates, _ = fragments(sequences, s, window)
        found = reserve(found, count + len(hashes))
        for k in range(len(hashes)):
            place = np.int64(mix(np.int64(templates[k])) & np.uint64((1 << bits) - 1))
            if shared[place >> 3] & np.uint8(1 << (place & 7)):
                found[count, 0], found[count, 1] = templates[k], hashes[k]
                count += 1
    return found[:count].copy()


@kernel
def locate(sequences, window, table, known):
    """Find where the `known` fragments of a table are.

    Returns for each of them in how many sequences it is and where first, a row (sequence, place, length, place,
    length); and (fragment, sequence) for all sequences that it is in.
    """
    sizes, spans = np.zeros(known, np.int64), np.zeros((known, 5), np.int32)
    found, count = np.empty((4096, 2), np.int32), 0
    for s in range(len(sequences.offsets) - 1):
        hashes, _, rows = fragments(sequences, s, window)
        found = reserve(found, count + len(hashes))
        for k in range(len(hashes)):
            f = table.first[find_slot(table.keys, table.first, hashes[k])]
            if f < 0:
                continue
            if sizes[f] == 0:
                spans[f, 0] = s
                copy_to(spans[f, 1:], rows[k])
            sizes[f] += 1
            found[count, 0], found[count, 1] = f, s
            count += 1
    return sizes, spans, found[:count]


@kernel
def _tokens(sequences, window, spans):
    """Lay out the tokens of fragments in rows, with 0 where there are no more."""
    values, begin = sequences
    tokens = np.zeros((len(spans), 2 * window), np.int32)
    for f in range(len(spans)):
        count = 0
        for a in (1, 3):
            for p in range(spans[f, a], spans[f, a] + spans[f, a + 1]):
                tokens[f, count] = values[begin[spans[f, 0]] + p]
                count += 1
    return tokens


@kernel
def _share_token(tokens, f, g):
    """Whether two rows of tokens have one in common."""
    for a in range(tokens.shape[1]):
        if tokens[f, a] == 0:
            break
        for b in range(tokens.shape[1]):
            if tokens[f, a] == tokens[g, b]:
                return True
    return False


@kernel
def interchangeable(sequences, window, spans, members, homes):
    """For each fragment those that share a template with it and no token: fragments and offsets.

    `members` are the fragments of templates, and `homes` the templates of fragments, both ragged.
    """
    offsets, others, count = np.zeros(len(spans) + 1, np.int64), np.empty(4096, np.int32), 0
    tokens, stamp = _tokens(sequences, window, spans), np.full(len(spans), -1, np.int32)
    for f in range(len(spans)):
        for e in homes.values[homes.offsets[f] : homes.offsets[f + 1]]:
            group = members.values[members.offsets[e] : members.offsets[e + 1]]
            others = reserve(others, count + len(group))
            for g in group:
                if stamp[g] != f:
                    stamp[g] = f
                    if not _share_token(tokens, f, g):
                        others[count] = g
                        count += 1
        offsets[f + 1] = count
    return others[:count].copy(), offsets


@kernel
def _shuffled(number, total, seed):
    """Return the place of a number in a random order of 0 … total − 1: a Feistel network, walked until it is inside."""
    half = 1
    while (np.int64(1) << (2 * half)) < total:
        half += 1
    mask = (np.int64(1) << half) - 1
    while True:
        left, right = number >> half, number & mask
        for turn in range(4):
            left, right = right, left ^ (np.int64(mix(right ^ np.int64(mix(4 * seed + turn)))) & mask)
        number = (left << half) | right
        if number < total:
            return number


@kernel
def _matches(values, p, stop, q, length):
    """Whether the span of this length at q stands at p, before `stop`."""
    t = 0
    while t < length and p + t < stop and values[p + t] == values[q + t]:
        t += 1
    return 0 < length == t


@kernel
def swap(sequences, spans, s, old, new, out, at):
    """Write sequence s, with the spans of fragment `old` replaced by those of `new`, to `out` from `at` on.

    Returns `out`, which may have grown, and where the sequence ends.
    """
    values, begin = sequences
    base, other, p, stop = begin[spans[old, 0]], begin[spans[new, 0]], begin[s], begin[s + 1]
    while p < stop:
        out = reserve(out, at + max(spans[new, 2], spans[new, 4], 1))
        hole = 1
        while hole <= 3 and not _matches(values, p, stop, base + spans[old, hole], spans[old, hole + 1]):
            hole += 2
        if hole > 3:
            out[at] = values[p]
            at, p = at + 1, p + 1
            continue
        length = spans[new, hole + 1]
        copy_to(out[at:], values[other + spans[new, hole] : other + spans[new, hole] + length])
        at, p = at + length, p + spans[old, hole + 1]
    return out, at


@kernel
def draw_swaps(sequences, swaps, seed, start, stop):
    """Make the swaps `start` … `stop` − 1 of a random order of all.

    Returns the new sequences (values, offsets) and rows (sequence, old fragment, new fragment).
    """
    places, others, ends = swaps.places, swaps.others, swaps.ends
    made, made_begin = np.empty(16384, np.int32), np.zeros(stop - start + 1, np.int64)
    rows = np.empty((stop - start, 3), np.int32)
    for number in range(start, stop):
        place, k = _shuffled(number, ends[-1], seed), number - start
        f = np.searchsorted(ends, place, side="right")
        inside = place - (ends[f - 1] if f else 0)
        choices = others.offsets[f + 1] - others.offsets[f]
        rows[k, 0] = places.values[places.offsets[f] + inside // choices]
        rows[k, 1], rows[k, 2] = f, others.values[others.offsets[f] + inside % choices]
        s, old, new = rows[k]
        made, made_begin[k + 1] = swap(sequences, swaps.spans, s, old, new, made, made_begin[k])
    return made[: made_begin[-1]], made_begin, rows


@kernel
def sequence_keys(values, begin):
    """Hash sequences to keys ≥ 1."""
    keys = np.empty(len(begin) - 1, np.uint64)
    for s in range(len(keys)):
        keys[s] = max(mix(np.int64(sequence_hash(values, begin[s], begin[s + 1]))), np.uint64(1))
    return keys
