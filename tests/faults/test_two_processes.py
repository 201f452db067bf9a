"""Two processes on one run folder: the second is refused; readers never are; a lock ends with its process."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from csl.cli import app
from csl.errors import CslError, InputError
from csl.files import atomic_write, write_text
from csl.lock import LOCK, folder_lock

from .conftest import EM, Csl, contents

Fork = Callable[[Callable[[], object]], Any]


def take(folder: Path, fork: Fork) -> Any:
    """Start a process that works in a folder."""
    ready, locked = os.pipe()

    def hold() -> None:
        with folder_lock(folder):
            os.write(locked, b"locked")
            time.sleep(600)

    child = fork(hold)
    os.read(ready, 6)
    return child


@pytest.fixture
def taken(run: Path, fork: Fork) -> Iterator[Any]:
    """A process that works in the run folder."""
    child = take(run, fork)
    yield child
    child.kill()


@pytest.mark.parametrize(
    "line",
    ["induce {train} --out {run}", "induce {train} --out {run} --no-resume", f"fit {{run}} {EM} --seed 3",
     "sample {run} -n 7", "augment {train} --out {run}", "grammar accept {run}"],
)  # fmt: skip
@pytest.mark.usefixtures("taken")
def test_commands_that_write_are_refused(csl: Csl, run: Path, line: str) -> None:
    before = contents(run)
    done = CliRunner().invoke(app, line.format(run=run, train=csl.folder / "train.tsv").split())
    assert isinstance(done.exception, CslError)
    assert done.exception.exit_code == 1
    assert "another process" in str(done.exception)
    assert contents(run) == before


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize(
    "line",
    ["parse {run} walk", "evaluate {run} {train}", "grammar show {run}", "grammar coverage {run} {train}",
     "sample {run} --preview 1", "sample {run} -n 5 --out {run}-samples.tsv"],
)  # fmt: skip
def test_commands_that_read_are_not(csl: Csl, run: Path, line: str) -> None:
    done = CliRunner().invoke(app, line.format(run=run, train=csl.folder / "train.tsv").split())
    assert done.exit_code == 0, done.exception


@pytest.mark.usefixtures("taken")
def test_the_second_command_is_refused_in_one_line(csl: Csl) -> None:
    csl.refused("induce train.tsv --out run --preset scan --no-resume", "another process", code=1, stdin=None)


def test_a_run_of_an_experiment_is_refused_too(csl: Csl, fork: Fork) -> None:
    (csl.folder / "mine.toml").write_text('[data]\ntrain = "train.tsv"\n')
    line = "run mine.toml --runs runs --until data"
    child = take(csl.folder / "runs" / "mine" / "seed-0", fork)
    csl.refused(line, "another process", code=1)
    assert csl(f"{line} --seed 1")[0] == 0  # another folder, whose data is the same stage
    child.kill()
    assert csl(line)[0] == 0


def test_a_lock_ends_with_its_process(run: Path, taken: Any) -> None:
    (run / ".grammar.txt.1.partial").write_text("what a killed process left", "utf-8")
    taken.kill()
    assert (run / LOCK).exists()
    with atomic_write(run / "mine.txt"), folder_lock(run):
        hidden = [path.name for path in run.iterdir() if path.name.startswith(".") and path.name != LOCK]
        assert [name.split(".")[1] for name in hidden] == ["mine"]  # still being written
    assert not list(run.glob(".*"))


def test_of_many_at_once_one_works(tmp_path: Path, fork: Fork) -> None:
    """Each process that gets in writes its number before and after; no other number comes between."""
    book = tmp_path / "book.txt"

    def work() -> None:
        for _ in range(20):
            with folder_lock(tmp_path / "new", wait=True), book.open("a") as file:
                print(os.getpid(), file=file, flush=True)
                os.sched_yield()
                print(os.getpid(), file=file, flush=True)

    children = [fork(work) for _ in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    lines = book.read_text().splitlines()
    assert len(lines) == 160
    assert lines[::2] == lines[1::2]


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_works_without(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", fail)
    with folder_lock(tmp_path / "run"):
        assert list((tmp_path / "run").iterdir()) == []
        write_text(tmp_path / "run" / "result", "text")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["result"]


def test_a_lock_never_follows_or_removes_what_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine", "utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).symlink_to("../precious")
    with pytest.raises(InputError, match=LOCK), folder_lock(tmp_path / "run"):
        pass
    (tmp_path / "run" / LOCK).unlink()
    (tmp_path / "run" / LOCK).hardlink_to(tmp_path / "precious")
    with folder_lock(tmp_path / "run"):
        pass
    for path in (tmp_path / "precious", tmp_path / "run" / LOCK):
        assert path.read_text("utf-8") == "mine"


def test_blocks_of_one_thread_share_a_lock_and_threads_do_not(tmp_path: Path) -> None:
    def other() -> None:
        with folder_lock(tmp_path / "run"):
            pass

    (tmp_path / "link").symlink_to("run")
    with ThreadPoolExecutor(1) as pool, folder_lock(tmp_path / "run"):
        with folder_lock(tmp_path / "link"):
            pass
        assert (tmp_path / "run" / LOCK).exists()
        with pytest.raises(CslError, match="another process"):
            pool.submit(other).result()


def test_a_new_folder_that_stays_empty_is_removed(tmp_path: Path) -> None:
    with folder_lock(tmp_path / "new" / "run"):
        assert (tmp_path / "new" / "run").is_dir()
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with folder_lock(tmp_path / "old"):
        pass
    assert (tmp_path / "old").is_dir()
