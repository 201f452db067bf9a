"""The code as it is and as it was, for benchmarks that compare both in one run.

Times on a busy machine mean little; the ratio of two, measured one after the other, does not depend on its speed. CPU
time does not count what else the machine does.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Cost:
    """What a process took, with all that it waited for, and what it wrote to standard output."""

    cpu: float  # seconds of the user and the system
    wall: float
    memory: int  # bytes at the peak
    output: str


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """Give a folder with a revision of git, which is removed afterwards; with the code as it is if none is given."""
    if not revision:
        yield ROOT
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "csl"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), revision], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def run(code: Path, *arguments: object) -> Cost:
    """Run Python with the code in a folder; what it writes to standard error is shown only if it fails."""
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(code / "src")}
    with tempfile.TemporaryFile("w+") as errors:
        line = [sys.executable, *map(str, arguments)]
        process = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(line)}\n{output}{errors.read()}")
    wall = time.perf_counter() - start
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024, output)
