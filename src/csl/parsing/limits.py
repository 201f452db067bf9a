"""Bounds on what one input may take, in memory and in time, and why a parser gives no output.

Memory is counted, not measured: an item of a chart or forest stands for BYTES bytes, with all that is computed from it
and the room that growing arrays need. Counts are the same on every machine, for any number of threads and whatever
other inputs there are, and so is what is given up. Only `seconds` makes results depend on the machine's speed.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from csl.errors import CslError, InputError
from csl.kernels.budget import ITEMS, Budget, untimed

BYTES = 64  # an item, with what is computed from it; at most 46 were measured
MOST = 2**27  # items: more would need larger numbers in the kernels
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class AmbiguityError(CslError):
    """An input has so many derivations that they are not looked through."""


class Abstained(Enum):
    """Why there is no output for an input."""

    NOT_COVERED = "not covered"
    TOO_MANY = "too many derivations for the memory limit"
    STOPPED = "out of time"
    TOO_LONG = "output too long"


@dataclass(frozen=True)
class Limits:
    """What parsing may take for one input; a thread works on one at a time."""

    items: int = ITEMS
    seconds: float | None = None

    @classmethod
    def of(cls, max_memory: str | int | None = None, timeout: float | None = None) -> "Limits":
        """Take memory in bytes, or as text such as 512M or 2G (default 512M), and seconds (default: no limit)."""
        size = 2**29 if max_memory is None else bytes_of(max_memory) if isinstance(max_memory, str) else max_memory
        if size < 2**20:
            raise InputError(f"a memory limit of {max_memory} is too small; give at least 1M")
        if timeout is not None and not timeout > 0:
            raise InputError(f"a timeout of {timeout:g} seconds leaves no time; give more than 0")
        return cls(min(size // BYTES, MOST), timeout)

    @contextmanager
    def budget(self) -> Iterator[Budget]:
        """Give a budget for kernels; the clock, if there is one, starts now."""
        budget = untimed(self.items)
        if self.seconds is None:
            yield budget
            return
        timer = threading.Timer(min(self.seconds, threading.TIMEOUT_MAX), budget.stop.fill, (True,))
        timer.daemon = True
        timer.start()
        try:
            yield budget
        finally:
            timer.cancel()


def given_up(outcomes: Iterable[object], total: int) -> str:
    """Describe how many of the inputs were given up, and why; empty if none was."""
    why = Counter(o.value for o in outcomes if isinstance(o, Abstained) and o is not Abstained.NOT_COVERED)
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in sorted(why.items()))
    return f"{why.total():,} of {total:,} inputs given up: {reasons}" if why else ""


def bytes_of(text: str) -> int:
    """Read a number of bytes such as 800K, 512M, 1.5G or 2GB."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if not match:
        raise InputError(f"{text!r} is not an amount of memory; write it as 512M or 2G")
    return int(float(match[1]) * _UNITS[match[2].upper()])
