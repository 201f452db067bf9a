"""Downloads of original data files from their homes, checked by size and SHA-256 before anything is written.

Only files with a known checksum are fetched. The checksums here were computed from copies of the files; those of
`tasks.txt`, `train.tsv` and `dev.tsv` also agree with public records of the same commits. URLs name a commit, so that
what they give cannot change. For everything else a hint says where it is and how to get it.

Files are a few megabytes at most and are held in memory until they are known to be right.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from csl import __version__
from csl.errors import CslError, InputError, from_system
from csl.files import write_text

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

    base_url: str
    files: tuple[RemoteFile, ...]
    by_hand: str = ""


HOMES = {
    "scan": Home(
        "https://raw.githubusercontent.com/brendenlake/SCAN/c4b756cbc010d75c912f16c42c8f15dc6b7e6c8f/",
        (RemoteFile("tasks.txt", 4080388, "d824c7d9e9149ba497e25f701981dac79954e04bf670d22e5c209f076ac6c89f"),),
        by_hand="the MCD splits also need mcd1.json, mcd2.json and mcd3.json in the same folder; they are in "
        "https://storage.googleapis.com/cfq_dataset/scan-splits.tar.gz",
    ),
    "cogs": Home(
        "https://raw.githubusercontent.com/najoungkim/COGS/165a7b669eade971fa47bf568a2e51925360fed8/data/",
        (
            RemoteFile("train.tsv", 4146574, "220b3804b562c0156ee986eff1bdd15c27e52142549362a64f57baf86e304c78"),
            RemoteFile("dev.tsv", 522121, "ab66388a309c7ac1ad210c781a6a0ce12281a9ef24619a12422a752cef61bc21"),
            RemoteFile("test.tsv", 521111, "68f8e51e9f6d9cd22d64efe68dd21d7ea5ba327e9a2359481030161aea757035"),
        ),
        by_hand="the generalisation set has no checksum here: download gen.tsv (the version of 2022-09-13 or later) "
        "from https://github.com/najoungkim/COGS/tree/main/data into the same folder",
    ),
    "geoquery": Home(
        "",
        (),
        by_hand="take corpus.xml with FunQL from https://www.cs.utexas.edu/~ml/wasp/ and geobase from "
        "https://www.cs.utexas.edu/~ml/nldata/geoquery.html; docs/datasets/geoquery.md lists all files it takes",
    ),
    "smcalflow-cs": Home(
        "",
        (),
        by_hand="get the archive that https://github.com/microsoft/compositional-generalization-span-level-attention "
        "points to; --source is the folder with its folders source_domain_with_target_num8, 16 and 32",
    ),
}
HOMES["smcalflow-cs-tenth"] = HOMES["smcalflow-cs"]


def home_of(name: str) -> Home:
    """Look up where a data set comes from; one that cannot be fetched is an error that says what to do instead."""
    home = HOMES[name]
    if not home.files:
        raise InputError(
            f"{name} cannot be fetched: no single file of it with a known checksum is online; {home.by_hand}"
        )
    return home


def fetch(home: Home, folder: Path, progress: Progress | None = None) -> list[Path]:
    """Download files into a folder; one that is there already and right is left alone, a wrong one is not written."""
    return [_fetch_file(home.base_url + file.path, file, folder, progress or _silent) for file in home.files]


def _silent(name: str, done: int, size: int) -> None:
    pass


def _fetch_file(url: str, file: RemoteFile, folder: Path, progress: Progress) -> Path:
    target = folder / file.path.rpartition("/")[2]
    if not target.resolve().is_relative_to(folder.resolve()) or target.is_dir():
        raise InputError(f"refusing to write {url} outside the folder", target)
    if target.is_file() and target.stat().st_size == file.size and _is_right(_read(target), file):
        progress(target.name, file.size, file.size)
        return target
    content = _download(url, file.size, lambda done: progress(target.name, done, file.size))
    if len(content) < file.size:
        raise CslError(f"{url}: the download broke off after {len(content)} of {file.size} bytes; try again")
    if not _is_right(content, file):
        raise CslError(f"{url}: not the file we know (expected {file.size} bytes, SHA-256 {file.sha256}); not written")
    write_text(target, content.decode("utf-8"))
    return target


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise from_system(error, "cannot be read", path) from error


def _is_right(content: bytes, file: RemoteFile) -> bool:
    return len(content) == file.size and hashlib.sha256(content).hexdigest() == file.sha256


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
