"""Maps over chunks of an array on threads. Chunks are fixed and put together in order: any number gives the same."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

SMALL = 1000  # items that are not worth a second thread


class Threads:
    """A pool of threads for kernels that release the GIL."""

    def __init__(self, number: int = 1) -> None:
        self.number = number
        self._pool = ThreadPoolExecutor(number) if number > 1 else None

    def chunks(self, function: Callable[[Any], Any], items: Any, parts: int = 0) -> list[Any]:
        """Apply the function to stretches of `items`; return the results in order.

        `parts` fixes the number of stretches, for results that depend on it, such as sums of floats.
        """
        if not parts and (self._pool is None or len(items) < SMALL):
            return [function(items)]
        stretches = np.array_split(items, parts or 4 * self.number)
        return list(map(function, stretches) if self._pool is None else self._pool.map(function, stretches))

    def map(self, function: Callable[[Any], Any], items: Any) -> Any:
        """Like `chunks`, for functions that give one result an item: the results as one array."""
        return np.concatenate(self.chunks(function, items))
