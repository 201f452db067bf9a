"""`csl fit`: what it prints, what it writes, what it refuses, and how it resumes."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from csl.arrays import load_arrays
from csl.runs.folder import RunFolder

from .commands import command, contents, done, refused, write
from .conftest import PAIRS

QUICK = ("--set", "optimizer=em", "--set", "steps=5")
LONG = ("--preset", "scan", "--set", "restarts=1", "--set", "steps=300", "--set", "batch_size=4")


def parameters(run: Path) -> bytes:
    arrays, _ = load_arrays(run / "model.npz", "")
    return arrays["theta_context"].tobytes() + arrays["theta_rule"].tobytes()


def steps(run: Path, name: str = "fit") -> list[int]:
    return [json.loads(line)["step"] for line in (run / "metrics" / f"{name}.jsonl").open()]


@pytest.fixture
def run(induced: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(induced, tmp_path / "run"))


def test_the_summary_says_what_auto_chose_and_what_was_written(run: Path) -> None:
    lines = done("fit", run, *QUICK, "--preset", "auto")
    assert lines[0].startswith("auto: ")
    assert "64 states" in lines[0]
    assert lines[-2].startswith("fit: 64 states, 768 parameters, 5 steps, mean log p(x, y) -")
    assert lines[-1].endswith(str(run / "model.npz"))
    assert steps(run) == [5]
    assert not (run / "checkpoints").exists()


def test_of_several_starts_the_likeliest_is_kept(run: Path) -> None:
    lines = done("fit", run, *QUICK, "--preset", "cogs", "--set", "restarts=2", "--seed", 3)
    figures = RunFolder(run).record.stages["fit"].figures
    first, second = figures["starts"]
    assert figures["log_prob"] == max(first, second)
    assert figures["kept"] == (6 if first >= second else 7)
    assert any(f"{first:.3f}, {second:.3f}" in line and f"seed {figures['kept']}" in line for line in lines)
    assert json.loads((run / "metrics" / "fit.jsonl").read_text("utf-8"))["seed"] == figures["kept"]


def test_a_model_that_is_there_is_not_fitted_again(run: Path) -> None:
    done("fit", run, *QUICK)
    before = contents(run)
    assert any("already complete" in line and "--no-resume" in line for line in done("fit", run, *QUICK))
    assert contents(run) == before
    for other in ((*QUICK, "--no-resume"), (*QUICK, "--set", "steps=6"), (*QUICK, "--seed", 1)):
        assert not any("already complete" in line for line in done("fit", run, *other))


def test_the_run_keeps_its_options(run: Path) -> None:
    done("fit", run, *QUICK, "--seed", 5)
    assert any("already complete" in line for line in done("fit", run))
    assert RunFolder(run).recipe().fit.seed == 5


@pytest.mark.parametrize("ending", ["txt", "tsv"])
def test_inputs_without_outputs_are_labelled_and_fitted_again(ending: str, run: Path, tmp_path: Path) -> None:
    inputs = ["jump and jump", "jump twice and jump", "no such word", ""]
    lines = [f"{x}\tIGNORED" if ending == "tsv" else x for x in inputs]
    (tmp_path / f"inputs.{ending}").write_text("\n".join(lines[:3]) + "\n\n", "utf-8")
    done("fit", run, *QUICK)
    before = parameters(run)
    given = ("--unlabelled", tmp_path / f"inputs.{ending}")
    assert any("2 of 3 inputs labelled" in line for line in done("fit", run, *QUICK, *given))
    assert parameters(run) != before
    assert steps(run, "refit") == [5]
    assert len(RunFolder(run).record.stages["fit"].figures["starts"]) == 5  # of the second fit
    assert (run / "unlabelled.txt").read_text("utf-8").splitlines() == inputs[:3]
    (tmp_path / f"inputs.{ending}").unlink()  # the run has a copy
    assert any("already complete" in line for line in done("fit", run))
    after = parameters(run)
    done("fit", run, "--ratio", 8)
    assert parameters(run) != after
    assert "unlabelled.txt" in contents(run)


def test_folders_without_a_grammar_or_examples_are_refused(run: Path) -> None:
    (run / "data" / "train.tsv").rename(run / "train.tsv")
    assert "data/train.tsv" in refused("fit", run, *QUICK)
    (run / "grammar.txt").unlink()
    assert "grammar.txt" in refused("fit", run, *QUICK)


def test_a_training_file_that_was_edited_is_refused(run: Path) -> None:
    write(run / "data" / "train.tsv", PAIRS | {"hop": "HOP"})
    assert str(run / "data" / "train.tsv") in refused("fit", run, *QUICK)


def test_pairs_that_are_left_out_are_named_and_a_foreign_grammar_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "grammar.txt").write_text("a ### A\nb ### B\n", "utf-8")
    train = write(tmp_path / "train.tsv", {"a": "A", "b": "B", "fly": "FLY"})
    done("grammar", "accept", tmp_path / "run", "--train", train)
    lines = done("fit", tmp_path / "run", *QUICK)
    assert any(line.startswith("warning: 1 ") and "fly → FLY" in line for line in lines)
    (tmp_path / "run" / "grammar.txt").write_text("a ### A\n", "utf-8")
    done("grammar", "accept", tmp_path / "run")
    assert f"{tmp_path / 'run' / 'grammar.txt'}: the grammar derives only 33.3%" in refused("fit", tmp_path / "run")


def test_threads_and_hash_seed_do_not_change_the_parameters(run: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(run, tmp_path / "other"))
    done("fit", run, "--set", "optimizer=em")
    assert command("fit", other, "--set", "optimizer=em", "--threads", 3, PYTHONHASHSEED="4711").returncode == 0
    assert parameters(run) == parameters(other)
    assert np.isfinite(np.frombuffer(parameters(run))).all()
