"""`csl reword`: what it writes, that it resumes and repeats itself, and what it refuses."""

from pathlib import Path

import pytest

from csl.examples import Example, read_examples
from csl.runs.folder import RunFolder
from csl.runs.stages.registry import DATA, INDUCE, PREPARE

from ..run_folders import make_run
from . import commands
from .commands import done

TINY = {"layers": 1, "heads": 1, "d_model": 16, "d_ff": 16, "steps": 20, "batch_size": 8, "max_target": 12}
QUICK = ("--device", "cpu", "--threads", "1", "--set=learning_rate=0.01", *(f"--set={k}={v}" for k, v in TINY.items()))
VERBS, TIMES = ("walk", "run", "jump", "look"), {"": 1, " twice": 2, " thrice": 3}
TRAIN = [
    Example.of(f"{verb}{time}", " ".join([verb.upper()] * n)) for verb in VERBS for time, n in TIMES.items() if n < 3
]
TRAIN += [Example.of(f"{a} and {b}", f"{a.upper()} {b.upper()}") for a in VERBS for b in VERBS[:2]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("reword") / "run", TRAIN)


def figures(run: Path) -> dict[str, object]:
    return RunFolder(run).record.stages["reword"].figures


def test_wordings_are_counted_and_what_is_kept_is_read_as_its_program(run: Path) -> None:
    lines = done("reword", run, "-n", 10, "-k", 3, *QUICK)
    found = figures(run)
    kept = list(read_examples(run / "reworded.tsv")) if (run / "reworded.tsv").stat().st_size else []
    assert found["programs"] == 10
    assert found["pairs"] == len(kept) == sum(found["kept"].values())
    assert sum(found["refused"].values()) + len(kept) == 30
    parser = RunFolder(run).parser()
    assert all(answer.text == pair.target_text for pair in kept for answer in parser.answers([pair.source_text]))
    assert any(line.startswith("reword: ") for line in lines)


def test_unchecked_wordings_are_all_that_is_new_and_the_network_is_trained_once(run: Path) -> None:
    done("reword", run, "-n", 10, *QUICK)
    refused = figures(run)["refused"]
    lines = done("reword", run, "-n", 10, "--no-check", *QUICK)
    assert any("reverse: already complete" in line for line in lines)
    assert set(figures(run)["refused"]) <= {"empty", "known"}
    assert set(refused) > set(figures(run)["refused"])
    first = (run / "reworded.tsv").read_bytes()
    done("reword", run, "-n", 10, "--no-check", "--no-resume", *QUICK)
    assert (run / "reworded.tsv").read_bytes() == first


def test_a_model_that_was_trained_may_read_wordings_too(run: Path, tmp_path: Path) -> None:
    done("train", run.parent / "train.tsv", "--out", tmp_path / "t5", *QUICK)
    done("reword", run, "-n", 5, "--reader", tmp_path / "t5", *QUICK)
    assert set(figures(run)["kept"]) <= {"parser", "model"}
    assert RunFolder(run).record.stages["reword"].options["contents"]


def test_what_cannot_be_done_is_refused_before_the_training(run: Path, tmp_path: Path) -> None:
    assert "csl induce" in commands.refused("reword", tmp_path / "none", *QUICK)
    assert "--no-check" in commands.refused("reword", run, "--reader", tmp_path, "--no-check", *QUICK)
    assert str(tmp_path / "gone") in commands.refused("reword", run, "--reader", tmp_path / "gone", *QUICK)
    bare = make_run(tmp_path / "bare", TRAIN, stages=(DATA, PREPARE, INDUCE))
    assert "csl sample" in commands.refused("reword", bare, *QUICK)
