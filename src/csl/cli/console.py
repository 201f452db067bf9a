"""Where commands and people meet: a console that prints any data as it is, and Ctrl-C."""

from rich.console import Console


def new_console(*, stderr: bool = False) -> Console:
    """Make a console without markup or emoji; outside a terminal it is as wide as what is printed."""
    made = Console(stderr=stderr, soft_wrap=True, markup=False, highlight=False, emoji=False)
    if not made.is_terminal:
        made.width = 100_000
    return made


def is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an error is Ctrl-C; met inside a compiled function it comes as the cause of a SystemError."""
    return isinstance(error, KeyboardInterrupt) or (error is not None and is_interrupt(error.__cause__))
