"""A disk that is full or read-only, files where folders should be, too many open files: one line, and nothing lost."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from csl.cli import app
from csl.errors import CslError, InputError
from csl.files import atomic_write_text, make_folder, read_lines, write_text
from csl.lock import folder_lock

Start, Files = Callable[[Callable[[], object]], Any], dict[str, bytes]
ROOM = "No space left on device; make room, then give the same command again"


def csl(*line: object) -> tuple[int, str, str]:
    """Run the command; give exit code, standard output and standard error."""
    command = [sys.executable, "-m", "csl", *map(str, line)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_run_on_a_full_disk_goes_on_when_there_is_room(
    disk: Any, start: Start, learn: Callable[..., None], learnt: Files
) -> None:
    messages, sizes = set(), iter(range(16, 1024, 8))
    disk.change(f"size={next(sizes)}k")
    while (status := (child := start(lambda: learn(disk.folder / "run"))).wait()) != 0:
        assert status == 1
        assert child.error.endswith(f"cannot be written: {ROOM}")
        messages.add(Path(child.error.split(": ")[0]).name)
        assert not any(name.endswith((".partial", ".lock")) for name in disk.files)
        disk.change(f"size={next(sizes)}k")
    assert len(messages) > 1  # it was full in several places
    found = {Path(name).name: content for name, content in disk.files.items()}
    assert {name: found[name] for name in learnt if name != "metrics.jsonl"} == {
        name: content for name, content in learnt.items() if name != "metrics.jsonl"
    }
    assert found.keys() == learnt.keys()


def write_much(path: Path) -> None:
    with atomic_write_text(path) as file:
        for _ in range(2000):
            file.write(os.urandom(1000).hex())


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
def test_the_file_that_was_there_stays(name: str, disk: Any) -> None:
    write_text(disk.folder / name, "old\n")
    before = disk.files
    with pytest.raises(CslError, match=f"{name}: cannot be written: {ROOM}") as error:
        write_much(disk.folder / name)
    assert error.value.exit_code == 1
    assert disk.files == before


def fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1000))


def test_commands_on_a_full_and_on_a_read_only_disk(disk: Any, learn: Callable[..., None], learnt: Files) -> None:
    run, data = disk.folder / "run", disk.folder.parent / "train.tsv"
    data.write_text("a\tA\n", "utf-8")
    make_folder(run)
    for name, content in learnt.items():
        (run / name).write_bytes(content)
    before = disk.files
    fill(disk.folder / "filler")
    assert csl("sample", run) == (1, "", f"error: {run / 'samples.tsv'}: cannot be written: {ROOM}\n")
    assert CliRunner().invoke(app, ["grammar", "show", str(run)]).exit_code == 0
    (disk.folder / "filler").unlink()
    assert disk.files == before
    disk.change("ro")
    read_only = "Read-only file system; name a place that can be written to"
    done = CliRunner().invoke(app, ["sample", str(run)])
    assert str(done.exception) == f"{run / 'samples.tsv'}: cannot be written: {read_only}"
    code, _, error = csl("induce", data, "--out", run, "--no-resume")
    assert (code, error) == (2, f"error: {run / 'grammar.txt'}: cannot go on: {read_only}\n")
    learn(run)  # it is done already
    assert disk.files == before


def test_a_limit_on_the_size_of_files(tmp_path: Path, start: Start) -> None:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        write_text(tmp_path / "x", "new" * 10_000)

    write_text(tmp_path / "x", "old")
    child = start(work)
    assert (child.wait(), child.error) == (
        1, f"{tmp_path / 'x'}: cannot be written: File too large; raise the limit on file sizes (ulimit -f), "
        "then give the same command again",
    )  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["error.txt", "x"]
    assert (tmp_path / "x").read_text() == "old"


def lock(folder: Path) -> None:
    with folder_lock(folder):
        pass


WAYS: dict[str, Callable[[Path], object]] = {
    "write": lambda folder: write_text(folder / "x", "new"),
    "read": lambda folder: list(read_lines(folder / "x")),
    "lock": lock,
}


@pytest.mark.parametrize("way", WAYS)
def test_too_many_open_files(way: str, tmp_path: Path, start: Start) -> None:
    def work() -> None:
        free = os.open(tmp_path, os.O_RDONLY)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))
        os.close(free)
        WAYS[way](tmp_path)

    write_text(tmp_path / "x", "old")
    child = start(work)
    assert child.wait() == 1
    assert child.error.endswith(
        "Too many open files; raise the limit on open files (ulimit -n), then give the same command again"
    )
    assert (tmp_path / "x").read_text() == "old"


@pytest.mark.parametrize("way", ["write", "read"])
def test_no_permission(way: str, tmp_path: Path, start: Start) -> None:
    def work() -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)  # root has all permissions
        WAYS[way](tmp_path / "mine")

    (tmp_path / "mine").mkdir()
    write_text(tmp_path / "mine" / "x", "old")
    (tmp_path / "mine").chmod(0o000)
    child = start(work)
    assert child.wait() == 2
    (tmp_path / "mine").chmod(0o700)
    assert child.error.startswith(str(tmp_path / "mine" / "x"))
    assert child.error.endswith("Permission denied; change the permissions, or name another place")
    assert (tmp_path / "mine" / "x").read_text() == "old"


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    remedy = "a file stands where a folder is needed; move it, or name another place"
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=remedy), folder_lock(path):
            pass
    with pytest.raises(InputError, match=remedy):
        write_text(tmp_path / "file" / "x", "text")
    assert (tmp_path / "file").read_text("utf-8") == "mine"


def test_output_that_nobody_can_write() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "csl", "data", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, f"error: cannot go on: {ROOM}\n")


def test_no_place_for_compiled_code(tmp_path: Path) -> None:
    """As where the package and the home folder are read-only."""
    nowhere = "import csl.cli, numba.core.caching as c; c.CacheImpl._locator_classes = []; csl.cli.main()"
    (tmp_path / "grammar.txt").write_text("a ### A\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", nowhere, "parse", str(tmp_path), "a"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        2, "error: compiled code (NUMBA_CACHE_DIR): cannot be kept beside the package or at home; "
        "name a folder in NUMBA_CACHE_DIR\n",
    )  # fmt: skip
