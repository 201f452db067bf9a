"""Files: read as UTF-8 line by line, plain or gzipped, and written so that nobody sees a half-written one.

All text that is read or written passes through here, so that half of a surrogate pair, which no file can hold, is
refused in one place.
"""

import errno
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

from csl.errors import InputError, from_system, refuse

PARTIAL = ".partial"  # the end of the name of a file that is being written
_unfinished: set[Path] = set()  # files that this process is writing
MAX_LINE = 8 << 20  # bytes of a line
MAX_RATIO = 50  # a .gz file may unpack to so many times its size (SCAN, which repeats itself, has 33),
MIN_UNPACKED = 16 << 20  # or to so many bytes, whichever is more; other files may have any size
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_STREAM = re.compile(r"-|/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+")


def is_stream(path: Path | str) -> bool:
    """Tell whether output to `path` is a stream: `-`, `/dev/stdout`, a pipe, a device. No file can lie beside it."""
    path = Path(path)
    return bool(_STREAM.fullmatch(str(path))) or (path.exists() and not path.is_file() and not path.is_dir())


@contextmanager
def atomic_write(path: Path | str, *, follow_links: bool = True) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; the file appears, complete, when the block ends without an exception.

    Otherwise the file that was there stays. A symbolic link is followed, or replaced with `follow_links=False`. A
    stream is written to directly, after what was written to it before.
    """
    target = Path(os.path.realpath(path) if follow_links else path)
    try:
        if is_stream(path) and (follow_links or not target.is_symlink()):
            with _open_stream(str(path)) as file:
                yield file
            return
        if target.is_dir() and not target.is_symlink():
            raise InputError("cannot be written: it is a folder; choose a file name", path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with _partial(target) as partial:
            with _open_locked(partial) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if os.name != "nt":
                    partial.replace(target)  # while it is locked
            if os.name == "nt":
                partial.replace(target)  # Windows renames no open file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise from_system(error, "cannot be written", path) from error


@contextmanager
def atomic_write_text(path: Path | str, *, follow_links: bool = True) -> Iterator[TextIO]:
    """Open `path` for writing text, as `atomic_write` does for bytes.

    A name that ends in `.gz` is compressed, with no time stamp, so that the same text gives the same bytes.
    """
    try:
        with atomic_write(path, follow_links=follow_links) as raw:
            packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if Path(path).suffix == ".gz" else None
            text = io.TextIOWrapper(packed or raw, encoding="utf-8", newline="\n")
            try:
                yield text
            finally:
                text.detach()  # flushes it; `raw` stays open
                if packed:
                    packed.close()
    except UnicodeEncodeError as error:  # a rule may have such a token: its notation has escapes
        raise InputError("half of a surrogate pair is no text and cannot be written", path) from error


@contextmanager
def _open_stream(name: str) -> Iterator[BinaryIO]:
    """Open a stream; standard output and standard error stay open afterwards."""
    if name in ("-", "/dev/stdout", "/dev/stderr"):
        standard = sys.stderr if name.endswith("err") else sys.stdout
        if standard is None:  # closed by who started this process
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        standard.flush()
        yield standard.buffer
        standard.flush()
    elif _STREAM.fullmatch(name):
        with os.fdopen(os.dup(int(name.rpartition("/")[2])), "wb") as file:
            yield file
    else:
        with open(name, "wb") as file:
            yield file


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """Give the name under which this thread writes a file; remove what killed processes left of it."""
    remove_partial(target.parent, target.name)
    partial = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_native_id()}{PARTIAL}")
    _unfinished.add(partial)
    try:
        yield partial
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        _unfinished.discard(partial)


def remove_unfinished() -> None:
    """Remove what this process is writing, before it ends at once; Ctrl-C may come just before a `with` begins."""
    for partial in list(_unfinished):
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _open_locked(path: Path) -> BinaryIO:
    """Create a file and lock it, which distinguishes it from what a killed process left."""
    while True:
        file = path.open("xb")
        _lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # `remove_partial` of another process was faster than the lock


def _lock(file: BinaryIO, *, wait: bool) -> bool:
    from filelock import lock_descriptor  # noqa: PLC0415 - slow to import, and reading does not need it

    try:
        return lock_descriptor(file.fileno(), blocking=wait)
    except OSError:  # a file system without locks
        return wait


def remove_partial(folder: Path, name: str | None = None) -> None:
    """Remove the files of a folder, or those of one name, that were being written when their process was killed."""
    pattern = re.compile(rf"\.{re.escape(name) if name else '.+'}(\.\d+)+{re.escape(PARTIAL)}")
    with suppress(OSError):
        for path in [path for path in folder.iterdir() if pattern.fullmatch(path.name)]:
            with suppress(OSError), path.open("r+b") as file:
                # Not while its process writes; once it is complete, the name may be that of its writer's next file.
                if _lock(file, wait=False) and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    path.unlink()


def refuse_input_as_output(output: Path | None, *inputs: Path | None) -> None:
    """Refuse to overwrite an input, a file or a folder, under whatever names."""
    if output and output.exists() and any(path and path.exists() and path.samefile(output) for path in inputs):
        raise InputError("is an input and would be overwritten; choose another output path", output)


def make_folder(folder: Path | str) -> None:
    """Create a folder, and those above it, unless it exists."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_system(error, "cannot be created", folder) from error


def link(source: Path, target: Path) -> None:
    """Give a file a second name, at once and in place of what is there; copy it where links are impossible."""
    if target.exists() and target.samefile(source):
        return
    make_folder(target.parent)
    try:
        with _partial(target) as partial:
            try:
                os.link(source, partial)
            except OSError:
                shutil.copy2(source, partial)
            partial.replace(target)
    except OSError as error:
        raise from_system(error, "cannot be written", target) from error


def hash_file(path: Path) -> str:
    """Hash the content of a file; a pipe or a device is refused, as it can be read only once, or has no end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError("is a pipe or a device; write it to a file first", path)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise from_system(error, "cannot be read", path) from error


def hash_folder(folder: Path, *, deep: bool = True) -> dict[str, str]:
    """Hash the files of a folder and of folders in it, or only its own, by name; hidden ones do not count."""
    paths = sorted(
        path for path in folder.glob("**/*" if deep else "*") if path.is_file() and not path.name.startswith(".")
    )
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in paths}


def write_text(path: Path | str, text: str, *, follow_links: bool = True) -> None:
    """Write a whole text file atomically."""
    with atomic_write_text(path, follow_links=follow_links) as file:
        file.write(text)


def write_json(path: Path | str, value: Any, *, follow_links: bool = True) -> None:
    """Write a value as readable JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n", follow_links=follow_links)


def parse_json(text: str) -> Any:
    """Read a JSON value; ValueError for everything that is wrong with it: a key twice, too deep, no text at all."""
    try:
        value = _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("half of a surrogate pair in a text; correct its \\u escapes") from error
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice; remove one")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)  # made once: that takes as long as reading a line


def read_json(path: Path | str) -> Any:
    """Read a JSON file; InputError if it cannot be read, ValueError if it is not JSON."""
    return parse_json("\n".join(line for _, line in read_lines(path)))


def read_lines(path: Path | str, bad: Callable[[InputError], None] = refuse) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a text file, plain or `.gz`, that must be UTF-8; `-` is stdin.

    A line that is too long or no text is refused, or left out if `bad` does not raise the error that it is given.
    """
    path = Path(path)
    if "\0" in str(path):
        raise InputError("no file can have this name", path)
    try:
        with _open_bytes(path) as file:
            for number, raw in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), start=1):
                if len(raw) > MAX_LINE:
                    while raw and not raw.endswith(b"\n"):
                        raw = file.readline(MAX_LINE)  # noqa: PLW2901 — the rest of the line
                    bad(InputError(f"a line of more than {MAX_LINE >> 20} MiB; is this text?", path, number))
                    continue
                try:
                    line = raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
                except UnicodeDecodeError:
                    bad(InputError("not valid UTF-8; convert the file, for example with iconv", path, number))
                    continue
                if "\r" in line:
                    bad(InputError("carriage return inside a line; end lines with \\n or \\r\\n", path, number))
                    continue
                yield number, line.removeprefix("\ufeff") if number == 1 else line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError("not a complete gzip file; copy or download it again", path) from error
    except OSError as error:
        raise from_system(error, "cannot be read", path) from error


def line_end(path: Path) -> str:
    """See how the first line of a text file ends; that of a stream is not known before it is read."""
    if not path.is_file():
        return "\n"
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        return "\r\n" if file.readline(MAX_LINE).endswith(b"\r\n") else "\n"


@contextmanager
def _open_bytes(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file or standard input, which stays open, and unpack it."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed", path)
        data = io.BytesIO(sys.stdin.buffer.read())
        yield gzip.GzipFile("", "rb", fileobj=data) if data.getvalue().startswith(b"\x1f\x8b") else data
        return
    if path.suffix != ".gz":
        with path.open("rb") as file:
            yield file
        return
    if path.is_file():
        _check_unpacked(path)
    with gzip.open(path, "rb") as packed:
        yield packed


def _check_unpacked(path: Path) -> None:
    """Refuse a compressed file that unpacks to too much, before its lines fill the memory."""
    allowed = max(MIN_UNPACKED, MAX_RATIO * path.stat().st_size)
    with gzip.open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            allowed -= len(chunk)
            if allowed < 0:
                raise InputError(f"unpacks to over {MAX_RATIO} times its size; if it is correct, unpack it", path)
