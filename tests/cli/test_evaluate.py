"""`csl evaluate` as a person meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError
from csl.examples import Example, read_examples, write_examples

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


def test_the_test_set_is_not_written_over(run: Path, tmp_path: Path) -> None:
    data = tmp_path / "test.tsv"
    write_examples(data, [Example.of("jump", "WALK")])
    before = data.read_bytes()
    for line in (["evaluate", run, data, "--errors", data], ["grammar", "coverage", run, data, "--missing", data]):
        result = CliRunner().invoke(app, [*map(str, line)])
        assert "would be overwritten" in str(result.exception)
    assert data.read_bytes() == before


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


# of a model that csl train made, and of a file of predictions


LEARNED = [
    Example.of("walk left", "LEFT ( WALK )", category="two"),
    Example.of("look right", "RIGHT(LOOK)", category="two"),
    Example.of("run left", "LEFT ( LOOK )", category="two"),
    Example.of("jump", "JUMP", category="one"),
]


def test_a_trained_model_by_category(trained: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", LEARNED, columns=("category",))
    result = csl("evaluate", trained, tmp_path / "test.tsv", "--device", "cpu", "--errors", tmp_path / "wrong.tsv")
    assert rows(result) == [
        [" one", "1", "100.0%", "100.0%", "100.0%"],
        [" two", "3", "66.7%", "100.0%", "66.7%"],
        [" all", "4", "75.0%", "100.0%", "75.0%"],
    ]
    assert "derivable" not in result.output
    assert result.output.endswith(f"{tmp_path / 'wrong.tsv'}: 1 wrong outputs\n")
    assert (tmp_path / "wrong.tsv").read_text("utf-8") == "run left\tLEFT ( LOOK )\tLEFT ( RUN )\n"


def test_a_trained_model_on_json_lines(trained: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"q": e.source_text, "a": e.target_text, **e.meta}) for e in LEARNED]
    (tmp_path / "test.jsonl").write_text("\n".join(lines), "utf-8")
    fields = ("--input-field", "q", "--output-field", "a")
    found = rows(csl("evaluate", trained, tmp_path / "test.jsonl", *fields, "--device", "cpu", "--threads", 1))
    assert [row[2] for row in found] == ["100.0%", "66.7%", "75.0%"]


def test_a_file_of_predictions(tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", TEST, columns=("category",))
    outputs = ["JUMP WALK", "JUMP RUN", "JUMP", "", "RUNWALK JUMP", "RUN  WALK JUMP RUN\tand more"]
    lines = [f"{e.source_text}\t{output}\n" for e, output in zip(TEST, outputs, strict=True)]
    (tmp_path / "made.tsv").write_text("".join(lines), "utf-8")
    result = csl("evaluate", tmp_path / "made.tsv", tmp_path / "test.tsv", "--errors", tmp_path / "wrong.tsv")
    assert rows(result) == [
        [" one", "2", "50.0%", "50.0%", "100.0%"],
        [" two", "4", "50.0%", "100.0%", "50.0%"],
        [" all", "6", "50.0%", "83.3%", "60.0%"],
    ]
    assert (tmp_path / "wrong.tsv").read_text("utf-8") == (
        "jump and run\tRUN JUMP\tJUMP RUN\nrun and walk and jump\tRUN WALK JUMP\tRUNWALK JUMP\n"
    )


def test_predictions_of_the_parser_score_as_the_parser(run: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", TEST, columns=("category",))
    (tmp_path / "made.tsv").write_text(csl("parse", run, tmp_path / "test.tsv").stdout, "utf-8")
    found = rows(csl("evaluate", tmp_path / "made.tsv", tmp_path / "test.tsv"))
    assert found == rows(csl("evaluate", run, tmp_path / "test.tsv"))


def test_white_space_around_signs_does_not_count(tmp_path: Path) -> None:
    pairs = {"a": "f(a)", "b": "f ( a b )", "c": "f ( a_b )", "d": "f ( A )"}
    write_examples(tmp_path / "test.tsv", [Example.of(x, y) for x, y in pairs.items()])
    (tmp_path / "made.tsv").write_text("a\tf ( a )\nb\tf(a b)\nc\tf(a _b)\nd\tf(a)\n", "utf-8")
    assert rows(csl("evaluate", tmp_path / "made.tsv", tmp_path / "test.tsv"))[-1][1:3] == ["4", "50.0%"]


def test_what_is_no_model_and_no_prediction_is_refused(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = tmp_path / "test.tsv"
    write_examples(test, LEARNED)
    (tmp_path / "other.tsv").write_text("jump\tJUMP\n" * 4, "utf-8")
    (tmp_path / "few.tsv").write_text("jump\tJUMP\n", "utf-8")
    (tmp_path / "one.tsv").write_text("walk left\tX\nlook right\n", "utf-8")
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "train.json").write_text("{}", "utf-8")
    for arguments, reason in (
        ((tmp_path / "absent", test), "absent: cannot be read"),
        ((tmp_path / "other.tsv", test), f"the input of prediction 1 is 'jump', in {test} 'walk left'"),
        ((tmp_path / "few.tsv", test), f"few.tsv: 1 predictions, but {test} has 4 inputs"),
        ((tmp_path / "one.tsv", test), "one.tsv:2: one column; expected input<TAB>output, as csl predict"),
        ((tmp_path / "unfinished", test), "unfinished: holds no model that `csl train` wrote"),
        ((trained, test, "--device", "warp"), "no device 'warp' here; try --device cpu"),
    ):
        result = csl("evaluate", *arguments)
        assert isinstance(result.exception, InputError), result.exception
        assert reason in str(result.exception)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert str(csl("evaluate", trained, test).exception).startswith("not installed: torch, ")


def test_the_folder_of_the_model_alone_will_do(trained: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", LEARNED)
    assert rows(csl("evaluate", trained / "model", tmp_path / "test.tsv", "--device", "cpu"))[-1][2] == "75.0%"
