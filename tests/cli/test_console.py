"""Ctrl-C is heard at once, but not where compiled code would crash."""

import signal
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from csl.cli.console import hear_interrupts, interrupt


@pytest.fixture(autouse=True)
def own_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def frame(name: str) -> Any:
    return SimpleNamespace(f_globals={"__name__": name})


@pytest.mark.parametrize("place", [None, frame("csl.induction.search")])
def test_ctrl_c_is_heard_at_once(place: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, place)


def test_inside_a_named_tuple_it_is_heard_a_moment_later() -> None:
    signal.signal(signal.SIGINT, interrupt)
    interrupt(signal.SIGINT, frame("namedtuple_Trie"))
    with pytest.raises(KeyboardInterrupt):
        time.sleep(5)


def test_one_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hear_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)
    hear_interrupts()
    assert signal.getsignal(signal.SIGINT) is interrupt
