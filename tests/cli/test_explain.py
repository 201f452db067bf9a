"""`csl grammar coverage` and `csl grammar explain`."""

import doctest
import shlex
from pathlib import Path

import pytest
from typer.testing import Result

from .commands import csl, done, refused, write

RULES = """# a toy
jump ### JUMP
walk ### WALK
turn left ### LEFT
NT_1 twice ### NT_1 NT_1
NT_1 and NT_2 ### NT_1 NT_2
"""
DATA = """\
jump twice\tJUMP JUMP\tverbs
jump and walk\tWALK JUMP\tverbs
turn left twice and jump\tLEFT LEFT JUMP\tturns
hop and jump\tHOP JUMP\tverbs
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "grammar.txt").write_text(RULES)
    return tmp_path / "run"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data.tsv").write_text(DATA)
    return tmp_path / "data.tsv"


def explain(*arguments: object) -> Result:
    return csl("grammar", "explain", *arguments)


def coverage(*arguments: object) -> list[str]:
    return [" ".join(line.split()) for line in done("grammar", "coverage", *arguments)]


def test_coverage_counts_correct_outputs_and_covered_inputs(run: Path, data: Path) -> None:
    sizes, _, *rows, unknown = coverage(run, data, "--threads", 2)
    assert sizes == "5 rules, 4 examples"
    assert rows == ["all 4 2 50.00 % 3 75.00 %", "turns 1 1 100.00 % 1 100.00 %", "verbs 3 1 33.33 % 2 66.66 %"]
    assert unknown.endswith(": 1 (hop 1)")


def test_coverage_writes_what_is_missing(run: Path, data: Path, tmp_path: Path) -> None:
    lines = coverage(run / "grammar.txt", data, "--missing", tmp_path / "missing.tsv")
    assert lines[-1].startswith(f"{tmp_path / 'missing.tsv'}: 2 ")
    assert (tmp_path / "missing.tsv").read_text() == "".join(DATA.splitlines(keepends=True)[1::2])
    (tmp_path / "d.jsonl").write_text('{"q": "jump", "a": "JUMP"}\n{"q": "jump", "a": "WALK"}\n')
    fields = ("--input-column", "q", "--output-column", "a")
    lines = coverage(run, tmp_path / "d.jsonl", "--missing", tmp_path / "missing.tsv", *fields)
    assert lines[2:-1] == ["all 2 1 50.00 % 2 100.00 %"]
    assert (tmp_path / "missing.tsv").read_text() == "jump\tWALK\n"


def test_a_folder_without_a_grammar_is_refused(tmp_path: Path, data: Path) -> None:
    assert "grammar.txt" in refused("grammar", "coverage", tmp_path, data)


def test_explain_draws_the_derivation_of_a_pair(run: Path) -> None:
    result = explain(run, "turn left twice and jump", "LEFT LEFT JUMP")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "turn left twice and jump",
        "→ LEFT LEFT JUMP",
        "NT_1 and NT_2 ### NT_1 NT_2",
        "├── NT_1 twice ### NT_1 NT_1",
        "│   └── turn left ### LEFT",
        "└── jump ### JUMP",
    ]


def test_explain_draws_derivations_with_other_outputs_first(run: Path) -> None:
    with (run / "grammar.txt").open("a") as file:
        file.write("jump twice ### JUMP JUMP\ntwice ### HOP\nNT_1 NT_2 ### NT_2 NT_1\n")
    blocks = [
        ["derivation 1 of 3", "jump twice", "→ JUMP JUMP", "jump twice ### JUMP JUMP"],
        ["", "derivation 2 of 3", "jump twice", "→ HOP JUMP", "NT_1 NT_2 ### NT_2 NT_1", "├── jump ### JUMP",
         "└── twice ### HOP"],
        ["", "derivation 3 of 3", "jump twice", "→ JUMP JUMP", "NT_1 twice ### NT_1 NT_1", "└── jump ### JUMP"],
    ]  # fmt: skip
    assert explain(run, "jump twice").output.splitlines() == [line for block in blocks for line in block]
    assert explain(run, "jump twice", "--limit", 1).output.splitlines() == blocks[0]


def test_the_derivation_of_the_parser_comes_first_with_types(tmp_path: Path) -> None:
    pairs = {"jump": "J", "walk": "W", "jump back": "J B", "walk back": "W B", "jump and walk": "J W"}
    (tmp_path / "valid.cfg").write_text("ROOT => ##X\nX => J\nX => W\nX => ##X B\nX => ##X ##X\n")
    train = write(tmp_path / "train.tsv", pairs)
    done("induce", train, "--out", tmp_path / "run", "--output-cfg", tmp_path / "valid.cfg", "--preset", "scan")
    assert len(explain(tmp_path / "run", "walk and jump back").output.splitlines()) > 4
    done("fit", tmp_path / "run", "--set", "optimizer=em")
    [parsed] = done("parse", tmp_path / "run", "walk and jump back")
    lines = done("grammar", "explain", tmp_path / "run", "walk and jump back")
    assert lines[0].startswith("the parser takes derivation 1, ")
    assert f"→ {parsed}" in lines[1:4]
    assert any(line.endswith("walk ### W  : X") for line in lines)


def test_explain_neither_cuts_nor_wraps_long_rules_in_plain_text(run: Path) -> None:
    (run / "grammar.txt").write_text(f"NT_1 x ### NT_1 {'X ' * 200}\njump ### JUMP\n")
    result = explain(run, "jump x")
    assert len(result.output.splitlines()) == 4
    assert result.output.count("X ") == 2 * 200 - 2  # the last of a line ends it


def test_explain_shows_the_parts_of_an_input_that_are_covered(run: Path) -> None:
    result = explain(run, "jump twice hop walk and turn left JUMP")
    assert result.exit_code == 1
    _, parts, unknown = result.output.splitlines()
    assert parts == "  [jump twice] hop [walk and turn left] JUMP"
    assert unknown.endswith(": hop JUMP")


def test_explain_shows_the_outputs_that_are_derived_instead(run: Path) -> None:
    result = explain(run, "jump and walk", "WALK JUMP")
    assert (result.exit_code, result.output.splitlines()[1:]) == (1, ["  JUMP WALK"])


@pytest.mark.parametrize(("pair", "side"), [(["  "], "input"), (["jump", ""], "output")])
def test_explain_refuses_an_empty_side(run: Path, pair: list[str], side: str) -> None:
    assert f"the {side} is empty" in refused("grammar", "explain", run, *pair)


def test_the_documentation_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "coverage.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0
    grammar, examples, *others = (block.lstrip("\n") for block in page.read_text(encoding="utf-8").split("```")[1::2])
    monkeypatch.chdir(tmp_path)
    Path("toy").mkdir()
    Path("toy/grammar.txt").write_text(grammar)
    Path("test.tsv").write_text(examples)
    shown = [block.removeprefix("$ csl ").split("\n", 1) for block in others if block.startswith("$ csl ")]
    assert len(shown) == 4
    for command, expected in shown:
        output = csl(*shlex.split(command)).output
        assert [line.rstrip() for line in output.splitlines()] == expected.splitlines(), command
