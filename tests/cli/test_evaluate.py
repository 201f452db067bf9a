"""`csl evaluate`: of a parser, of a trained model, of a file of predictions."""

import json
from pathlib import Path

import pytest

from csl.examples import Example, read_examples, write_examples

from .commands import csl, done, refused, write

TEST = [
    Example.of("jump and walk", "JUMP WALK", category="two"),
    Example.of("jump and run", "RUN JUMP", category="two"),
    Example.of("jump", "JUMP", category="one"),
    Example.of("hop", "HOP", category="one"),
    Example.of("run and walk and jump", "RUN WALK JUMP", category="two"),
    Example.of("run and walk and jump and run", "RUN WALK JUMP RUN", category="two"),
]
LEARNED = [
    Example.of("walk left", "LEFT ( WALK )", category="two"),
    Example.of("look right", "RIGHT(LOOK)", category="two"),
    Example.of("run left", "LEFT ( LOOK )", category="two"),
    Example.of("jump", "JUMP", category="one"),
]
FIELDS = ("--input-column", "q", "--output-column", "a")


def rows(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.rsplit(maxsplit=4)] for line in lines[1:] if "%" in line]


@pytest.fixture
def test(tmp_path: Path) -> Path:
    write_examples(tmp_path / "test.tsv", TEST, columns=("category",))
    return tmp_path / "test.tsv"


@pytest.fixture
def learned(tmp_path: Path) -> Path:
    write_examples(tmp_path / "learned.tsv", LEARNED, columns=("category",))
    return tmp_path / "learned.tsv"


def test_scores_by_category_or_by_length(fitted: Path, test: Path) -> None:
    lines = done("evaluate", fitted, test)
    assert rows(lines) == [
        ["one", "2", "50.0%", "50.0%", "100.0%"],
        ["two", "4", "75.0%", "100.0%", "75.0%"],
        ["all", "6", "66.7%", "83.3%", "80.0%"],
    ]
    assert lines[-1].startswith("4 of 6 pairs derivable: mean log p(x, y) -")
    write_examples(test, TEST)
    found = rows(done("evaluate", fitted, test, "--threads", 2))
    assert [row[:2] for row in found] == [["1–5 tokens", "5"], ["6–10 tokens", "1"], ["all", "6"]]


def test_wrong_outputs_are_written_beside_the_correct_ones(fitted: Path, test: Path, tmp_path: Path) -> None:
    for name in ("wrong.tsv", "wrong.jsonl"):
        assert f"{tmp_path / name}: 1 wrong" in done("evaluate", fitted, test, "--errors", tmp_path / name)[-1]
    assert (tmp_path / "wrong.tsv").read_text("utf-8") == "jump and run\tRUN JUMP\tJUMP RUN\n"
    [wrong] = read_examples(tmp_path / "wrong.jsonl")
    assert wrong.meta == {"predicted": "JUMP RUN"}


def test_the_test_set_is_not_overwritten(fitted: Path, test: Path) -> None:
    before = test.read_bytes()
    assert str(test) in refused("evaluate", fitted, test, "--errors", test)
    assert str(test) in refused("grammar", "coverage", fitted, test, "--missing", test)
    assert test.read_bytes() == before


@pytest.mark.parametrize(("model", "examples"), [("fitted", TEST), ("trained", LEARNED)])
def test_json_lines_with_other_fields(
    model: str, examples: list[Example], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lines = [json.dumps({"q": e.source_text, "a": e.target_text, **e.meta}) for e in examples]
    (tmp_path / "test.jsonl").write_text("\n".join(lines), "utf-8")
    run = request.getfixturevalue(model)
    found = rows(done("evaluate", run, tmp_path / "test.jsonl", *FIELDS, "--device", "cpu"))
    assert [row[0] for row in found] == ["one", "two", "all"]


def test_nothing_derivable_is_no_failure(fitted: Path, tmp_path: Path) -> None:
    assert done("evaluate", fitted, write(tmp_path / "t.tsv", {"hop": "HOP"}))[-1].startswith("0 of 1 pairs")


def test_a_trained_model(trained: Path, learned: Path, tmp_path: Path) -> None:
    options = ("--device", "cpu", "--threads", 1)
    lines = done("evaluate", trained, learned, *options, "--errors", tmp_path / "wrong.tsv")
    assert rows(lines) == [
        ["one", "1", "100.0%", "100.0%", "100.0%"],
        ["two", "3", "66.7%", "100.0%", "66.7%"],
        ["all", "4", "75.0%", "100.0%", "75.0%"],
    ]
    assert not any("derivable" in line for line in lines)
    assert (tmp_path / "wrong.tsv").read_text("utf-8") == "run left\tLEFT ( LOOK )\tLEFT ( RUN )\n"
    assert rows(done("evaluate", trained / "model", learned, *options)) == rows(lines)  # its model folder, too


def test_a_file_of_predictions(fitted: Path, test: Path, tmp_path: Path) -> None:
    outputs = ["JUMP WALK", "JUMP RUN", "JUMP", "", "RUNWALK JUMP", "RUN  WALK JUMP RUN\tand more"]
    lines = [f"{e.source_text}\t{output}\n" for e, output in zip(TEST, outputs, strict=True)]
    (tmp_path / "made.tsv").write_text("".join(lines), "utf-8")
    assert rows(done("evaluate", tmp_path / "made.tsv", test, "--errors", tmp_path / "wrong.tsv")) == [
        ["one", "2", "50.0%", "50.0%", "100.0%"],
        ["two", "4", "50.0%", "100.0%", "50.0%"],
        ["all", "6", "50.0%", "83.3%", "60.0%"],
    ]
    assert (tmp_path / "wrong.tsv").read_text("utf-8") == (
        "jump and run\tRUN JUMP\tJUMP RUN\nrun and walk and jump\tRUN WALK JUMP\tRUNWALK JUMP\n"
    )
    (tmp_path / "made.tsv").write_text(csl("parse", fitted, test).stdout, "utf-8")
    assert rows(done("evaluate", tmp_path / "made.tsv", test)) == rows(done("evaluate", fitted, test))


def test_white_space_around_punctuation_does_not_count(tmp_path: Path) -> None:
    test = write(tmp_path / "test.tsv", {"a": "f(a)", "b": "f ( a b )", "c": "f ( a_b )", "d": "f ( A )"})
    (tmp_path / "made.tsv").write_text("a\tf ( a )\nb\tf(a b)\nc\tf(a _b)\nd\tf(a)\n", "utf-8")
    assert rows(done("evaluate", tmp_path / "made.tsv", test))[-1][1:3] == ["4", "50.0%"]


def test_wrong_files_are_refused(fitted: Path, trained: Path, learned: Path, tmp_path: Path) -> None:
    texts = {"other": "jump\tJUMP\n" * 4, "few": "jump\tJUMP\n", "one": "walk left\tX\nlook right\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.tsv").write_text(text, "utf-8")
    (tmp_path / "unfinished" / "model").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for arguments, named in (
        ((fitted, tmp_path / "absent.tsv"), "absent.tsv: "),
        ((fitted, tmp_path / "one.tsv"), "one.tsv:2: "),
        ((tmp_path / "empty", learned), "`csl fit`"),
        ((tmp_path / "absent", learned), "absent: "),
        ((tmp_path / "other.tsv", learned), "prediction 1"),
        ((tmp_path / "few.tsv", learned), "few.tsv: 1 predictions"),
        ((tmp_path / "one.tsv", learned), "one.tsv:2: "),
        ((tmp_path / "unfinished", learned), "unfinished"),
        ((trained, learned, "--device", "warp"), "--device cpu"),
    ):
        assert named in refused("evaluate", *arguments)
