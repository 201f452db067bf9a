"""Ctrl-C is answered at once, but not where compiled code would crash; messages are shown as they are."""

import logging
import signal
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from csl.cli import main
from csl.cli.console import Messages, handle_interrupts, interrupt
from csl.log import Log


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
def test_ctrl_c_is_answered_at_once(place: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, place)


@pytest.mark.parametrize("place", [frame("namedtuple_Trie"), frame("copyreg", "numba.core.serialize", "csl.x")])
def test_where_compiled_code_returns_it_is_answered_a_moment_later(place: Any) -> None:
    signal.signal(signal.SIGINT, interrupt)
    interrupt(signal.SIGINT, place)
    with pytest.raises(KeyboardInterrupt):
        time.sleep(5)


def test_one_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    handle_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)
    handle_interrupts()
    assert signal.getsignal(signal.SIGINT) is interrupt


def test_results_and_warnings_are_lines_and_progress_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log("test")
    with Messages():
        log.progress("working …")
        log.info("close [/b] ### [red]")
        log.warning("beware")
    assert capsys.readouterr().out == "close [/b] ### [red]\nwarning: beware\n"
    log.info("nobody listens")
    assert capsys.readouterr().out == ""


def test_at_a_terminal_progress_is_shown_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Messages():
        Log("test").progress("close [/b] ### [red]")
        time.sleep(0.5)
    assert "close [/b] ### [red]" in capsys.readouterr().out


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemError()])
def test_ctrl_c_says_how_to_resume(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    if isinstance(error, SystemError):  # as compiled code raises it
        error.__cause__ = KeyboardInterrupt()
    with pytest.raises(typer.Exit) as stopped, Messages("starting …", "do it again"):
        raise error
    assert stopped.value.exit_code == 130
    assert capsys.readouterr().err == "stopped; do it again\n"
    assert not [handler for handler in logging.getLogger("csl").handlers if isinstance(handler, Messages)]


def test_a_name_that_is_too_long_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["csl", "grammar", "show", "x" * 400])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
