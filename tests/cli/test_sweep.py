"""`csl sweep` as a person meets it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from csl.cli import app
from csl.errors import InputError

from ..experiment.tiny import TRAIN, recipe_of, write_parts

DEV, TEST = {"jump and walk": "JUMP WALK"}, {"jump twice": "JUMP JUMP"}


@pytest.fixture(autouse=True)
def _recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_parts(tmp_path, {"train": TRAIN, "dev": DEV, "test": TEST})
    Path("mine.toml").write_text(recipe_of("train", "dev", "test"))


def sweep(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["sweep", "mine.toml", *arguments])
    assert result.exit_code == 0, result.exception
    return result.stdout.splitlines()


def test_values_share_what_they_have_in_common_and_end_in_a_table() -> None:
    said = sweep("--over", "temperature", "--set", "sampling.number=50", "--seeds", "2", "--until", "evaluate")
    assert sum(line.startswith("induce: cached") for line in said) == 5
    assert sum(line.startswith("fit: cached") for line in said) == 4
    rows = [line.split()[1] for line in said[-3:]]
    assert rows == [f"sampling.temperature={value}" for value in ("1.0", "10.0", "inf")]
    assert all(line.count("±") == 7 for line in said[-3:])
    assert Path("runs/mine/sampling.number=50,sampling.temperature=inf/seed-1/run.json").exists()


def test_samples_are_drawn_with_and_without_unlabelled_inputs() -> None:
    said = sweep("--over", "samples", "--values", "20,40", "--until", "evaluate")
    assert sum(line.startswith("fit: cached") for line in said) == 2
    assert sum("inputs labelled, " in line for line in said) >= 1
    assert "fit.unlabelled=dev" in said[-1]
    Path("mine.toml").write_text(recipe_of("train", "test"))
    said = sweep("--over", "samples", "--values", "20,40", "--until", "evaluate")
    assert sum("left out, the data has no dev set" in line for line in said) == 2
    assert "fit.unlabelled=dev" not in "".join(said[-2:])


def test_seeds_are_three_unless_said_otherwise() -> None:
    said = sweep("--over", "seeds", "--until", "fit")
    assert [line for line in said if line.startswith("run folder")] == [
        f"run folder: runs/mine/seed-{n}" for n in (0, 1, 2)
    ]


def test_a_wrong_value_is_refused_before_anything_is_done() -> None:
    result = CliRunner().invoke(app, ["sweep", "mine.toml", "--over", "states", "--values", "2,x"])
    assert isinstance(result.exception, InputError)
    assert "states = 'x'" in str(result.exception)
    assert not Path("runs").exists()


def test_files_of_one_name_in_two_folders_are_two_runs() -> None:
    for name in "ab":
        Path(name).mkdir()
        write_parts(Path(name), {"train": TRAIN if name == "a" else {**TRAIN, "hop": "HOP"}})
    said = sweep("--over", "data.train", "--values", "a/train.tsv,b/train.tsv", "--seeds", "1", "--until", "data")
    assert [line for line in said if line.startswith("run folder")] == [
        f"run folder: runs/mine/data.train={name}_train.tsv/seed-0" for name in "ab"
    ]
    assert [line.split()[0] for line in said[-2:]] == ["data.train=a/train.tsv", "data.train=b/train.tsv"]
