"""Threads of one machine, for kernels that release the GIL. Nothing is copied."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from csl.engine.engine import CHUNKS, Broadcast, Engine, Growing, are_few
from csl.errors import InputError


class Threads(Engine):
    """A pool of threads."""

    def __init__(self, number: int = 1) -> None:
        if number < 1:
            raise InputError(f"threads must be at least 1, not {number}")
        self.number = number
        self._pool = ThreadPoolExecutor(number) if number > 1 else None

    @property
    def local(self) -> "Threads":
        """The threads themselves."""
        return self

    def chunks(
        self, function: Callable[..., Any], items: Any, *state: Any, parts: int = 0, least: int | None = None
    ) -> list[Any]:
        """Apply the function to chunks."""
        values = [part.value if isinstance(part, Broadcast | Growing) else part for part in state]
        if not parts and (self._pool is None or are_few(items, least)):
            return [function(items, *values)]
        chunks = np.array_split(items, parts or CHUNKS * self.number)
        run = map if self._pool is None else self._pool.map
        return list(run(lambda chunk: function(chunk, *values), chunks))


ONE_THREAD = Threads(1)
