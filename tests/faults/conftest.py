"""Work in child processes, which can be killed, and disks of our own, which can be full or read-only."""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from csl.runs.fitting import fit_into
from csl.runs.run import induce_into

from csl.datasets import scan
from csl.errors import CslError
from csl.induction.config import PRESETS
from csl.induction.induce import Step
from csl.model import fit
from csl.model.config import FitConfig

Work = Callable[[], object]


class Child:
    """A process that does some work; what goes wrong is its exit code and `error`."""

    def __init__(self, work: Work, log: Path) -> None:
        self._path, self._log = log, log.open("w", encoding="utf-8")  # open before the child can lose the right to
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(self._do(work))

    def _do(self, work: Work) -> int:
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
def start(tmp_path: Path) -> Callable[[Work], Child]:
    """Gives a function that starts work in a child process."""
    return lambda work: Child(work, tmp_path / "error.txt")


@dataclass(frozen=True)
class Disk:
    """A small file system of its own."""

    folder: Path

    def change(self, *options: str) -> None:
        """Mount it again, with other options."""
        subprocess.run(["mount", "-o", ",".join(("remount", *options)), self.folder], check=True)

    @property
    def files(self) -> dict[str, bytes]:
        """What is there, but for folders and locks."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}


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


EXAMPLES = scan.prepare(None, "length").train[::200]
CONFIG = PRESETS["scan"].model_copy(update={"partitions": 3})
FIT = FitConfig(states=2, optimizer="em", steps=12)


Say = Callable[[str], None]


def _silent(line: str) -> None:
    pass


def _learn(folder: Path, told: Say = _silent, say: Say = _silent) -> None:
    def show(step: Step, seconds: float) -> None:
        told(f"induce {step.partition} {step.step}")

    induce_into(folder, EXAMPLES, CONFIG, say=say, progress=show)
    fit_into(folder, EXAMPLES, FIT, say=say, progress=lambda report: told(f"fit {report.step}"))


@pytest.fixture
def learn(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives a function that induces a grammar and fits a model; it tells each step, after that was saved."""
    monkeypatch.setattr(fit, "CHECK", 1)
    return _learn


@pytest.fixture(scope="session")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("learnt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "CHECK", 1)
        _learn(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}
