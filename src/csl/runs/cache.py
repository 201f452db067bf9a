"""Results of stages that runs share, kept by key, so that nothing is computed twice.

The files of a stage are linked from RUNS/.cache/<stage>-<key> into run folders. As files are only ever replaced, no
link changes another run; a file that someone edited is recognised by its checksum, and its stage is repeated.
"""

from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from csl.errors import InputError
from csl.files import hash_file, link, read_json, write_json
from csl.lock import folder_lock
from csl.runs.folder import Done

DONE = "done.json"


class Cache:
    """The results of stages below one folder; with `fresh`, only those made by this object count."""

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder, self._fresh = folder, fresh
        self._made: set[Path] = set()

    def lock(self, stage: str, key: str) -> AbstractContextManager[None]:
        """Wait for other processes that work on the same stage."""
        return folder_lock(self._place(stage, key), wait=True)

    def find(self, stage: str, key: str) -> Done | None:
        """Return a complete stage whose files are as they were written."""
        folder = self._place(stage, key)
        if not (folder / DONE).exists() or (self._fresh and folder not in self._made):
            return None
        try:
            done = Done.of(read_json(folder / DONE))
            sound = done.key == key and all(hash_file(folder / name) == sum_ for name, sum_ in done.files.items())
        except (InputError, OSError, ValueError, TypeError):
            return None
        return done if sound else None

    def keep(self, stage: str, done: Done, folder: Path) -> None:
        """Keep the files of a stage that was done in a folder; the record is written last."""
        place = self._place(stage, done.key)
        (place / DONE).unlink(missing_ok=True)
        for name in done.files:
            link(folder / name, place / name)
        write_json(place / DONE, asdict(done))
        self._made.add(place)

    def link(self, stage: str, done: Done, folder: Path) -> None:
        """Put the files of a stage into a run folder."""
        for name in done.files:
            link(self._place(stage, done.key) / name, folder / name)

    def _place(self, stage: str, key: str) -> Path:
        return self._folder / f"{stage}-{key[:12]}"
