"""`csl errors`: wrong outputs, and the nearest training examples."""

from pathlib import Path

import pytest

from ..runs.tiny import TRAIN, recipe_of, write_parts
from .commands import done, refused

TEST = {"walk and jump": "JUMP WALK", "jump twice": "JUMP JUMP", "hop": "HOP"}  # wrong, correct, no output


@pytest.fixture(autouse=True)
def _run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_parts(tmp_path, {"train": TRAIN, "test": TEST})
    Path("mine.toml").write_text(recipe_of("train", "test"))
    done("run", "mine.toml", "--until", "evaluate")


def test_a_wrong_output_is_shown_with_the_nearest_training_example() -> None:
    lines = done("errors", "runs/mine/seed-0", "--system", "csl", "--out", "errors.tsv")
    assert lines[0].startswith("all: 3 outputs, 1 wrong, 1 without")
    assert lines[2:8] == [
        "Train input: walk and run", "Train output: WALK RUN", "Tokens to change: 1",
        "Input: walk and jump", "Output: JUMP › WALK ‹", "Predicted: › WALK ‹ JUMP",
    ]  # fmt: skip
    head, row = Path("errors.tsv").read_text("utf-8").splitlines()
    assert len(head.split("\t")) == len(row.split("\t"))
    assert row.startswith("all\twalk and run\t")


def test_a_system_without_predictions_is_refused_and_the_others_are_named() -> None:
    message = refused("errors", "runs/mine/seed-0")
    assert message.startswith("runs/mine/seed-0/predictions/augmented.tsv: ")
    assert message.endswith("there are: csl")
