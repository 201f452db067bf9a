"""A small model that `csl train` made, for all commands that use one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from csl.cli import app
from csl.data import Example, write_examples

TRAIN = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "look": "LOOK", "walk left": "LEFT ( WALK )",
    "run left": "LEFT ( RUN )", "walk right": "RIGHT ( WALK )", "look right": "RIGHT ( LOOK )",
}  # fmt: skip
OPTIONS = {
    "layers": 2, "heads": 2, "d_model": 32, "d_ff": 64, "dropout": 0, "steps": 80, "batch_size": 16, "warmup": 10,
    "learning_rate": 0.003, "max_target": 12,
}  # fmt: skip


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
