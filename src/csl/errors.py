"""The one family of exceptions that CSL raises on purpose.

The command prints such an error as one line and exits with its `exit_code`; anything else is a bug and keeps
its traceback.
"""

import errno
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

LONGEST = 2000  # characters of a message; what it quotes may be a whole file


class CslError(Exception):
    """Something failed that a person can act on; the message says what, where, and what to do, in one line."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


class InputError(CslError):
    """What the user gave is wrong: a file, a value, a combination of options."""

    exit_code = 2

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)


def refuse(error: InputError) -> None:
    """Raise an error; readers can be given something milder to do with a bad line, such as counting it."""
    raise error


# failures of the machine, and of the paths that were given; each with a remedy
FAILURES = {
    errno.ENOSPC: "free some space, then run the same command again",
    errno.EDQUOT: "free some space, then run the same command again",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), then run the same command again",
    errno.EMFILE: "raise the limit on open files (ulimit -n), then run the same command again",
    errno.ENFILE: "close other programs, then run the same command again",
    errno.EIO: "check the disk, then run the same command again",
}
REMEDIES = {
    errno.EROFS: "choose a writable output path",
    errno.EACCES: "change the permissions, or choose another path",
    errno.EPERM: "change the permissions, or choose another path",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.EEXIST: "a file is in the way of a folder; move it, or choose another path",
    errno.ENOTDIR: "a file is in the way of a folder; move it, or choose another path",
}


def from_system(error: OSError, what: str, path: Path | str | None) -> CslError:
    """Turn an error of the operating system into a line: which file, what cannot be done with it, why, what to do."""
    remedy = FAILURES.get(error.errno or 0) or REMEDIES.get(error.errno or 0)
    message = f"{what}: {error.strerror or error}" + (f"; {remedy}" if remedy else "")
    if error.errno in FAILURES:
        return CslError(message if path is None else f"{path}: {message}")
    return InputError(message, path)


def _one_line(text: str) -> str:
    """Write what does not print as escapes, and leave out the middle of what is too long."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class LimitWarning(UserWarning):
    """Something was left out because it would have taken too much memory or time."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Say, for an error, which known name a mistyped one may stand for; all of them if none is near."""
    names = list(known)
    match = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {match[0]!r}?" if match else f"known: {', '.join(names)}"
