"""Where a search or a fit stands, in a file, with the lines of the log that lead there: who goes on misses nothing.

State and log are one file, as a process can be killed between two. The file before the last is kept as
<name>.previous.npz: if the last one is damaged, the work goes on from there.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from csl.files import link
from csl.arrays import DAMAGED, Arrays, DamagedError, load_arrays, save_arrays


class Checkpoint:
    """Keeps the states of the work that has this mark; `say` hears of damage, `remedy` is for when nothing is left."""

    def __init__(self, path: Path, mark: str, remedy: str, say: Callable[[str], None] = lambda _: None) -> None:
        self._path, self._mark, self._remedy, self._say = path, mark, remedy, say
        self._previous = path.with_suffix(f".previous{path.suffix}")
        self._held: tuple[Arrays, Mapping[str, object]] = {}, {}

    @cached_property
    def found(self) -> tuple[Arrays, dict[str, Any]] | None:
        """The state saved last, if it is of this work."""
        damage = None
        for path in (self._path, self._previous):
            if not path.exists():
                continue
            try:
                arrays, about = load_arrays(path, self._remedy)
            except DamagedError as error:
                damage = damage or error
                continue
            if about.get("mark") != self._mark:
                break
            if damage:
                self._say(f"{self._path}: {DAMAGED}; the state before, {path.name}, is taken")
            return arrays, about
        if damage:
            raise damage
        return None

    @cached_property
    def lines(self) -> list[str]:
        """The log up to the state saved last."""
        return list(self.found[1]["lines"]) if self.found else []

    def hold(self, arrays: Arrays, about: Mapping[str, object]) -> None:
        """Take a state; it is saved with the next line of the log, which says what led there."""
        self._held = arrays, about

    def log(self, line: str) -> None:
        """Add a line to the log, and save the state."""
        self.lines.append(line)
        if self._path.exists():
            link(self._path, self._previous)
        arrays, about = self._held
        save_arrays(self._path, arrays, {**about, "mark": self._mark, "lines": self.lines})

    def remove(self) -> None:
        """Remove all states: the work is done, or starts anew."""
        for path in (self._previous, self._path):
            if path.exists():  # a read-only disk refuses to remove even what is not there
                path.unlink()


class ArraysCheckpoint(Checkpoint):
    """Keeps states that are arrays and nothing else, as those of fits are."""

    def load(self) -> Arrays | None:
        """Give the state saved last."""
        return self.found[0] if self.found else None

    def save(self, state: Arrays) -> None:
        """Take a state, for the next line of the log."""
        self.hold(state, {})
