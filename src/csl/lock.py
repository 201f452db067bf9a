"""One process at a time in a folder: a lock that ends with its process, however that ends.

The lock is on the file `.lock`, which is removed at the end. One that a killed process left locks nothing. Reading
needs no lock: files are only ever replaced as a whole.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from csl.errors import CslError, InputError, from_system
from csl.files import remove_partial

LOCK = ".lock"
TRIES = 100  # to lock in a folder that other processes, for which it stayed empty, remove again
NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)  # errors of file systems without locks


@contextmanager
def folder_lock(folder: Path | str, *, wait: bool = False) -> Iterator[None]:
    """Create a folder and keep other processes out of it; if another process has it, refuse, or wait for that process.

    Nested blocks of one thread share the lock. A folder that cannot be written to, or whose file system has no locks,
    is not locked. A new folder that is empty at the end is removed.
    """
    folder = Path(folder)
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    lock = FileLock(folder / LOCK, is_singleton=True, fallback_to_soft=False)
    if lock.is_locked:
        yield
        return
    try:
        locked = _acquire(lock, folder, wait)
        try:
            remove_partial(folder)
            yield
        finally:
            if locked:
                _remove(folder / LOCK)  # while it is locked: a process that waits for it then tries again
                lock.release()
    finally:
        with suppress(OSError):  # not empty
            for path in created:
                path.rmdir()


def _acquire(lock: BaseFileLock, folder: Path, wait: bool) -> bool:
    """Return whether the folder was locked; False where that is impossible but does no harm."""
    path = folder / LOCK
    for tries_left in reversed(range(TRIES)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                raise InputError("is a symbolic link; remove it", path)
            lock.acquire(timeout=-1 if wait else 0)
        except Timeout as error:
            raise CslError(
                f"{folder}: another process is working in this folder; wait for it or choose another folder"
            ) from error
        except OSError as error:
            if tries_left and isinstance(error, FileExistsError | FileNotFoundError):
                continue
            unwritable = (
                error.errno in (errno.EACCES, errno.EROFS) and folder.is_dir() and not os.access(folder, os.W_OK)
            )
            if not unwritable and error.errno not in NO_LOCKS:
                raise from_system(error, "cannot be locked", path) from error
            _remove(path)
            return False
        return True
    raise AssertionError("the last try returns or raises")


def _remove(path: Path) -> None:
    with suppress(OSError):
        if not path.stat(follow_symlinks=False).st_size:  # locks are empty; anything else is not ours
            path.unlink()
