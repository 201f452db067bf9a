"""Damaged files: every reader returns what is right or refuses in one line that names the file.

Each fast reader gets FEW files, and in the long run, `pytest -m slow tests/fuzz`, MANY, or as many as CSL_FUZZ tells.
Slow readers get a share, none if that is less than half a file.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .damage import FOLDER, MISSING, Change, damaged, damages
from .reader import Reader, try_reader
from .readers import READERS

FEW, MANY = 10, int(os.environ.get("CSL_FUZZ", "300"))
HANG_S = 60  # a file this small takes milliseconds


@contextmanager
def no_hang() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"no answer after {HANG_S} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        if content == FOLDER:
            path.mkdir()
        elif content != MISSING:
            path.write_bytes(content)


def readers(tries: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("reader", [r for r in READERS if round(r.weight * tries)], ids=lambda r: r.name)


@readers(FEW)
def test_damaged_files_are_read_correctly_or_refused_in_one_line(reader: Reader, tmp_path: Path) -> None:
    damage_files(reader, tmp_path, FEW)


@pytest.mark.slow
@readers(MANY)
def test_many_damaged_files(reader: Reader, tmp_path: Path) -> None:
    damage_files(reader, tmp_path, MANY)


def damage_files(reader: Reader, tmp_path: Path, tries: int) -> None:
    files = dict(reader.files())
    folder = tmp_path / "x"
    write(folder, files)
    with no_hang():
        assert try_reader(reader, folder) == "read", "the example itself must be correct"

    @settings(
        max_examples=round(reader.weight * tries),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(damages())
    def damage(changes: list[tuple[int, Change]]) -> None:
        new = damaged(files, reader.names, changes)
        if reader.writes:
            shutil.rmtree(folder)
            write(folder, files | new)
        else:
            write(folder, new)
        try:
            with no_hang():
                try_reader(reader, folder)
        finally:
            if not reader.writes:
                write(folder, {name: files[name] for name in new})

    damage()


@readers(FEW)
def test_missing_files_and_folders_in_their_place_are_refused_or_not_needed(reader: Reader, tmp_path: Path) -> None:
    files = dict(reader.files())
    for name in reader.names:
        for content in (FOLDER, MISSING, b""):
            shutil.rmtree(tmp_path / "x", ignore_errors=True)
            write(tmp_path / "x", files | {name: content})
            try_reader(reader, tmp_path / "x")


@given(st.binary(max_size=200))
@settings(max_examples=FEW, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_bytes_are_refused_or_read(tmp_path: Path, content: bytes) -> None:
    for reader in READERS:
        if len(reader.names) == 1 and reader.weight == 1:
            write(tmp_path, {reader.names[0]: content})
            try_reader(reader, tmp_path)
            (tmp_path / reader.names[0]).unlink()
