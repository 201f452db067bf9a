"""Two processes on one run folder: the second is refused; readers never are; a lock ends with its process."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from csl.runs.pipeline import Pipeline, wanted_stages
from typer.testing import CliRunner

from csl.cli import app
from csl.errors import CslError, InputError
from csl.files import atomic_write, write_text
from csl.lock import LOCK, folder_lock
from csl.runs.recipe import read_recipe

Start = Callable[[Callable[[], object]], Any]
PAIRS = "a\tA\nb\tB\na and b\tA B\nb and a\tB A\n"


def take(folder: Path, start: Start) -> Any:
    """Start a process that works in a folder."""

    ready, tell = os.pipe()

    def hold() -> None:
        with folder_lock(folder):
            os.write(tell, b"locked")
            time.sleep(60)

    child = start(hold)
    os.read(ready, 6)
    return child


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder with a model, beside its training set."""
    (tmp_path / "train.tsv").write_text(PAIRS, "utf-8")
    for line in (f"induce {tmp_path / 'train.tsv'} --out {tmp_path / 'run'}", f"fit {tmp_path / 'run'} {EM}"):
        assert CliRunner().invoke(app, line.split()).exit_code == 0
    return tmp_path / "run"


EM = "--set optimizer=em --set states=1 --set steps=2"


@pytest.fixture
def taken(run: Path, start: Start) -> Any:
    """A process that works in the run folder."""
    child = take(run, start)
    yield child
    child.kill()


@pytest.mark.parametrize(
    "line",
    [
        "induce {train} --out {run}",
        "induce {train} --out {run} --no-resume",
        "fit {run} --set seed=3",
        "sample {run} -n 5",
        "sample {run} -n 5 --out {run}/mine.tsv",
        "augment {train} --out {run}",
    ],
)
@pytest.mark.usefixtures("taken")
def test_commands_that_write_are_refused(line: str, run: Path) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    done = CliRunner().invoke(app, line.format(run=run, train=run.parent / "train.tsv").split())
    assert isinstance(done.exception, CslError)
    assert done.exception.exit_code == 1
    assert str(done.exception).startswith(f"{run}: another process is working")
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize(
    "line",
    [
        "parse {run} a",
        "evaluate {run} {train}",
        "grammar show {run}",
        "grammar coverage {run} {train}",
        "sample {run} --preview 1",
        "sample {run} -n 5 --out {run}-samples.tsv",
        "runs {run}",
    ],
)
def test_commands_that_read_are_not(line: str, run: Path) -> None:
    done = CliRunner().invoke(app, line.format(run=run, train=run.parent / "train.tsv").split())
    assert done.exit_code == 0, done.exception


def test_a_run_of_an_experiment_is_refused_too(tmp_path: Path, start: Start) -> None:
    (tmp_path / "train.tsv").write_text(PAIRS, "utf-8")
    (tmp_path / "mine.toml").write_text('[data]\ntrain = "train.tsv"\n', "utf-8")
    recipe, pipeline = read_recipe(str(tmp_path / "mine.toml")), Pipeline(tmp_path / "runs", wanted_stages("data"))
    folder = pipeline.run(recipe, {}, 0)
    child = take(folder, start)
    with pytest.raises(CslError, match="another process"):
        pipeline.run(recipe, {}, 0)
    assert pipeline.run(recipe, {}, 1).is_dir()  # another folder, whose data is the same stage
    child.kill()
    assert pipeline.run(recipe, {}, 0) == folder


def test_a_lock_ends_with_its_process(run: Path, taken: Any) -> None:
    (run / ".grammar.txt.1.partial").write_text("what a killed process left", "utf-8")
    taken.kill()
    assert (run / LOCK).exists()
    with atomic_write(run / "mine.txt"), folder_lock(run):
        hidden = [path.name for path in run.iterdir() if path.name.startswith(".") and path.name != LOCK]
        assert [name.split(".")[1] for name in hidden] == ["mine"]  # still being written
    assert not list(run.glob(".*"))


def test_of_many_at_once_one_works(tmp_path: Path, start: Start) -> None:
    """Each process that gets in writes its number before and after; no other number comes between."""
    book = tmp_path / "book.txt"

    def work() -> None:
        for _ in range(20):
            with folder_lock(tmp_path / "new", wait=True), book.open("a") as file:
                print(os.getpid(), file=file, flush=True)
                time.sleep(0.001)
                print(os.getpid(), file=file, flush=True)

    children = [start(work) for _ in range(4)]
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
    with pytest.raises(InputError, match="symbolic link; remove it") as error, folder_lock(tmp_path / "run"):
        pass
    assert str(error.value).startswith(str(tmp_path / "run" / LOCK))
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


def test_the_second_command_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(PAIRS, "utf-8")
    line = ["induce", str(tmp_path / "train.tsv"), "--out", str(tmp_path / "run"), "--preset", "scan"]
    slow = "import time, csl.cli, csl.induction.search as s; s.Search.step = lambda _: time.sleep(60); csl.cli.main()"
    with subprocess.Popen([sys.executable, "-c", slow, *line], stdout=subprocess.DEVNULL) as first:
        while not (tmp_path / "run" / "config.json").exists():
            assert first.poll() is None
            time.sleep(0.01)
        second = subprocess.run([sys.executable, "-m", "csl", *line], capture_output=True, text=True, check=False)
        first.kill()
    assert second.returncode == 1
    assert second.stderr.startswith(f"error: {tmp_path / 'run'}: another process is working")
    assert second.stderr.count("\n") == 1
