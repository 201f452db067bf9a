"""`csl run` as a person meets it: what it says, what it refuses, and how it goes on after a kill."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError
from csl.runs.recipe import recipe_names

from ..experiment.tiny import TRAIN, recipe_of, write_parts

TEST = {"jump twice": "JUMP JUMP", "jump and hop": "JUMP HOP"}
KILLED_IN_FIT = """
import os, signal
from csl.cli import main
from csl.runs.checkpoint import Checkpoint
log = Checkpoint.log
def log_and_die(self, line):
    log(self, line)
    if '"fit"' in line:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpoint.log = log_and_die
main()
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def lines(*arguments: object) -> list[str]:
    result = run(*arguments)
    assert result.exit_code == 0, result.exception
    return result.stdout.splitlines()


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    write_parts(tmp_path, {"train": TRAIN, "test": TEST})
    (tmp_path / "commands.toml").write_text(f'title = "Commands"\n{recipe_of("train", "test")}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CSL_DATA", raising=False)
    return "commands.toml"


def test_each_stage_is_a_line(recipe: str) -> None:
    said = lines(recipe)
    starts = ["Commands, seed 0", "data: 7 train, 2 test examples, ", "induce: 5 rules, ", "fit: 2 states, ",
              "sample: 100 pairs, ", "train: left out; --train does it", "evaluate: CSL 50.0% right, ",
              "report: report.html, ", "run folder: runs/commands/seed-0"]  # fmt: skip
    assert len(said) == len(starts)
    assert all(line.startswith(start) for line, start in zip(said, starts, strict=True)), said
    again = lines(recipe)
    assert [line.partition(" ")[2].startswith("cached (") for line in again[1:5]] == [True] * 4
    assert Path("runs/commands/seed-0/report.html").exists()


def test_several_seeds_end_with_a_table(recipe: str) -> None:
    said = lines(recipe, "--seeds", 2, "--until", "evaluate", "--set", "sampling.temperature=2", "--runs", "out")
    assert [line for line in said if line.startswith("run folder")] == [
        f"run folder: out/commands/sampling.temperature=2/seed-{n}" for n in (0, 1)
    ]
    assert sum("induce: cached" in line for line in said) == 1
    assert said[-2].split()[-1] == "CSL"
    assert said[-1].strip().startswith("sampling.temperature=2.0 ")
    assert said[-1].rstrip().endswith("50.0% ± 0.0%")


def test_one_seed_can_be_chosen(recipe: str) -> None:
    assert lines(recipe, "--seed", 7, "--until", "fit")[-1] == "run folder: runs/commands/seed-7"


def test_a_dry_run_leaves_no_trace(recipe: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert lines(recipe, "--dry-run", "--train")[1:3] == [
        "data: would be done (new)",
        "induce: would be done (after data)",
    ]
    assert sorted(tmp_path.rglob("*")) == before


def test_without_a_recipe_they_are_listed() -> None:
    assert lines() == recipe_names()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scan/jmp"], "did you mean 'scan/jump'?"),
        (["geoquery/length"], "CSL_DATA"),
        (["commands.toml", "--until", "smaple"], "did you mean 'sample'?"),
        (["commands.toml", "--set", "fit.staets=2"], "did you mean 'states'?"),
        (["commands.toml", "--set", "states=2"], "did you mean 'fit.states'?"),
        (["commands.toml", "--set", "fit.states"], "expected key=value"),
        (["commands.toml", "--seed", "1", "--seeds", "2"], "give one of them"),
        (["nowhere.toml"], "nowhere.toml: cannot be read"),
        (["commands.toml", "--runs", "train.tsv"], "train.tsv"),
        (["commands.toml", "--set", "data.test=nowhere.tsv"], "nowhere.tsv: cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(recipe: str, arguments: list[str], words: str) -> None:
    assert words in refused(*arguments)


def test_a_run_that_was_killed_goes_on(recipe: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    line = [recipe, "--until", "sample", "--set", "fit.optimizer=adam", "--set", "fit.steps=100"]
    killed = subprocess.run([sys.executable, "-c", KILLED_IN_FIT, "run", *line], stdout=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not list(tmp_path.glob("runs/.cache/fit-*/done.json"))
    said = lines(*line)
    assert any(text.startswith("induce: cached") for text in said)
    assert "fit: stopped before; goes on" in said
    assert "fit: going on after step 50" in said
    lines(*line, "--runs", "other")
    folders = [
        tmp_path / name / "commands" / "fit.optimizer=adam,fit.steps=100" / "seed-0" for name in ("runs", "other")
    ]
    for name in ("model.npz", "samples.tsv"):
        first, other = ((folder / name).read_bytes() for folder in folders)
        assert first == other
