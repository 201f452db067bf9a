"""Where commands and people meet: a console that prints any data as it is, messages and progress, and Ctrl-C."""

import logging
import os
import signal
import threading
import time
from types import FrameType

import typer
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from csl.log import PROGRESS

RETURNING = ("namedtuple_", "numba.core.serialize")  # modules in which numba makes a value that a kernel returns
EVERY = 30  # seconds between lines of progress where there is no terminal


def new_console(*, stderr: bool = False) -> Console:
    """Make a console without markup or emoji; outside a terminal it is as wide as what is printed."""
    made = Console(stderr=stderr, soft_wrap=True, markup=False, highlight=False, emoji=False)
    if not made.is_terminal:
        made.width = 100_000
    return made


def handle_interrupts() -> None:
    """Let Ctrl-C, a hangup and `kill` stop the program and clean up, unless they are meant to be ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt or SystemExit; a moment later if compiled code is about to return, and would crash."""
    while frame and not (module := str(frame.f_globals.get("__name__"))).startswith("csl."):
        if module.startswith(RETURNING):
            threading.Timer(0.01, os.kill, (os.getpid(), number)).start()
            return
        frame = frame.f_back
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an error is Ctrl-C; inside a compiled function it comes as the cause of a SystemError."""
    return isinstance(error, KeyboardInterrupt) or (error is not None and is_interrupt(error.__cause__))


class Messages(logging.Handler):
    """Prints the messages of stages: results as lines, progress on one line that changes at a terminal.

    Where there is no terminal, a line of progress is printed every 30 seconds. Ctrl-C ends with how to resume.
    """

    def __init__(self, start: str = "starting …", stopped: str = "", *, stderr: bool = False) -> None:
        super().__init__(PROGRESS)
        self._console, self._stopped, self._last = new_console(stderr=stderr), stopped, time.monotonic()
        self._text, self._done = start, threading.Event()
        self._line = Spinner("dots", Text(start))
        self._live = Live(self._line, console=self._console, transient=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message by its level."""
        text = record.getMessage()
        if record.levelno > PROGRESS:
            style = "yellow" if record.levelno >= logging.WARNING else None
            prefix = "warning: " if style else ""
            self._console.print(prefix + text, style=style)
            self._last = time.monotonic()
        else:
            self._text = text
            self._line.update(text=Text(text))

    def _repeat(self) -> None:
        """Print what is going on, every 30 seconds in which nothing else is printed."""
        while not self._done.wait(max(0.0, self._last + EVERY - time.monotonic())):
            if time.monotonic() - self._last >= EVERY:
                new_console(stderr=True).print(self._text)
                self._last = time.monotonic()

    def heading(self, text: str) -> None:
        """Print a line in bold."""
        self._console.print(text, style="bold")

    def __enter__(self) -> "Messages":
        logger = logging.getLogger("csl")
        logger.setLevel(PROGRESS)
        logger.addHandler(self)
        if self._console.is_terminal:
            self._live.start()
        else:
            threading.Thread(target=self._repeat, daemon=True).start()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._live.stop()
        self._done.set()
        logging.getLogger("csl").removeHandler(self)
        if is_interrupt(error):
            new_console(stderr=True).print(f"stopped; {self._stopped}" if self._stopped else "stopped")
            raise typer.Exit(130)
