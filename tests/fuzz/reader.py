"""A reader of files: a valid example of what it reads, and what must hold of what it returns.

A reader either returns something that `check` finds right, or raises a CslError of one line that names the place.
"""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csl.errors import CslError

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Reader:
    """What is read, from which files, and what must hold afterwards."""

    name: str
    files: Callable[[], Files]  # a folder of valid files
    names: tuple[str, ...]  # those that are damaged
    read: Callable[[Path], Any]  # of the folder
    check: Callable[[Path, Any], None] = field(default=lambda folder, value: None)
    weight: float = 1.0  # examples tried, as a share of those of a fast reader
    writes: bool = False  # into the folder
    named: bool = True  # errors name a place in the folder


def texts(files: Mapping[str, str]) -> Callable[[], Files]:
    """Give files of text by name."""
    return lambda: {name: content.encode() for name, content in files.items()}


def content_of(folder: Path) -> dict[str, bytes]:
    """Read a folder, whatever is in it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def plain(path: Path) -> bytes:
    """Read a file as a person would, with other tools."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def try_reader(reader: Reader, folder: Path) -> str:
    """Read a folder: `read` or `refused`; whatever else happens is a bug and comes out as it is."""
    try:
        value = reader.read(folder)
    except CslError as error:
        message = str(error)
        assert message.isprintable(), message
        assert len(message) <= 3000
        assert not reader.named or str(folder) in message or "…" in message, message
        return "refused"
    reader.check(folder, value)
    return "read"
