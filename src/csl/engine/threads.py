"""Threads of one machine, for kernels that release the GIL. Nothing is copied."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from csl.engine.engine import CHUNKS, Engine, Growing, Kept, are_few
from csl.errors import InputError


class Threads(Engine):
    """A pool of threads."""

    def __init__(self, number: int = 1) -> None:
        if number < 1:
            raise InputError(f"{number} threads can do nothing; one is the least")
        self.number = number
        self._pool = ThreadPoolExecutor(number) if number > 1 else None

    @property
    def local(self) -> "Threads":
        """The threads themselves."""
        return self

    def chunks(
        self, function: Callable[..., Any], items: Any, *state: Any, parts: int = 0, least: int | None = None
    ) -> list[Any]:
        """Apply the function to stretches."""
        values = [part.value if isinstance(part, Kept | Growing) else part for part in state]
        if not parts and (self._pool is None or are_few(items, least)):
            return [function(items, *values)]
        stretches = np.array_split(items, parts or CHUNKS * self.number)
        run = map if self._pool is None else self._pool.map
        return list(run(lambda stretch: function(stretch, *values), stretches))


ONE_THREAD = Threads(1)
