"""Nothing that a run did not make is overwritten, truncated or removed."""

import os
from pathlib import Path

import pytest

from .conftest import EM, PAIRS, Csl, contents

# links inside a run folder

COMMANDS = (
    "induce train.tsv --out run --preset scan --no-resume",
    f"fit run {EM} --no-resume",
    "sample run --no-resume",
)


@pytest.mark.parametrize("line", [*COMMANDS, "augment train.tsv --out run", "train train.tsv --out run --device cpu"])
def test_a_lock_that_is_a_link(csl: Csl, run: Path, line: str) -> None:
    (csl.folder / "precious").write_text("mine")
    (run / ".lock").symlink_to("../precious")
    csl.refused(line, ".lock")
    assert (csl.folder / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("recipe.toml", COMMANDS[0]), ("grammar.txt", COMMANDS[0]), ("checkpoints", COMMANDS[0]),
        ("metrics", COMMANDS[1]), ("model.npz", COMMANDS[1]), ("checkpoints", COMMANDS[1]),
        ("samples.tsv", COMMANDS[2]), ("samples.card.json", COMMANDS[2]), ("run.json", COMMANDS[2]),
    ],
)  # fmt: skip
def test_nothing_is_written_or_removed_through_a_link(csl: Csl, run: Path, name: str, line: str) -> None:
    precious, path = csl.folder / "precious", run / name
    if path.is_file():
        path.rename(precious)
    else:
        precious.mkdir()
        (precious / "fit-mine.npz").write_text("mine")
        for file in path.glob("*"):
            file.rename(precious / file.name)
        if path.exists():
            path.rmdir()
    path.symlink_to("../precious")
    before = contents(precious) if precious.is_dir() else precious.read_bytes()
    csl.refused(line, name)
    assert before == (contents(precious) if precious.is_dir() else precious.read_bytes())


# streams


@pytest.mark.parametrize(("command", "out"), [("sample run -n 3", "-"), ("geca train.tsv -n 3", "/dev/stdout")])
def test_standard_output_can_be_a_pipe(csl: Csl, run: Path, command: str, out: str) -> None:
    before = set(os.listdir("/dev"))
    code, output, errors = csl.process(f"{command} --out {out}")
    assert (code, output.count("\t")) == (0, 3), errors
    assert not [name for name in set(os.listdir("/dev")) - before if "card" in name]
    assert run.is_dir()


def test_a_reader_that_stops_early_is_no_failure_of_others(csl: Csl, run: Path) -> None:
    with csl.start(f"sample {run} -n 200000 --out -") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


# what --no-resume removes, and inputs


def test_no_resume_in_a_folder_without_a_run_removes_nothing(csl: Csl) -> None:
    folder = csl.folder / "s"
    folder.mkdir()
    for name, text in {
        "train.tsv": PAIRS,
        "seed_rules.txt": "# mine\n",
        "output.cfg": "mine\n",
        "grammar.txt": "mine",
    }.items():
        (folder / name).write_text(text)
    before = contents(folder)
    csl.refused("induce s/train.tsv --out s --no-resume --preset scan", "not made by")
    assert contents(folder).items() >= before.items()


def test_no_resume_keeps_what_lies_beside_a_run(csl: Csl, run: Path) -> None:
    (run / "notes.txt").write_text("mine")
    (run / "metrics" / "notes.txt").write_text("mine")
    for line in COMMANDS:
        assert csl(line)[0] == 0
    assert (run / "notes.txt").read_text() == (run / "metrics" / "notes.txt").read_text() == "mine"


def test_a_failed_fit_leaves_the_run_usable(csl: Csl, run: Path) -> None:
    (csl.folder / "long.txt").write_text("walk " * 2_000_000)
    before = contents(run)
    csl.refused(f"fit run {EM} --no-resume --unlabelled long.txt", "long.txt")
    assert contents(run) == before


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
