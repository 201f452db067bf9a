"""Some of many: what of a long list a page shows."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def evenly(items: Sequence[T], number: int) -> list[T]:
    """Take at most `number` items, evenly spaced and in order: the first, the last, and those between.

    >>> evenly("abcdefgh", 3)
    ['a', 'd', 'h']
    """
    if len(items) <= number:
        return list(items)
    return [items[k * (len(items) - 1) // max(1, number - 1)] for k in range(number)]
