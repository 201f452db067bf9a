"""SCAN is generated: it must equal the published files, and the interpreter must refuse what is no command."""

import json
from collections import Counter
from pathlib import Path

import pytest

from csl.datasets import scan
from csl.errors import InputError
from csl.examples import Example


def published(path: Path) -> Counter[Example]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return Counter(Example.of(*line.removeprefix("IN: ").split(" OUT: ")) for line in lines)


@pytest.mark.parametrize(
    ("command", "actions"),
    [
        ("jump", "I_JUMP"),
        ("turn left", "I_TURN_LEFT"),
        ("turn opposite right", "I_TURN_RIGHT I_TURN_RIGHT"),
        ("run opposite left", "I_TURN_LEFT I_TURN_LEFT I_RUN"),
        ("turn around left", "I_TURN_LEFT I_TURN_LEFT I_TURN_LEFT I_TURN_LEFT"),
        ("walk twice and look thrice", "I_WALK I_WALK I_LOOK I_LOOK I_LOOK"),
        ("walk left after run", "I_RUN I_TURN_LEFT I_WALK"),
    ],
)
def test_interprets_a_command(command: str, actions: str) -> None:
    assert scan.interpret(command.split()) == tuple(actions.split())


NO_COMMANDS = """turn,left,twice,jump jump,walk twice twice,walk twice left,turn around,walk around opposite left,
jump and,after jump,walk and run and jump,walk and run after jump,fly left,"""


@pytest.mark.parametrize("text", NO_COMMANDS.split(","))
def test_refuses_what_is_no_command(text: str) -> None:
    assert scan.interpret(text.split()) is None


def test_commands_are_distinct_and_complete() -> None:
    commands = list(scan.commands())
    assert len(commands) == len(set(commands)) == 20_910


@pytest.mark.parametrize(("split", "primitive", "copies"), [("jump", "jump", 1_467), ("turn_left", "turn left", 2_189)])
def test_the_lone_primitive_is_a_tenth_of_the_training_set(split: str, primitive: str, copies: int) -> None:
    task = scan.prepare(None, split)
    assert sum(pair.source_text == primitive for pair in task.train) == copies
    assert len(task.train) == 10 * copies
    assert not any(f" {primitive} " in f" {p.source_text} " for p in task.train if p.source_text != primitive)
    assert all(f" {primitive} " in f" {pair.source_text} " for pair in task.test)


@pytest.mark.parametrize(
    ("split", "sizes", "verbs"),
    [
        ("around_right", (15_225, 4_476), "walk look run jump"),
        ("opposite_right", (15_225, 4_476), "walk look run jump"),
        ("right", (15_225, 4_476), "walk look run jump"),
        ("jump_around_right", (18_528, 1_173), "jump"),
    ],
)
def test_a_phrase_is_held_out_of_training(split: str, sizes: tuple[int, int], verbs: str) -> None:
    task = scan.prepare(None, split)
    words = split.removeprefix("jump_").replace("_", " ")
    assert (len(task.train), len(task.test)) == sizes
    assert all(any(f" {verb} {words} " in f" {p.source_text} " for verb in verbs.split()) for p in task.test)
    assert not any(f" {verb} {words} " in f" {p.source_text} " for p in task.train for verb in (*verbs.split(), "turn"))


@pytest.mark.parametrize(
    ("split", "name"), [("jump", "addprim_jump"), ("turn_left", "addprim_turn_left"), ("length", "length")]
)
def test_splits_equal_the_published_files(shared_data: Path, split: str, name: str) -> None:
    task = scan.prepare(None, split)
    assert Counter(task.train) == published(shared_data / "scan" / f"tasks_train_{name}.txt")
    assert Counter(task.test) == published(shared_data / "scan" / f"tasks_test_{name}.txt")
    assert task.dev == []


def test_all_pairs_equal_the_published_file(shared_data: Path) -> None:
    generated = Counter(Example(command, scan.interpret(command) or ()) for command in scan.commands())
    assert generated == published(shared_data / "scan" / "tasks.txt")


@pytest.mark.parametrize("split", ["mcd1", "mcd2"])
def test_mcd_splits_have_the_published_sizes(shared_data: Path, split: str) -> None:
    task = scan.prepare(shared_data / "scan", split)
    assert (len(task.train), len(task.dev), len(task.test)) == (8_365, 1_046, 1_045)
    assert len({*task.train, *task.dev, *task.test}) == 8_365 + 1_046 + 1_045


def small_source(folder: Path, index: object, tasks: str = "IN: jump OUT: I_JUMP\nIN: run OUT: I_RUN\n") -> Path:
    (folder / "tasks.txt").write_text(tasks, encoding="utf-8")
    (folder / "mcd3.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def test_mcd_takes_lines_by_number_from_zero(tmp_path: Path) -> None:
    task = scan.prepare(small_source(tmp_path, {"trainIdxs": [1], "devIdxs": [], "testIdxs": [0]}), "mcd3")
    assert [pair.source_text for pair in task.train] == ["run"]
    assert [pair.source_text for pair in task.test] == ["jump"]


@pytest.mark.parametrize("missing", ["tasks.txt", "mcd3.json"])
def test_mcd_names_the_missing_file(tmp_path: Path, missing: str) -> None:
    (small_source(tmp_path, {"trainIdxs": [], "devIdxs": [], "testIdxs": []}) / missing).unlink()
    with pytest.raises(InputError, match=missing):
        scan.prepare(tmp_path, "mcd3")


@pytest.mark.parametrize("line", ["jump\tI_JUMP", "IN: jump OUT: I_RUN", "IN: OUT: I_RUN", "IN: jump"])
def test_mcd_refuses_a_line_that_is_no_pair(tmp_path: Path, line: str) -> None:
    source = small_source(tmp_path, {"trainIdxs": [], "devIdxs": [], "testIdxs": []}, f"IN: run OUT: I_RUN\n{line}\n")
    with pytest.raises(InputError, match=r"tasks\.txt:2: not a SCAN pair"):
        scan.prepare(source, "mcd3")
