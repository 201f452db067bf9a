"""Ctrl-C is heard at once, but not where compiled code would crash; what is shown is shown as it is."""

import io
import signal
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from csl.cli import main
from csl.cli.console import LiveLine, hear_interrupts, interrupt


@pytest.fixture(autouse=True)
def own_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def frame(*names: str) -> Any:
    """The frame of a module, with those that called it."""
    below = frame(*names[1:]) if names else None
    return SimpleNamespace(f_globals={"__name__": names[0]}, f_back=below) if names else None


@pytest.mark.parametrize("place", [None, frame("csl.induction.search"), frame("csl.cli", "numba.core.serialize")])
def test_ctrl_c_is_heard_at_once(place: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, place)


@pytest.mark.parametrize("place", [frame("namedtuple_Trie"), frame("copyreg", "numba.core.serialize", "csl.x")])
def test_where_compiled_code_returns_it_is_heard_a_moment_later(place: Any) -> None:
    signal.signal(signal.SIGINT, interrupt)
    interrupt(signal.SIGINT, place)
    with pytest.raises(KeyboardInterrupt):
        time.sleep(5)


def test_one_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hear_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)
    hear_interrupts()
    assert signal.getsignal(signal.SIGINT) is interrupt


def test_what_looks_like_markup_is_shown_as_it_is() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, markup=False)
    with LiveLine(console, "[/b] …", "") as live:
        live.update("close [/b] ### [red]")
    assert "close [/b] ### [red]" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_name_that_is_too_long_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["csl", "grammar", "show", "x" * 400])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 2
    assert "File name too long; name a shorter path" in capsys.readouterr().err
