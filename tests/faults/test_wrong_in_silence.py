"""Data of another run, edited training sets and damaged grammars are noticed."""

from pathlib import Path

import pytest

from .conftest import EM, PAIRS, Csl, contents


def test_a_run_does_not_depend_on_the_current_folder_or_the_training_file(csl: Csl, run: Path) -> None:
    other = csl.folder / "other"
    other.mkdir()
    (other / "train.tsv").write_text(PAIRS.replace("walk", "hop"))
    (csl.folder / "train.tsv").write_text("a\tA\n")  # edited after induction
    assert Csl(other)(f"fit ../run {EM} --no-resume")[0] == 0
    code, output, _ = Csl(other)("sample ../run -n 50 --new --out -")
    assert code == 0
    assert not set(output.splitlines()) & set(PAIRS.splitlines())
    assert Csl(other)("parse ../run walk")[:2] == (0, "WALK\n")
    assert run.is_dir()


def test_another_training_file_is_refused(csl: Csl, run: Path) -> None:
    before = contents(run)
    (csl.folder / "train.tsv").write_text(PAIRS + "x\tX\n")
    csl.refused("induce train.tsv --out run --preset scan", "--no-resume")
    assert contents(run) == before


@pytest.mark.parametrize(
    "line",
    [f"fit run {EM} --no-resume", "sample run -n 7", "parse run walk", "grammar show run", "evaluate run train.tsv",
     "grammar coverage run train.tsv", "augment train.tsv --out run", "induce train.tsv --out run --preset scan"],
)  # fmt: skip
def test_a_grammar_that_was_cut_is_refused(csl: Csl, run: Path, line: str) -> None:
    grammar = run / "grammar.txt"
    grammar.write_bytes(b"".join(grammar.read_bytes().splitlines(keepends=True)[:3]))
    before = contents(run)
    csl.refused(line, "csl grammar accept")
    assert contents(run) == before


@pytest.mark.parametrize("name", ["data/train.tsv", "model.npz"])
def test_damaged_data_and_models_are_refused(csl: Csl, run: Path, name: str) -> None:
    (run / name).write_bytes((run / name).read_bytes()[:-9])
    csl.refused("sample run -n 5 --seed 3", name)


def test_an_edited_grammar_can_be_accepted(csl: Csl, run: Path) -> None:
    with (run / "grammar.txt").open("a") as file:
        file.write("hop ### HOP\n")
    code, output, errors = csl("grammar accept run")
    assert (code, "100.0%" in output) == (0, True), errors
    assert csl(f"fit run {EM}")[0] == 0
    assert csl("parse run hop --text")[:2] == (0, "HOP\n")


def test_a_grammar_that_does_not_derive_the_training_data_stops(csl: Csl, run: Path) -> None:
    (run / "grammar.txt").write_text("hop ### HOP\n")
    assert csl("grammar accept run")[0] == 0
    csl.refused(f"fit run {EM}", "training")
