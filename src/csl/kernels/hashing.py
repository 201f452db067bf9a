"""Hashes of symbol sequences, and a hash table from 64-bit keys to integers.

Sequences hash as polynomials over mixed symbols, so that the hash of a sequence with a span cut out follows in O(1)
from prefix hashes. Equal hashes are always verified by the callers: a collision costs time, never correctness.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.kernel import kernel

BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that its powers never vanish modulo 2⁶⁴


@kernel
def mix(x):
    """Spread the bits of an integer (the finaliser of splitmix64)."""
    z = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def sequence_hash(values, start, stop):
    """Hash `values[start:stop]` as it is."""
    h = np.uint64(0)
    for i in range(start, stop):
        h = h * BASE + mix(np.int64(values[i]))
    return h


@kernel
def erased_hash(values, start, stop):
    """Hash `values[start:stop]` with all nonterminal indices erased."""
    h = np.uint64(0)
    for i in range(start, stop):
        h = h * BASE + mix(max(np.int64(values[i]), np.int64(0)))
    return h


class Table(NamedTuple):
    """An open-addressing hash table from keys to chains: `first[slot]`, then `following[entry]`, until −1."""

    keys: npt.NDArray[np.uint64]
    first: npt.NDArray[np.int32]
    following: npt.NDArray[np.int32]


@kernel
def find_slot(keys, first, key):
    """Return the slot of the key, or the free one where it would go."""
    mask = np.uint64(len(keys) - 1)
    slot = mix(np.int64(key)) & mask
    while first[slot] >= 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@kernel
def build_table(hashes, entries):
    """Build a table whose chains hold, in order, the `entries` (ids into `hashes`) with the same hash."""
    capacity = 16
    while capacity < 2 * len(entries):
        capacity *= 2
    keys = np.zeros(capacity, np.uint64)
    first = np.full(capacity, -1, np.int32)
    following = np.full(len(hashes), -1, np.int32)
    for k in range(len(entries) - 1, -1, -1):
        entry = entries[k]
        slot = find_slot(keys, first, hashes[entry])
        keys[slot] = hashes[entry]
        following[entry] = first[slot]
        first[slot] = entry
    return Table(keys, first, following)
