"""What tests of several commands share: small runs of `csl induce`, `csl fit` and `csl train`; a command to stop."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .commands import done, write

PAIRS = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "walk twice": "WALK WALK", "run twice": "RUN RUN",
    "walk and run": "WALK RUN", "run twice and walk": "RUN RUN WALK", "run and walk": "RUN WALK",
    "walk after run": "RUN WALK",
}  # fmt: skip
TRAIN = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "look": "LOOK", "walk left": "LEFT ( WALK )",
    "run left": "LEFT ( RUN )", "walk right": "RIGHT ( WALK )", "look right": "RIGHT ( LOOK )",
}  # fmt: skip
OPTIONS = {
    "layers": 2, "heads": 2, "d_model": 32, "d_ff": 64, "dropout": 0, "steps": 80, "batch_size": 16, "warmup": 10,
    "learning_rate": 0.003, "max_target": 12,
}  # fmt: skip
STOPPED_AT = """
import os, signal, sys
from csl.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background inherit one that is ignored
module, method, count, number = sys.argv.pop(1).split()
owner = __import__(module.rpartition(".")[0], fromlist=["x"]).__dict__[module.rpartition(".")[2]]
original, calls = getattr(owner, method), []
def call_and_stop(*arguments, **options):
    result = original(*arguments, **options)
    calls.append(1)
    if len(calls) == int(count):
        os.kill(os.getpid(), int(number))
    return result
setattr(owner, method, call_and_stop)
main()
"""
Stop = Callable[..., tuple[int, str]]


@pytest.fixture(scope="session")
def stop() -> Stop:
    """Gives a function that runs a command, and sends it a signal after so many calls of a method."""

    def run(place: str, count: int, number: signal.Signals, *arguments: object) -> tuple[int, str]:
        line = [sys.executable, "-c", STOPPED_AT, f"{place} {count} {int(number)}", *map(str, arguments)]
        found = subprocess.run(line, capture_output=True, text=True, check=False)
        return found.returncode, found.stderr

    return run


@pytest.fixture(scope="session")
def induced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with a grammar of `PAIRS`; not to be changed."""
    folder = tmp_path_factory.mktemp("run")
    done("induce", write(folder / "train.tsv", PAIRS), "--out", folder / "run", "--preset", "scan")
    return folder / "run"


@pytest.fixture(scope="session")
def fitted(induced: Path) -> Path:
    """A copy of it with a model; not to be changed, either."""
    folder = Path(shutil.copytree(induced, induced.parent / "fitted"))
    done("fit", folder, "--set", "optimizer=em")
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a model that knows `TRAIN` by heart; the pairs are in train.tsv beside it."""
    folder = tmp_path_factory.mktemp("trained")
    settings = [f"--set={key}={value}" for key, value in OPTIONS.items()]
    train = write(folder / "train.tsv", TRAIN)
    done("train", train, "--out", folder / "run", "--device", "cpu", "--threads", 1, *settings)
    return folder / "run"
