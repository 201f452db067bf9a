"""Files: read as UTF-8 line by line, plain or gzipped, and written so that nobody sees one half done."""

import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from csl.errors import InputError, from_system

PARTIAL = ".partial"  # the end of the name of a file that is being written
TRIES = 100  # at making a folder that another process, for which it stayed empty, removes
LONGEST_LINE = 1 << 26  # bytes: a longer one, as a gzip bomb has it, is refused before it fills the memory
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def replacing(path: Path | str) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; the file appears, complete, when the block ends without an exception.

    Otherwise the file that was there stays. While it is written, a lock tells it from what a killed process left. Links
    are followed, and what is no file, such as a pipe, is written to as it is.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}{PARTIAL}")
    try:
        if target.is_dir():
            raise InputError("cannot be written: it is a folder; name a file", path)
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise from_system(error, "cannot be written", path) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def spare(written: Path | None, *read: Path | None) -> None:
    """Refuse to write over what is read, a file or a folder, under whatever names."""
    if written and written.exists() and any(path and path.exists() and path.samefile(written) for path in read):
        raise InputError("is read, and would be written over; name another place for the result", written)


def remove_partial(folder: Path) -> None:
    """Remove the files of a folder that were being written when their process was killed."""
    for path in folder.glob(f".*{PARTIAL}"):
        with suppress(OSError), path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails as long as its process writes
            path.unlink()


@contextmanager
def atomic_writer(path: Path | str) -> Iterator[TextIO]:
    """Open `path` for writing text; the file appears, complete, when the block ends without an exception.

    A name that ends in `.gz` is compressed, with no time stamp, so that the same text gives the same bytes.
    """
    try:
        with replacing(path) as raw, _text(raw, Path(path).suffix == ".gz") as text:
            yield text
    except UnicodeEncodeError as error:  # a rule may have such a token: its notation has escapes
        raise InputError("half of a surrogate pair is no text and cannot be written", path) from error


def _text(raw: BinaryIO, packed: bool) -> TextIO:
    """Write text to a file that stays open when the text is closed."""
    if packed:
        return io.TextIOWrapper(gzip.GzipFile("", "wb", fileobj=raw, mtime=0), encoding="utf-8", newline="\n")
    return os.fdopen(raw.fileno(), "w", encoding="utf-8", newline="\n", closefd=False)


def make_folder(folder: Path | str) -> None:
    """Make a folder, and those above it, unless it is there."""
    for left in reversed(range(TRIES)):
        try:
            return Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if not (left and isinstance(error, FileExistsError | FileNotFoundError)):
                raise from_system(error, "cannot be made a folder to write to", folder) from error


def link(source: Path, target: Path) -> None:
    """Give a file a second name, at once and in place of what is there; copy it where links are impossible."""
    if target.exists() and target.samefile(source):
        return
    make_folder(target.parent)
    partial = target.with_name(f".{target.name}.{os.getpid()}{PARTIAL}")
    try:
        partial.unlink(missing_ok=True)
        try:
            os.link(source, partial)
        except OSError:
            shutil.copy2(source, partial)
        partial.replace(target)
    except OSError as error:
        raise from_system(error, "cannot be written", target) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def hash_file(path: Path) -> str:
    """Hash the content of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise from_system(error, "cannot be read", path) from error


def hash_folder(folder: Path, *, deep: bool = True) -> dict[str, str]:
    """Hash the files of a folder and of folders in it, or its own alone, by name; hidden ones do not count."""
    paths = sorted(
        path for path in folder.glob("**/*" if deep else "*") if path.is_file() and not path.name.startswith(".")
    )
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in paths}


def write_text(path: Path | str, text: str) -> None:
    """Write a whole text file atomically."""
    with atomic_writer(path) as file:
        file.write(text)


def write_json(path: Path | str, value: Any) -> None:
    """Write a value as readable JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def parse_json(text: str) -> Any:
    """Read a JSON value; raises ValueError for all that is wrong with it, be it too deep or no text at all."""
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("half of a surrogate pair in a text; correct its \\u escapes") from error
    return value


def read_json(path: Path | str) -> Any:
    """Read a JSON file; InputError if it cannot be read, ValueError if it is not JSON."""
    return parse_json("\n".join(line for _, line in read_lines(path)))


def read_lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a text file, plain or `.gz`, that must be UTF-8."""
    path = Path(path)
    number = 0
    if "\0" in str(path):
        raise InputError("no file can have this name", path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
                if len(raw) > LONGEST_LINE:
                    raise InputError(f"a line of more than {LONGEST_LINE >> 20} MiB; is this text?", path, number)
                line = raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
                if "\r" in line:
                    raise InputError("carriage return inside a line; end lines with \\n or \\r\\n", path, number)
                yield number, line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeDecodeError as error:
        raise InputError("not valid UTF-8; convert the file, for example with iconv", path, number) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError("not a complete gzip file; copy or download it again", path) from error
    except OSError as error:
        raise from_system(error, "cannot be read", path) from error


atomic_write = replacing


def is_stream(path: Path | str) -> bool:
    """Whether a path is standard output rather than a file."""
    return str(path) in ("-", "/dev/stdout")


refuse_input_as_output = spare
