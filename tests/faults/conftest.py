"""Commands in folders, as real processes with limits and on disks of their own; and work in forked processes."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from csl.cli import app
from csl.errors import CslError

PAIRS = """walk\tWALK
run\tRUN
jump\tJUMP
walk left\tLEFT WALK
run left\tLEFT RUN
walk twice\tWALK WALK
run twice\tRUN RUN
walk and run\tWALK RUN
run and jump\tRUN JUMP
"""
EM = "--set optimizer=em --set states=2 --set steps=2"
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background inherit one that is ignored


@dataclass(frozen=True)
class Csl:
    """The command in a folder: where it makes no difference, in this process; with options, as one of its own."""

    folder: Path

    def start(self, line: str, **options: Any) -> "subprocess.Popen[str]":
        """Start a command; its arguments are separated by spaces."""
        command = [sys.executable, "-m", "csl", *line.split()]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a process inherits that it is ignored, from nohup
        try:
            return subprocess.Popen(command, cwd=self.folder, text=True, **(pipes | options))
        finally:
            signal.signal(signal.SIGHUP, before)

    def __call__(self, line: str, **options: Any) -> tuple[int, str, str]:
        """Run a command; give its exit code, output and errors."""
        if options:
            return self.process(line, **options)
        with chdir(self.folder):
            result = CliRunner().invoke(app, line.split())
        error = result.exception
        if isinstance(error, CslError):
            return error.exit_code, result.stdout, f"{result.stderr}error: {error}\n"
        if error and not isinstance(error, SystemExit):
            raise error
        return result.exit_code, result.stdout, result.stderr

    def process(self, line: str, **options: Any) -> tuple[int, str, str]:
        """Run a command as a process."""
        with self.start(line, **options) as process:
            output, errors = process.communicate()
        return process.returncode, output or "", errors or ""

    def refused(self, line: str, words: str, code: int = 2, **options: Any) -> None:
        """Run a command that must end with one line that has these words, and no traceback."""
        status, output, errors = self(line, **options)
        assert status == code, (output, errors)
        last = errors.strip().splitlines()[-1]
        assert last.startswith("error: ")
        assert words in last
        assert "Traceback" not in errors


@pytest.fixture
def csl(tmp_path: Path) -> Csl:
    """The command, in a folder with a training set `train.tsv`."""
    (tmp_path / "train.tsv").write_text(PAIRS, "utf-8")
    return Csl(tmp_path)


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "train.tsv").write_text(PAIRS, "utf-8")
    for line in ("induce train.tsv --out run --preset scan", f"fit run {EM}", "sample run -n 5 --set max_depth=4"):
        code, _, errors = Csl(folder)(line)
        assert code == 0, errors
    return folder / "run"


@pytest.fixture
def run(_made: Path, tmp_path: Path) -> Path:
    """A run folder of its own, with grammar, model and samples."""
    shutil.copytree(_made, tmp_path / "run")
    return tmp_path / "run"


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def limited(kind: int, value: int) -> Callable[[], None]:
    """Give a function that limits what a process may use."""
    return lambda: resource.setrlimit(kind, (value, value))


class Child:
    """A forked process that does some work; what goes wrong is its exit code and `error`."""

    def __init__(self, work: Callable[[], object], log: Path) -> None:
        self._path, self._log = log, log.open("w", encoding="utf-8")  # open before the child can lose the right to
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(self._do(work))

    def _do(self, work: Callable[[], object]) -> int:
        try:
            work()
        except CslError as error:
            print(error, end="", file=self._log, flush=True)
            return error.exit_code
        except BaseException:  # nothing may leave the child
            traceback.print_exc()
            return 99
        return 0

    def kill(self) -> int:
        """Kill it, unless it has ended; wait for the end."""
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end; give the exit code, or the negative number of the signal that ended it."""
        self._log.close()
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    @property
    def error(self) -> str:
        return self._path.read_text("utf-8")


@pytest.fixture
def fork(tmp_path: Path) -> Callable[[Callable[[], object]], Child]:
    """Gives a function that does work in a forked process."""
    return lambda work: Child(work, tmp_path / "error.txt")


@dataclass(frozen=True)
class Disk:
    """A small file system of its own."""

    folder: Path

    def change(self, *options: str) -> None:
        """Mount it again, with other options."""
        subprocess.run(["mount", "-o", ",".join(("remount", *options)), self.folder], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of a megabyte, where the tests may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a disk to fill up")
    yield Disk(folder)
    for _ in range(50):
        if not subprocess.run(["umount", folder], capture_output=True, check=False).returncode:
            return
        time.sleep(0.1)
