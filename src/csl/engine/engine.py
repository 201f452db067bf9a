"""What algorithms ask of an engine: apply a function to stretches of items, and give the results in order.

A stretch is what differs between calls of the function; the state is what all of them read. An engine may send both to
other processes, so the function is one of a module, and nothing it does to its arguments comes back. How the items are
cut must not matter for the result, unless `parts` fixes it: then every engine, with any number of workers, and after
any failure, gives the same bytes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

SMALL = 1000  # items that are not worth a second worker, unless a call says otherwise
CHUNKS = 4  # for each worker, so that none waits long for the last one

T = TypeVar("T")
Arrays = tuple[npt.NDArray[Any], ...]


class Kept(Generic[T]):
    """A piece of state that stays as it is: workers get it once."""

    def __init__(self, value: T) -> None:
        self.value = value


class Growing:
    """Arrays that grow, at their ends only: workers get what is new since they were last needed."""

    def __init__(self, look: Callable[[], Arrays]) -> None:
        self._look = look

    @property
    def value(self) -> Arrays:
        """The arrays as they are now."""
        return self._look()


class Engine(ABC):
    """Spreads work. `number` stretches are worked on at once; `sent` bytes were given to other processes so far."""

    number: int
    sent: int = 0

    @property
    @abstractmethod
    def local(self) -> "Engine":
        """The threads of this machine, for work that is not worth sending."""

    @abstractmethod
    def chunks(
        self, function: Callable[..., Any], items: Any, *state: Any, parts: int = 0, least: int | None = None
    ) -> list[Any]:
        """Call `function(stretch, *state)` for stretches of `items`; return the results in order.

        State that is `Kept` or `Growing` reaches the function as its value. `parts` fixes the number of stretches, for
        results that depend on it, such as sums of floats. Fewer than `least` items stay together.
        """

    def map(self, function: Callable[..., Any], items: Any, *state: Any, least: int | None = None) -> Any:
        """Like `chunks`, for functions that give one result an item: the results as one array."""
        return np.concatenate(self.chunks(function, items, *state, least=least))


def are_few(items: Any, least: int | None) -> bool:
    """Tell whether items are too few to be spread."""
    return len(items) < (SMALL if least is None else min(least, SMALL))
