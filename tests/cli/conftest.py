"""What tests of several commands share: a small model that `csl train` made, and a way to stop a command."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from csl.cli import app
from csl.examples import Example, write_examples

TRAIN = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "look": "LOOK", "walk left": "LEFT ( WALK )",
    "run left": "LEFT ( RUN )", "walk right": "RIGHT ( WALK )", "look right": "RIGHT ( LOOK )",
}  # fmt: skip
OPTIONS = {
    "layers": 2, "heads": 2, "d_model": 32, "d_ff": 64, "dropout": 0, "steps": 80, "batch_size": 16, "warmup": 10,
    "learning_rate": 0.003, "max_target": 12,
}  # fmt: skip
WAITING = """
import signal, sys, time
from csl.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background inherit one that is ignored
write, place = sys.stdout.write, sys.argv.pop(1)
def wait(text):
    write(text)
    if text.startswith(place):
        sys.stdout.flush()
        time.sleep(60)
sys.stdout.write = wait
main()
"""


@pytest.fixture(scope="session")
def stop() -> Callable[..., tuple[int, str]]:
    """Gives a function that runs a command, and sends a signal to it when it has printed a line that begins so."""

    def run(place: str, number: signal.Signals, *arguments: object) -> tuple[int, str]:
        line, pipe = [sys.executable, "-c", WAITING, place, *map(str, arguments)], subprocess.PIPE
        with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout is not None
            assert any(text.startswith(place) for text in process.stdout)
            process.send_signal(number)
            _, said = process.communicate()
        return process.returncode, said

    return run


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a model that knows `TRAIN` by heart; the pairs are in train.tsv beside it."""
    folder = tmp_path_factory.mktemp("trained")
    write_examples(folder / "train.tsv", [Example.of(x, y) for x, y in TRAIN.items()])
    settings = [f"--set={key}={value}" for key, value in OPTIONS.items()]
    line = ["train", folder / "train.tsv", "--out", folder / "run", "--device", "cpu", "--threads", 1, *settings]
    result = CliRunner().invoke(app, [*map(str, line)])
    assert result.exit_code == 0, result.exception
    return folder / "run"
