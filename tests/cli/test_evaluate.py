"""`csl evaluate` as a person meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.data import Example, read_examples, write_examples
from csl.errors import InputError

PAIRS = {"walk": "WALK", "run": "RUN", "jump": "JUMP", "walk and run": "WALK RUN", "run and walk": "RUN WALK"}
TEST = [
    Example.of("jump and walk", "JUMP WALK", category="two"),
    Example.of("jump and run", "RUN JUMP", category="two"),
    Example.of("jump", "JUMP", category="one"),
    Example.of("hop", "HOP", category="one"),
    Example.of("run and walk and jump", "RUN WALK JUMP", category="two"),
    Example.of("run and walk and jump and run", "RUN WALK JUMP RUN", category="two"),
]


def csl(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def rows(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.exception
    return [line.rsplit(maxsplit=4) for line in result.output.splitlines()[1:] if "%" in line]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    write_examples(folder / "train.tsv", [Example.of(x, y) for x, y in PAIRS.items()])
    assert csl("induce", folder / "train.tsv", "--out", folder / "run", "--preset", "scan").exit_code == 0
    assert csl("fit", folder / "run", "--set", "optimizer=em").exit_code == 0
    return folder / "run"


def test_scores_by_category(run: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", TEST, columns=("category",))
    result = csl("evaluate", run, tmp_path / "test.tsv")
    assert rows(result) == [
        [" one", "2", "50.0%", "50.0%", "100.0%"],
        [" two", "4", "75.0%", "100.0%", "75.0%"],
        [" all", "6", "66.7%", "83.3%", "80.0%"],
    ]
    assert "4 of 6 pairs derivable: mean log p(x, y) -" in result.output
    assert "mean log p(y | x) " in result.output


def test_scores_by_length_where_there_are_no_categories(run: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", TEST)
    found = rows(csl("evaluate", run, tmp_path / "test.tsv", "--threads", 2))
    assert [row[:2] for row in found] == [[" 1–5 tokens", "5"], [" 6–10 tokens", "1"], [" all", "6"]]


def test_wrong_outputs_are_written_beside_the_right_ones(run: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", TEST)
    result = csl("evaluate", run, tmp_path / "test.tsv", "--errors", tmp_path / "wrong.tsv")
    assert f"{tmp_path / 'wrong.tsv'}: 1 wrong outputs" in result.output
    assert (tmp_path / "wrong.tsv").read_text("utf-8") == "jump and run\tRUN JUMP\tJUMP RUN\n"
    assert csl("evaluate", run, tmp_path / "test.tsv", "--errors", tmp_path / "wrong.jsonl").exit_code == 0
    [wrong] = read_examples(tmp_path / "wrong.jsonl")
    assert wrong.meta == {"predicted": "JUMP RUN"}


def test_json_lines_with_other_fields(run: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"q": e.source_text, "a": e.target_text, **e.meta}) for e in TEST]
    (tmp_path / "test.jsonl").write_text("\n".join(lines), "utf-8")
    found = rows(csl("evaluate", run, tmp_path / "test.jsonl", "--input-field", "q", "--output-field", "a"))
    assert [row[0].strip() for row in found] == ["one", "two", "all"]


def test_nothing_derivable_is_no_failure(run: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", [Example.of("hop", "HOP")])
    assert "0 of 1 pairs derivable" in csl("evaluate", run, tmp_path / "test.tsv").output


def test_bad_files_are_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("jump\tJUMP\nrun\n", "utf-8")
    for arguments, reason in (
        ((run, tmp_path / "absent.tsv"), "absent.tsv: cannot be read"),
        ((run, tmp_path / "one.tsv"), "one.tsv:2: one column; expected input<TAB>output"),
        ((tmp_path, tmp_path / "one.tsv"), "no grammar.txt in this folder"),
    ):
        result = csl("evaluate", *arguments)
        assert isinstance(result.exception, InputError)
        assert reason in str(result.exception)
