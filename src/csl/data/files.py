"""Reading and writing examples, and writing any file so that it is never seen half done.

Two formats, each plain or gzipped, told apart by the file name: TSV (`input<TAB>output`, further columns ignored
or named) and JSON lines (field names as options). Readers stream; errors name file and line.
"""

import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from csl.data.example import Example
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


def read_examples(
    path: Path | str,
    *,
    columns: Sequence[str] = (),
    source_field: str = "input",
    target_field: str = "output",
) -> Iterator[Example]:
    """Stream the examples of a `.tsv` or `.jsonl` file (or either with `.gz`).

    `columns` names the TSV columns after the second; those without a name are ignored. In JSON lines, every other
    field that holds a string is kept under its own name.
    """
    path = Path(path)
    json_lines = _is_json_lines(path)
    empty = True
    for number, line in read_lines(path):
        if not line.strip(" "):
            continue
        empty = False
        if json_lines:
            source, target, meta = _json_fields(line, source_field, target_field, path, number)
        else:
            first, tab, rest = line.partition("\t")
            if not tab:
                raise InputError("one column; expected input<TAB>output", path, number)
            source, (target, *more) = first, rest.split("\t")
            meta = dict(zip(columns, more, strict=False))
        example = Example(tuple(source.split()), tuple(target.split()), meta)
        for side, tokens in (("input", example.source), ("output", example.target)):
            if not tokens:
                raise InputError(f"the {side} is empty; remove the line or fill it in", path, number)
        yield example
    if empty:
        raise InputError("no examples in the file; expected lines of input<TAB>output", path)


def read_inputs(path: Path | str, source_field: str = "input") -> list[str]:
    """Read inputs: one a line, the first column of a `.tsv`, or a field of a `.jsonl` file; plain or `.gz`."""
    path, inputs = Path(path), []
    for number, line in read_lines(path):
        if not line.strip():
            continue
        text = line.split("\t")[0]
        if _is_json_lines(path):
            text, _, _ = _json_fields(line, source_field, source_field, path, number)
        inputs.append(" ".join(text.split()))
    return inputs


def _json_fields(
    line: str, source_field: str, target_field: str, path: Path, number: int
) -> tuple[str, str, dict[str, str]]:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise InputError(f"not valid JSON ({error})", path, number) from error
    if not isinstance(record, dict):
        raise InputError("expected a JSON object on each line", path, number)
    for name in (source_field, target_field):
        if not isinstance(record.get(name), str):
            raise InputError(f"no text field {name!r}; the line has {', '.join(record) or 'no fields'}", path, number)
    meta = {k: v for k, v in record.items() if isinstance(v, str) and k not in (source_field, target_field)}
    return record[source_field], record[target_field], meta


def write_examples(path: Path | str, examples: Iterable[Example], *, columns: Sequence[str] = ()) -> int:
    """Write examples to a `.tsv` or `.jsonl` file (or either with `.gz`), atomically; return how many.

    `columns` names the meta values that a TSV keeps, in that order; JSON lines keep all.
    """
    json_lines = _is_json_lines(Path(path))
    count = 0
    with atomic_writer(path) as file:
        for example in examples:
            source, target = example.source_text, example.target_text
            if tuple(source.split()) != example.source or tuple(target.split()) != example.target:
                raise InputError("white space inside a token: it would be read as two", path, count + 1)
            if json_lines:
                pair = {"input": source, "output": target}
                file.write(json.dumps({**pair, **example.meta, **pair}, ensure_ascii=False) + "\n")
            else:
                cells = [source, target, *(example.meta.get(c, "") for c in columns)]
                row = "\t".join(cells)
                if row.count("\t") != len(cells) - 1 or "\n" in row or "\r" in row:
                    raise InputError("a tab or a line break inside a column; write .jsonl instead", path, count + 1)
                if count == 0 and row.startswith("\ufeff"):
                    file.write("\ufeff")  # readers take the first one for a mark of the encoding
                file.write(row + "\n")
            count += 1
    return count


def _is_json_lines(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith((".jsonl", ".json"))
