"""Arrays that grow: kernels do not know beforehand how much they will find."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def with_room(array, size, extra):
    """Return the array, of which `size` rows are used, or a larger copy of those, with room for `extra` more."""
    if size + extra <= array.shape[0]:
        return array
    larger = np.empty((2 * (size + extra), *array.shape[1:]), array.dtype)
    larger[:size] = array[:size]
    return larger
