"""Results of stages, kept by what they depend on, so that nothing is computed twice.

A stage works in the folder <stage>-<key> and is finished when done.json is there, which is written last. A folder
without it is of a stage that was stopped, and goes on. A finished folder whose files are not as they were written is
made anew: sizes would not tell, as run folders hold links to these files, which someone may edit. Hashing takes less
than reading them does.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csl.files import hash_file, hash_folder, read_json, write_json
from csl.lock import LOCK, folder_lock
from csl.errors import InputError

Figures = dict[str, Any]  # what a stage found, as JSON
DONE = "done.json"


@dataclass(frozen=True)
class Done:
    """A finished stage: where its files are, what it found, and the seconds it took."""

    folder: Path
    key: str
    seconds: float
    figures: Figures
    files: dict[str, str]  # checksums by name


class Cache:
    """The results of stages below one folder; with `anew`, only those made by this object count."""

    def __init__(self, folder: Path, *, anew: bool = False) -> None:
        self._folder, self._anew = folder, anew
        self._made: set[Path] = set()
        self._sound: dict[Path, Done] = {}  # checked before

    def find(self, stage: str, key: str) -> tuple[Done | None, str]:
        """Return a finished stage, or why there is none."""
        folder = self._place(stage, key)
        if self._anew and folder not in self._made:
            return None, "made anew"
        if not (folder / DONE).exists():
            return None, "stopped before; goes on" if folder.is_dir() else "new"
        try:
            record = read_json(folder / DONE)
            if record.pop("sha256", None) != hash_of(record):
                raise ValueError("the checksum is another")
            done = Done(folder, **record)
            if self._sound.get(folder) == done:
                return done, "cached"
            damaged = [name for name, checksum in done.files.items() if not _is_sound(folder, name, checksum)]
        except (InputError, OSError, ValueError, TypeError, AttributeError):
            damaged = [DONE]
        if damaged:
            return None, f"{folder / damaged[0]} is damaged; made anew"
        self._sound[folder] = done
        return done, "cached"

    def do(self, stage: str, key: str, work: Callable[[Path], Figures]) -> Done:
        """Do a stage in its folder; what another process does meanwhile is waited for."""
        folder = self._place(stage, key)
        with folder_lock(folder, wait=True):
            if found := self.find(stage, key)[0]:
                return found
            if self._anew or (folder / DONE).exists():
                _clear(folder)
            start = time.perf_counter()
            figures = work(folder)
            seconds = round(time.perf_counter() - start, 3)
            files = hash_folder(folder)
            self._made.add(folder)
            record = {"key": key, "seconds": seconds, "figures": figures, "files": files}
            write_json(folder / DONE, {**record, "sha256": hash_of(record)})
            return Done(folder, key, seconds, figures, files)

    def _place(self, stage: str, key: str) -> Path:
        return self._folder / f"{stage}-{key[:12]}"


def _is_sound(folder: Path, name: str, checksum: str) -> bool:
    path = folder / name  # is linked into a run folder under the same name: one that leads out of it would do harm
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts
    return inside and path.is_file() and hash_file(path) == checksum


def _clear(folder: Path) -> None:
    (folder / DONE).unlink(missing_ok=True)  # first: what is left is then not finished
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


def hash_of(value: object) -> str:
    """Hash a value that JSON can have."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
