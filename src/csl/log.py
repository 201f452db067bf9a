"""Messages, through the standard library's logging: every module logs to a child of the logger `csl`.

Levels tell messages apart: PROGRESS, what is going on right now (the command line shows it on one line that changes);
INFO, what was found; WARNING, what the user should know before using the result. Nothing is printed unless a handler
is installed, as the command line does; Python itself prints warnings.
"""

import logging

PROGRESS = 15
logging.addLevelName(PROGRESS, "PROGRESS")
logging.getLogger("csl").addHandler(logging.NullHandler())


class Log:
    """The messages of one stage or module."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"csl.{name}")

    def progress(self, text: str) -> None:
        """Say what is going on right now."""
        self._logger.log(PROGRESS, "%s", text)

    def info(self, text: str) -> None:
        """Report a result."""
        self._logger.info("%s", text)

    def warning(self, text: str) -> None:
        """Report what speaks against a result."""
        self._logger.warning("%s", text)
