"""Downloads of original data files from their homes, checked by size and SHA-256 before anything is written.

Only files with a known checksum are fetched. The checksums here were computed from copies of the files; those of
`tasks.txt`, `train.tsv` and `dev.tsv` also agree with public records of the same commits. URLs name a commit, so that
what they give cannot change. For everything else a hint tells where it is and how to get it.

Files are a few megabytes at most and are held in memory until they are checked.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from csl import __version__
from csl.errors import CslError, InputError
from csl.files import hash_file, write_text

TIMEOUT_S = 30
_CHUNK = 1 << 16

Progress = Callable[[str, int, int], None]  # file name, bytes so far, bytes in all


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A UTF-8 text file at its home, by its path there; it is stored under the last part of the path."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Home:
    """Where a data set's original files come from, and what has to be fetched by hand."""

    base_url: str = ""
    files: tuple[RemoteFile, ...] = ()
    by_hand: str = ""


def fetch(home: Home, folder: Path, progress: Progress = lambda name, done, size: None) -> list[Path]:
    """Download files into a folder; a correct one that is there already stays, a wrong one is not written."""
    if not home.files:
        raise InputError(f"these files cannot be fetched: none with a known checksum is online; {home.by_hand}")
    return [_fetch_file(home.base_url + file.path, file, folder, progress) for file in home.files]


def _fetch_file(url: str, file: RemoteFile, folder: Path, progress: Progress) -> Path:
    target = folder / file.path.rpartition("/")[2]
    if not target.resolve().is_relative_to(folder.resolve()) or target.is_dir():
        raise InputError(f"refusing to write {url} outside the folder", target)
    if target.is_file() and hash_file(target) == file.sha256:
        progress(target.name, file.size, file.size)
        return target
    content = _download(url, file.size, lambda done: progress(target.name, done, file.size))
    if len(content) < file.size:
        raise CslError(f"{url}: the download stopped after {len(content)} of {file.size} bytes; try again")
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise CslError(f"{url}: not the expected file ({file.size} bytes, SHA-256 {file.sha256}); not written")
    write_text(target, content.decode("utf-8"))
    return target


def _download(url: str, size: int, progress: Callable[[int], None]) -> bytes:
    """Read at most one byte more than expected: enough to see that a file is too long."""
    content = bytearray()
    try:
        with urlopen(Request(url, headers={"User-Agent": f"csl/{__version__}"}), timeout=TIMEOUT_S) as response:
            while len(content) <= size and (chunk := response.read(min(_CHUNK, size + 1 - len(content)))):
                content += chunk
                progress(len(content))
    except HTTPError as error:
        raise CslError(f"{url}: the server answers {error.code} {error.reason}") from error
    except (URLError, HTTPException, OSError) as error:
        raise CslError(f"{url}: cannot be downloaded ({getattr(error, 'reason', error)}); try again") from error
    return bytes(content)
