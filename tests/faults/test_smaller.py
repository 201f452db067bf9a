"""Closed streams, endless links, little memory, odd JSON, names of files, signals: one line each, nothing lost."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import PAIRS, Csl, contents, limited


def closed(descriptor: int) -> dict[str, object]:
    """Options of a process that starts with a closed stream."""
    return {"preexec_fn": lambda: os.close(descriptor)}


def test_standard_input_that_is_closed(csl: Csl, run: Path) -> None:
    csl.refused(f"parse {run}", "standard input is closed", **closed(0))


@pytest.mark.parametrize("line", ["parse run walk", "sample run -n 3 --out -", "grammar show run", "data list"])
def test_standard_output_that_is_closed_is_a_failure(csl: Csl, run: Path, line: str) -> None:
    csl.refused(line, "standard output", code=1, stdout=None, **closed(1))
    assert run.is_dir()


@pytest.mark.parametrize("line", ["induce train.tsv --out loop", "sample run --out loop/x.tsv", "fit loop"])
def test_a_link_to_itself(csl: Csl, run: Path, line: str) -> None:
    (csl.folder / "loop").symlink_to("loop")
    csl.refused(line, "loop")
    assert (csl.folder / "loop").is_symlink()
    assert run.is_dir()


def test_a_network_that_is_too_large_for_the_memory(csl: Csl) -> None:
    pytest.importorskip("torch")
    line = "train train.tsv --out new --device cpu --set d_model=16384 --set d_ff=65536"
    csl.refused(line, "memory", code=1, preexec_fn=limited(resource.RLIMIT_AS, 4 << 30))


def test_an_empty_name_of_a_run_folder(csl: Csl) -> None:
    before = contents(csl.folder)
    csl.refused("induce train.tsv --out=", "--out")
    assert contents(csl.folder) == before


def test_other_spaces_are_parts_of_words(csl: Csl) -> None:
    (csl.folder / "x.tsv").write_text("a\u00a0b c\tA\u00a0B C\nd\tD\n", "utf-8")
    assert csl("induce x.tsv --out new --preset scan")[0] == 0
    assert csl("fit new --set optimizer=em --set states=1")[0] == 0
    (csl.folder / "in.txt").write_text("a\u00a0b c\n", "utf-8")
    assert csl("parse new in.txt --file")[1] == "a\u00a0b c\tA\u00a0B C\n"


# signals


def stopped_while_writing(csl: Csl, number: signal.Signals) -> int:
    """Send a signal to `csl sample` once the file is there that it writes to."""
    with csl.start("sample run -n 100000000 --out out/x.tsv", stdout=subprocess.DEVNULL) as process:
        while not list(csl.folder.glob("out/.*.partial")):
            assert process.poll() is None
        process.send_signal(number)
        return process.wait()


def test_what_a_killed_command_left_is_removed_by_the_next(csl: Csl, run: Path) -> None:
    assert stopped_while_writing(csl, signal.SIGKILL) == -signal.SIGKILL
    assert list((csl.folder / "out").iterdir()) != []
    assert csl(f"sample {run} -n 3 --out out/x.tsv")[0] == 0
    assert sorted(path.name for path in (csl.folder / "out").iterdir()) == ["x.card.json", "x.tsv"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_other_signals_leave_nothing(csl: Csl, run: Path, number: signal.Signals) -> None:
    assert stopped_while_writing(csl, number) == 128 + number
    assert list((csl.folder / "out").iterdir()) == []
    assert run.is_dir()


# recipes, what is repeated to the user


def test_a_long_input_is_not_repeated_as_a_whole(csl: Csl, run: Path) -> None:
    code, output, errors = csl(f"parse {run} --max-memory 1M {'walk-and-' * 3000}x")
    assert code == 1
    assert len(output + errors) < 1000


@pytest.mark.parametrize("name", ["../train.tsv", "{}/train.tsv"])
def test_a_recipe_may_name_files_elsewhere(csl: Csl, name: str) -> None:
    (csl.folder / "recipes").mkdir()
    train = name.format(csl.folder)
    (csl.folder / "recipes" / "mine.toml").write_text(f'[data]\ntrain = "{train}"\n[induction]\npreset = "scan"\n')
    code, _, errors = csl("run recipes/mine.toml --runs runs --until data")
    assert code == 0, errors
    copy = csl.folder / "runs" / "mine" / "seed-0" / "data" / "train.tsv"
    assert copy.read_text() == PAIRS


@pytest.mark.parametrize("name", ["../x", "/etc/hostname", "a/../../x"])
def test_a_record_may_not(csl: Csl, run: Path, name: str) -> None:
    record = (run / "run.json").read_text().replace('"grammar.txt"', f'"{name}"')
    (run / "run.json").write_text(record)
    csl.refused("induce train.tsv --out run --preset scan --no-resume", "run.json")


# what else was found


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/stdin", "pipe"])
def test_training_data_without_an_end_or_that_can_be_read_only_once(csl: Csl, name: str) -> None:
    os.mkfifo(csl.folder / "pipe")
    csl.refused(f"induce {name} --out new", name, stdin=subprocess.PIPE)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"seed": 0', '"seed": 1e400', "parse run walk"),
        ('"left_out"', '"left_in"', "fit run --set optimizer=em --set states=2 --set steps=2"),
        ('"config": {', '"config": 3, "x": {', "report run --out x.html"),
        ('"savings": [', '"savings": [["a", 1, "x"], ', "induce train.tsv --out run --preset scan"),
        ('"model.npz": "', '"data": "', "fit run --no-resume"),
        ('"model.npz": "', '".": "', "parse run walk"),
    ],
)
def test_a_record_that_was_changed(csl: Csl, run: Path, old: str, new: str, line: str) -> None:
    record = (run / "run.json").read_text()
    assert old in record
    (run / "run.json").write_text(record.replace(old, new, 1))
    csl.refused(line, "run/")


def test_a_report_can_go_to_standard_output(csl: Csl, run: Path) -> None:
    pytest.importorskip("jinja2")
    code, output, errors = csl.process(f"report {run} --out -")
    assert (code, output.count("<html")) == (0, 1), errors
