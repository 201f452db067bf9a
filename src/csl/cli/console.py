"""Where commands and people meet: a console that prints any data as it is, progress, and Ctrl-C."""

import os
import signal
import threading
from types import FrameType

import typer
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

LOOKING = "looking at the examples (the first run compiles for a while) …"
RETURNING = ("namedtuple_", "numba.core.serialize")  # modules in which numba makes a value that a kernel returns


def new_console(*, stderr: bool = False) -> Console:
    """Make a console without markup or emoji; outside a terminal it is as wide as what is printed."""
    made = Console(stderr=stderr, soft_wrap=True, markup=False, highlight=False, emoji=False)
    if not made.is_terminal:
        made.width = 100_000
    return made


def hear_interrupts() -> None:
    """Let Ctrl-C stop the program, unless it is meant to be ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; a moment later if compiled code is about to return, and would crash."""
    while frame and not (module := str(frame.f_globals.get("__name__"))).startswith("csl."):
        if module.startswith(RETURNING):
            threading.Timer(0.01, os.kill, (os.getpid(), number)).start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an error is Ctrl-C; met inside a compiled function it comes as the cause of a SystemError."""
    return isinstance(error, KeyboardInterrupt) or (error is not None and is_interrupt(error.__cause__))


class LiveLine:
    """One line that changes at a terminal, plain lines otherwise; Ctrl-C ends with a word on how to go on."""

    def __init__(self, console: Console, text: str, stopped: str) -> None:
        self._console, self._stopped = console, stopped
        self._line = Spinner("dots", Text(text))
        self._live = Live(self._line, console=console, transient=True)

    def __enter__(self) -> "LiveLine":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._live.stop()
        if is_interrupt(error):
            new_console(stderr=True).print(self._stopped)
            raise typer.Exit(130)

    def update(self, text: str, plain: str = "") -> None:
        """Show `text` at a terminal; otherwise print `plain`, if there is any."""
        if self._console.is_terminal:
            self._line.update(text=Text(text))
        elif plain:
            self._console.print(plain)
