"""A disk that is full or read-only, files where folders should be, too many open files: one line, and nothing lost."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from csl.errors import CslError, InputError
from csl.files import atomic_write_text, read_lines, write_text
from csl.lock import folder_lock

from .conftest import EM, Csl, contents, limited

OWN = {"stdin": None}  # as a process of its own
Fork = Callable[[Callable[[], object]], Any]


def test_a_run_on_a_full_disk_resumes_when_there_is_space(csl: Csl, disk: Any, run: Path) -> None:
    sizes, lines = iter(range(16, 1024, 20)), ["induce train.tsv --out disk/run --preset scan", f"fit disk/run {EM}"]
    disk.change(f"size={next(sizes)}k")
    failures = 0
    for line in lines:
        while (done := csl.process(line))[0] != 0:
            failures += 1
            assert done[0] == 1, done
            assert "No space left" in done[2].splitlines()[-1]
            assert not list(disk.folder.rglob(".*"))
            disk.change(f"size={next(sizes)}k")
    assert failures > 1
    made = contents(disk.folder / "run")
    assert {name: made[name] for name in ("grammar.txt", "model.npz")} == {
        name: (run / name).read_bytes() for name in ("grammar.txt", "model.npz")
    }


def write_much(path: Path) -> None:
    with atomic_write_text(path) as file:
        for _ in range(2000):
            file.write(os.urandom(1000).hex())


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
def test_the_file_that_was_there_stays(name: str, disk: Any) -> None:
    write_text(disk.folder / name, "old\n")
    before = contents(disk.folder)
    with pytest.raises(CslError, match=name) as error:
        write_much(disk.folder / name)
    assert error.value.exit_code == 1
    assert contents(disk.folder) == before


def test_commands_on_a_full_and_on_a_read_only_disk(csl: Csl, disk: Any, run: Path) -> None:
    shutil.copytree(run, disk.folder / "run")
    kept = {name: data for name, data in contents(disk.folder).items() if name.endswith((".txt", ".npz", "train.tsv"))}
    with suppress(OSError), (disk.folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1000))
    csl.refused("sample disk/run -n 50", "No space left", code=1, **OWN)
    assert csl("grammar show disk/run")[0] == csl("parse disk/run walk")[0] == 0
    (disk.folder / "filler").unlink()
    assert contents(disk.folder).items() >= kept.items()
    assert csl("sample disk/run -n 5 --set max_depth=4")[0] == 0
    before = contents(disk.folder)
    disk.change("ro")
    csl.refused("sample disk/run -n 50", "Read-only file system", **OWN)
    csl.refused("induce train.tsv --out disk/run --no-resume --preset scan", "Read-only file system", **OWN)
    assert csl("parse disk/run walk")[0] == 0
    assert contents(disk.folder) == before


def test_a_limit_on_the_size_of_files(csl: Csl, run: Path) -> None:
    (csl.folder / "x.tsv").write_text("old")
    limit = limited(resource.RLIMIT_FSIZE, 10_000)
    csl.refused(f"sample {run} -n 5000 --out x.tsv", "ulimit -f", code=1, preexec_fn=limit)
    assert (csl.folder / "x.tsv").read_text() == "old"
    assert not list(csl.folder.glob(".*"))


def lock(folder: Path) -> None:
    with folder_lock(folder):
        pass


WAYS: dict[str, Callable[[Path], object]] = {
    "write": lambda folder: write_text(folder / "x", "new"),
    "read": lambda folder: list(read_lines(folder / "x")),
    "lock": lock,
}


@pytest.mark.parametrize("way", WAYS)
def test_too_many_open_files(way: str, tmp_path: Path, fork: Fork) -> None:
    def work() -> None:
        free = os.open(tmp_path, os.O_RDONLY)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))
        os.close(free)
        WAYS[way](tmp_path)

    write_text(tmp_path / "x", "old")
    child = fork(work)
    assert child.wait() == 1
    assert "ulimit -n" in child.error
    assert (tmp_path / "x").read_text() == "old"


@pytest.mark.parametrize("way", ["write", "read"])
def test_no_permission(way: str, tmp_path: Path, fork: Fork) -> None:
    def work() -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)  # root has all permissions
        WAYS[way](tmp_path / "mine")

    (tmp_path / "mine").mkdir()
    write_text(tmp_path / "mine" / "x", "old")
    (tmp_path / "mine").chmod(0o000)
    child = fork(work)
    assert child.wait() == 2
    (tmp_path / "mine").chmod(0o700)
    assert child.error.startswith(str(tmp_path / "mine" / "x"))
    assert "Permission denied" in child.error
    assert (tmp_path / "mine" / "x").read_text() == "old"


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="file"), folder_lock(path):
            pass
    with pytest.raises(InputError, match="file"):
        write_text(tmp_path / "file" / "x", "text")
    assert (tmp_path / "file").read_text("utf-8") == "mine"


def test_output_that_nobody_can_write(csl: Csl) -> None:
    with Path("/dev/full").open("w") as full:
        csl.refused("data list", "No space left", code=1, stdout=full)


def test_no_place_for_compiled_code(run: Path) -> None:
    """As where the package and the home folder are read-only."""
    nowhere = "import csl.cli, numba.core.caching as c; c.CacheImpl._locator_classes = []; csl.cli.main()"
    command = [sys.executable, "-c", nowhere, "parse", str(run), "walk"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert done.stderr.count("\n") == 1
