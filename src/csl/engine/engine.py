"""What algorithms ask of an engine: apply a function to chunks of items, and return the results in order.

A chunk is what differs between calls of the function; the state is what all of them read. An engine may send both to
other processes, so the function is one of a module, and nothing it does to its arguments comes back. How the items are
divided must not matter for the result, unless `parts` fixes it: then every engine, with any number of workers, and
after any failure, gives the same bytes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

SMALL = 1000  # items that are not worth a second worker, unless a call says otherwise
CHUNKS = 4  # for each worker, so that none waits long for the last one

T = TypeVar("T")


class Broadcast(Generic[T]):
    """State that does not change: workers get it once."""

    def __init__(self, value: T) -> None:
        self.value = value


class Growing:
    """A NamedTuple of arrays that grow at their ends: workers get what is new since they were last needed."""

    def __init__(self, look: Callable[[], Any]) -> None:
        self._look = look

    @property
    def value(self) -> Any:
        """The arrays as they are now."""
        return self._look()


class Engine(ABC):
    """Spreads work. `number` chunks are worked on at once; `sent` bytes were given to other processes so far."""

    number: int
    sent: int = 0

    @property
    @abstractmethod
    def local(self) -> "Engine":
        """The threads of this machine, for work that is not worth sending."""

    @abstractmethod
    def chunks(
        self,
        function: Callable[..., Any],
        items: Any,
        *state: Any,
        parts: int = 0,
        least: int | None = None,
        doing: str = "",
    ) -> list[Any]:
        """Call `function(chunk, *state)` for chunks of `items`; return the results in order.

        State that is `Broadcast` or `Growing` reaches the function as its value. `parts` fixes the number of chunks,
        for results that depend on it, such as sums of floats. Fewer than `least` items are not spread. If it takes
        long, progress is reported with the words `doing`.
        """

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of this machine that may take long, so that Ctrl-C is answered meanwhile."""
        return self.local.call(function, *arguments)

    def map(
        self, function: Callable[..., Any], items: Any, *state: Any, least: int | None = None, doing: str = ""
    ) -> Any:
        """Like `chunks`, for functions that return one result an item: the results as one array."""
        return np.concatenate(self.chunks(function, items, *state, least=least, doing=doing))


def are_few(items: Any, least: int | None) -> bool:
    """Tell whether items are too few to be spread."""
    return len(items) < (SMALL if least is None else min(least, SMALL))
