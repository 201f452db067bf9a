"""Amounts of memory as people write them."""

import pytest

from csl.errors import InputError
from csl.parsing.limits import BYTES, MOST, Abstained, Limits, bytes_of, given_up


@pytest.mark.parametrize(
    ("text", "size"), [("2G", 2**31), ("512M", 2**29), ("1.5 g", 3 * 2**29), ("64KiB", 2**16), ("3mb", 3 * 2**20)]
)
def test_amounts_of_memory(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "G", "-2G", "2X", "two", "1e9", "9" * 400, "nan"])
def test_what_is_no_amount_of_memory_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not an amount of memory"):
        Limits.of(text)


@pytest.mark.parametrize(("memory", "seconds"), [("1K", None), (5, None), ("1G", 0), ("1G", -1), ("1G", float("nan"))])
def test_limits_that_leave_nothing_are_refused(memory: str | int, seconds: float | None) -> None:
    with pytest.raises(InputError):
        Limits.of(memory, seconds)


def test_memory_is_a_number_of_items() -> None:
    assert Limits.of("1M").items == 2**20 // BYTES
    assert Limits.of() == Limits()
    assert Limits.of("900T").items == MOST


def test_what_is_given_up_is_counted_by_reason() -> None:
    found = [Abstained.STOPPED, "a parse", Abstained.TOO_MANY, Abstained.NOT_COVERED, Abstained.TOO_MANY]
    assert given_up(found, 5) == "3 of 5 inputs given up: 1 out of time, 2 too many derivations for the memory limit"
    assert given_up([Abstained.NOT_COVERED], 1) == ""
