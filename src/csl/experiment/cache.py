"""Results of stages, kept by what they depend on, so that nothing is computed twice.

A stage works in the folder <stage>-<key> and is finished when done.json is there, which is written last. A folder
without it is of a stage that was stopped, and goes on. A finished folder that lacks something is made anew.
"""

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csl.data.files import make_folder, read_lines, write_json
from csl.errors import InputError

Figures = dict[str, Any]  # what a stage found, as JSON
DONE, LOCK = "done.json", ".lock"


@dataclass(frozen=True)
class Done:
    """A finished stage: where its files are, what it found, and the seconds it took."""

    folder: Path
    key: str
    seconds: float
    figures: Figures
    files: dict[str, int]  # sizes by name


class Cache:
    """The results of stages below one folder; with `anew`, only those made by this object count."""

    def __init__(self, folder: Path, *, anew: bool = False) -> None:
        self._folder, self._anew = folder, anew
        self._made: set[Path] = set()

    def find(self, stage: str, key: str) -> tuple[Done | None, str]:
        """Return a finished stage, or why there is none."""
        folder = self._place(stage, key)
        if self._anew and folder not in self._made:
            return None, "made anew"
        if not (folder / DONE).exists():
            return None, "stopped before; goes on" if folder.is_dir() else "new"
        try:
            done = Done(folder, **json.loads("\n".join(line for _, line in read_lines(folder / DONE))))
            damaged = [name for name, size in done.files.items() if not _has_size(folder / name, size)]
        except (InputError, ValueError, TypeError, AttributeError):
            damaged = [DONE]
        return (None, f"{folder / damaged[0]} is damaged; made anew") if damaged else (done, "cached")

    def do(self, stage: str, key: str, work: Callable[[Path], Figures]) -> Done:
        """Do a stage in its folder; what another process does meanwhile is waited for."""
        folder = self._place(stage, key)
        make_folder(folder)
        with _alone(folder):
            if found := self.find(stage, key)[0]:
                return found
            if self._anew or (folder / DONE).exists():
                _clear(folder)
            start = time.perf_counter()
            figures = work(folder)
            seconds = round(time.perf_counter() - start, 3)
            paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
            files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
            self._made.add(folder)
            write_json(folder / DONE, {"key": key, "seconds": seconds, "figures": figures, "files": files})
            return Done(folder, key, seconds, figures, files)

    def _place(self, stage: str, key: str) -> Path:
        return self._folder / f"{stage}-{key[:12]}"


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _clear(folder: Path) -> None:
    (folder / DONE).unlink(missing_ok=True)  # first: what is left is then not finished
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; the lock goes with the process, however that ends."""
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def link(source: Path, target: Path) -> None:
    """Give a file a second name, at once and in place of what is there; copy it where links are impossible."""
    if target.exists() and target.samefile(source):
        return
    make_folder(target.parent)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.unlink(missing_ok=True)
        try:
            os.link(source, partial)
        except OSError:
            shutil.copy2(source, partial)
        partial.replace(target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", target) from error
    finally:
        partial.unlink(missing_ok=True)


def hash_of(value: object) -> str:
    """Hash a value that JSON can have."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def hash_file(path: Path) -> str:
    """Hash the content of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from error


def hash_folder(folder: Path) -> dict[str, str]:
    """Hash the files of a folder, by name; hidden ones do not count."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in paths}
