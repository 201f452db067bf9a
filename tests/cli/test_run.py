"""`csl run`: what it prints, what it refuses, and how it resumes after a kill."""

from pathlib import Path

import pytest

from csl.runs.recipe import recipe_names

from ..runs.tiny import TRAIN, recipe_of, write_parts
from .commands import contents, csl, done, refused

TEST = {"jump twice": "JUMP JUMP", "jump and hop": "JUMP HOP"}


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    write_parts(tmp_path, {"train": TRAIN, "test": TEST})
    (tmp_path / "commands.toml").write_text(f'title = "Commands"\n{recipe_of("train", "test")}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CSL_DATA", raising=False)
    return "commands.toml"


def test_each_stage_is_a_line(recipe: str) -> None:
    lines = done("run", recipe)
    starts = ["Commands, seed 0", "data: 7 train, 2 test examples, ", "induce: 5 rules, ", "fit: 2 states, ",
              "sample: 100 pairs (", "merge: 7 original pairs × 14 and 100 ", "train: left out; --train",
              "evaluate: CSL 50.0% correct", "report: report.html, ", "run folder: runs/commands/seed-0"]  # fmt: skip
    found = [next((line for line in lines if line.startswith(start)), None) for start in starts]
    assert None not in found, lines
    assert sorted(map(lines.index, found)) == list(map(lines.index, found))  # type: ignore[arg-type]
    again = done("run", recipe)
    assert sum("already complete (" in line for line in again) == 7
    assert Path("runs/commands/seed-0/report.html").exists()


def test_several_seeds_end_with_a_table(recipe: str) -> None:
    options = ("--until", "evaluate", "--set", "sampling.temperature=2", "--runs", "out")
    lines = done("run", recipe, "--seeds", 2, *options)
    assert [line for line in lines if line.startswith("run folder")] == [
        f"run folder: out/commands/sampling.temperature=2/seed-{n}" for n in (0, 1)
    ]
    assert sum("induce: cached" in line for line in lines) == 1
    assert lines[-2].rstrip().endswith("CSL, test")
    assert lines[-1].strip().startswith("sampling.temperature=2.0 ")
    assert lines[-1].rstrip().endswith("50.0% ± 0.0%")


def test_one_seed_can_be_chosen(recipe: str) -> None:
    assert done("run", recipe, "--seed", 7, "--until", "fit")[-1] == "run folder: runs/commands/seed-7"


def test_a_dry_run_leaves_no_trace(recipe: str, tmp_path: Path) -> None:
    before = contents(tmp_path)
    lines = done("run", recipe, "--dry-run", "--train")
    assert lines[0] == "Commands, seed 0"
    assert lines[1] == "data: would run"
    assert [line.split(":")[0] for line in lines[2:]] == [
        "induce", "fit", "sample", "merge", "plain", "augmented", "evaluate", "report"
    ]  # fmt: skip
    assert contents(tmp_path) == before


def test_without_a_recipe_they_are_listed() -> None:
    assert done("run") == recipe_names()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["scan/jmp"], "'scan/jump'"),
        (["geoquery/length"], "CSL_DATA"),
        (["commands.toml", "--until", "smaple"], "'sample'"),
        (["commands.toml", "--set", "fit.staets=2"], "'states'"),
        (["commands.toml", "--set", "states=2"], "'fit.states'"),
        (["commands.toml", "--set", "fit.states"], "key=value"),
        (["commands.toml", "--set", "fit.seed=2"], "--seed"),
        (["commands.toml", "--set", "fit.unlabeled=dev"], "'unlabelled'"),
        (["commands.toml", "--set", "train.piece=8"], "'micro_batch_size'"),
        (["commands.toml", "--seed", "1", "--seeds", "2"], "--seeds"),
        (["commands.toml", "--engine", "rya"], "'ray'"),
        (["commands.toml", "--address", "127.0.0.1:1"], "--engine ray"),
        (["nowhere.toml"], "nowhere.toml: "),
        (["commands.toml", "--runs", "train.tsv"], "train.tsv"),
        (["commands.toml", "--set", "data.test=nowhere.tsv"], "nowhere.tsv: "),
    ],
)
def test_wrong_arguments_are_refused_in_a_line(recipe: str, arguments: list[str], named: str, tmp_path: Path) -> None:
    assert named in refused("run", *arguments)
    assert not (tmp_path / "runs").exists()


def test_an_edited_grammar_is_refused_and_can_be_accepted(recipe: str) -> None:
    run = Path("runs/commands/seed-0")
    done("run", recipe, "--until", "sample")
    text = (run / "grammar.txt").read_text() + "hop ### HOP\n"
    (run / "grammar.txt").write_text(text)
    for options in ([], ["--until", "data"]):
        assert "csl grammar accept" in refused("run", recipe, *options)
        assert (run / "grammar.txt").read_text() == text
    done("grammar", "accept", run)
    lines = done("run", recipe, "--until", "evaluate")
    assert any(line.startswith("induce: already complete") and "edited" in line for line in lines)
    assert any(line.startswith("evaluate: CSL 100.0% correct") for line in lines)
    assert csl("run", recipe, "--until", "evaluate", "--no-resume").exit_code == 0
    assert "hop" not in (run / "grammar.txt").read_text()
