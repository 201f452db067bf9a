"""One process at a time in a folder: a lock that goes with the process, however that ends.

The lock is on the file `.lock`, which says whose it is and is removed at the end. One that a killed process left locks
nothing. Who only reads needs no lock: files are only ever replaced as a whole.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

from csl.errors import CslError, from_system
from csl.files import TRIES, make_folder, remove_partial

LOCK = ".lock"
NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)  # of file systems that have none
_HELD: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())  # by this thread


@contextmanager
def alone(folder: Path | str, *, wait: bool = False) -> Iterator[None]:
    """Make a folder and keep other processes out of it; one that is taken is refused, or waited for.

    Nested blocks of one thread share the lock. A folder that cannot be written to needs none, and a file system without
    locks gives none. A folder that is new and empty at the end is removed.
    """
    folder = Path(folder)
    whole, made = folder.resolve(), [path for path in (folder, *folder.parents) if not path.exists()]
    if whole in _HELD.get():
        yield
        return
    token = _HELD.set(_HELD.get() | {whole})
    try:
        with _locked(folder, wait):
            remove_partial(whole)
            yield
    finally:
        _HELD.reset(token)
        with suppress(OSError):  # not empty
            for path in made:
                path.rmdir()


@contextmanager
def _locked(folder: Path, wait: bool) -> Iterator[None]:
    path = folder / LOCK
    try:
        file = _lock(path, wait)
    except OSError as error:
        unwritable = error.errno in (errno.EACCES, errno.EROFS) and not os.access(folder, os.W_OK)
        if not unwritable and error.errno not in NO_LOCKS:
            raise from_system(error, "cannot be locked", path) from error
        with suppress(OSError):
            path.unlink()
        yield
        return
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # while it is locked: who waits for it tries again


def _lock(path: Path, wait: bool) -> TextIO:
    while True:
        file = _open(path)
        try:
            if _take(file, path, wait):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _open(path: Path) -> TextIO:
    """Open the file of a lock, in a folder that who held the lock may be removing."""
    for _ in range(TRIES):
        make_folder(path.parent)
        with suppress(FileNotFoundError):
            return path.open("a+", encoding="ascii", errors="replace")
    raise FileNotFoundError(errno.ENOENT, "its folder is removed again and again")


def _take(file: TextIO, path: Path, wait: bool) -> bool:
    """Lock a file and say whose it is; tell whether it is still there."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.seek(0)
        owner = file.read(20).strip()
        who = f"process {owner}" if owner.isdecimal() else "another process"
        raise CslError(f"{path.parent}: {who} works in this folder; wait for it, or name another folder") from error
    if not os.fstat(file.fileno()).st_nlink:
        return False
    try:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
    except OSError:  # a full disk
        path.unlink(missing_ok=True)
        raise
    return True


folder_lock = alone
