"""Where a search or a fit stands, in a file, together with the lines of metrics that lead there.

State and metrics are one file, as a process can be killed between two. Files are written atomically; one that is
damaged all the same is reported, and the work starts from the beginning.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from csl.arrays import Arrays, DamagedError, load_arrays, save_arrays
from csl.files import write_text
from csl.log import Log

log = Log("checkpoint")


class Checkpoint:
    """Keeps the states of the work that has this key, and writes its metrics; without a path, keeps nothing."""

    def __init__(self, path: Path | None = None, key: str = "", metrics: Path | None = None) -> None:
        self._path, self._key, self._metrics = path, key, metrics
        self._held: tuple[Arrays, Mapping[str, object]] = {}, {}

    @cached_property
    def found(self) -> tuple[Arrays, dict[str, Any]] | None:
        """The state saved last, if it is of this work; its metrics are written if a kill came between the two."""
        if self._path is None or not self._path.exists():
            return None
        try:
            arrays, about = load_arrays(self._path, "")
        except DamagedError:
            log.warning(f"{self._path}: damaged file; starting from the beginning")
            return None
        if about.get("key") != self._key:
            return None
        self._write_metrics(about["lines"])
        return arrays, about

    @cached_property
    def lines(self) -> list[str]:
        """The metrics up to the state saved last."""
        return list(self.found[1]["lines"]) if self.found else []

    def load(self) -> Arrays | None:
        """Give the arrays of the state saved last."""
        return self.found[0] if self.found else None

    def save(self, arrays: Arrays, about: Mapping[str, object] | None = None) -> None:
        """Take a state; it is written with the next line of metrics, which says what led there."""
        self._held = arrays, about or {}

    def log(self, line: str) -> None:
        """Add a line of metrics, and write the state."""
        self.lines.append(line)
        if self._path:
            arrays, about = self._held
            save_arrays(self._path, arrays, {**about, "key": self._key, "lines": self.lines})
        self.write_metrics()

    def write_metrics(self) -> None:
        """Write the metrics as they are known now."""
        self._write_metrics(self.lines)

    def _write_metrics(self, lines: Iterable[str]) -> None:
        if self._metrics:
            write_text(self._metrics, "".join(f"{line}\n" for line in lines))

    def remove(self) -> None:
        """Remove the state: the work is done, or starts from the beginning."""
        if self._path:
            self._path.unlink(missing_ok=True)
