"""Flat arrays: rules and other sequences laid end to end, and arrays that grow.

Symbols are integers: a terminal is its id ≥ 1, nonterminal k is −k.

What kernels are written like, so that they compile in seconds:

- Arrays are copied by a loop, `copy_to` or `.copy()`. `a[i:j] = b` makes Numba compile all of broadcasting, wherever
  the kernel is called from: it took five times as long as everything else. Likewise `np.where`, `np.diff`, a[b], a + b.
- Numba compiles a kernel for each combination of argument types, and a literal integer is a type of its own. So where a
  kernel is given a constant, or a counter that starts with one, that is `np.int64(…)`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.kernel import kernel

SOURCE, TARGET = 0, 1  # the sides of a rule


class Rules(NamedTuple):
    """Rules end to end: rule r is `values[begin[r]:begin[r + 1]]`, source then target, divided at `middle[r]`."""

    values: npt.NDArray[np.int32]
    begin: npt.NDArray[np.int64]
    middle: npt.NDArray[np.int64]


@kernel
def reserve(array, rows):
    """Return the array if it has so many rows, otherwise a larger one that begins with it."""
    if rows <= array.shape[0]:
        return array
    larger = np.empty((2 * rows, *array.shape[1:]), array.dtype)
    for i in range(array.shape[0]):
        if array.ndim == 1:  # known when it is compiled
            larger[i] = array[i]
        else:
            for j in range(array.shape[1]):
                larger[i, j] = array[i, j]
    return larger


@kernel
def copy_to(out, values):
    """Copy the values to the front of `out`."""
    for p in range(len(values)):
        out[p] = values[p]


@kernel
def bounds(rules, rule, side):
    """Return where a side of a rule starts and stops."""
    begin, middle = rules.begin, rules.middle
    return (begin[rule], middle[rule]) if side == SOURCE else (middle[rule], begin[rule + 1])


@kernel
def arity_of(rules, rule):
    """Count the nonterminals of a source."""
    arity = 0
    for p in range(rules.begin[rule], rules.middle[rule]):
        arity += rules.values[p] < 0
    return arity


@kernel
def max_arity(rules, ids):
    """Return the largest number of nonterminals in a source."""
    most = 0
    for r in ids:
        most = max(most, arity_of(rules, r))
    return most


@kernel
def take(values, offsets, rows):
    """Take rows of a ragged array."""
    out_offsets = np.zeros(len(rows) + 1, np.int64)
    for k in range(len(rows)):
        out_offsets[k + 1] = out_offsets[k] + offsets[rows[k] + 1] - offsets[rows[k]]
    out = np.empty(out_offsets[-1], values.dtype)
    for k in range(len(rows)):
        copy_to(out[out_offsets[k] :], values[offsets[rows[k]] : offsets[rows[k] + 1]])
    return out, out_offsets


@kernel
def sides(rules, ids, side):
    """Copy one side of each rule, end to end; return it and the offsets."""
    offsets = np.zeros(len(ids) + 1, np.int64)
    for k in range(len(ids)):
        start, stop = bounds(rules, ids[k], side)
        offsets[k + 1] = offsets[k] + stop - start
    out = np.empty(offsets[-1], np.int32)
    for k in range(len(ids)):
        start, stop = bounds(rules, ids[k], side)
        copy_to(out[offsets[k] :], rules.values[start:stop])
    return out, offsets
