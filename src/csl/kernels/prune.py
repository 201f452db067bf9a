"""Letting go of rules that the others derive (paper: "we check if we can just remove r_c")."""

import numpy as np
from numba import njit

from csl.kernels.derive import CHILD, derive


@njit(cache=True, nogil=True)
def remove_derivable(values, begin, middle, alive, trie, arity, max_units, order, hints, hint_offsets):
    """Remove the rules of `order`, one after the other, that the other rules derive; `alive` is changed.

    `hints[hint_offsets[k]:hint_offsets[k + 1]]` are the rules of a derivation of `order[k]` without itself, found
    earlier: good for as long as they are alive.
    """
    work = np.empty((256, CHILD + arity), np.int32)
    for k in range(len(order)):
        r = order[k]
        goal = 0
        for p in range(hint_offsets[k], hint_offsets[k + 1]):
            if not alive[hints[p]]:
                goal = -1
        if goal < 0:
            x, y = values[begin[r] : middle[r]], values[middle[r] : begin[r + 1]]
            goal, work = derive(values, begin, middle, alive, trie, arity, r, max_units, x, y, work)
        if goal >= 0:
            alive[r] = False
