"""`csl ensemble`: two files of predictions, the ensemble of both, and the breakdown."""

import gzip
import json
from pathlib import Path

import pytest

from .commands import command, contents, done, refused

ROWS = [  # input, correct output, category, CSL, T5, a model with augmentation
    ("walk left", "LEFT(WALK)", "left", "LEFT ( WALK )", "LEFT", "LEFT ( WALK )"),
    ("run left", "LEFT(RUN)", "left", "RUN", "LEFT ( RUN )", "RUN"),
    ("hop left", "LEFT(HOP)", "left", "", "LEFT ( HOP )", "LEFT ( HOP )"),
    ("run right", "RIGHT(RUN)", "right", "", "RUN", "RIGHT ( RUN )"),
]


def write(path: Path, *columns: int, rows: list[tuple[str, ...]] = ROWS) -> Path:
    path.write_text("".join("\t".join(row[i] for i in columns) + "\n" for row in rows), "utf-8")
    return path


def breakdown(*arguments: object) -> tuple[list[str], dict[str, list[str]]]:
    """The columns of the table, and its rows by name."""
    head, *lines = [line for line in done("ensemble", *arguments) if ".tsv" not in line]
    return [cell.strip() for cell in head.split("  ") if cell], {line.split()[0]: line.split()[1:] for line in lines}


@pytest.fixture
def csl(tmp_path: Path) -> Path:
    return write(tmp_path / "csl.tsv", 0, 3)


@pytest.fixture
def t5(tmp_path: Path) -> Path:
    return write(tmp_path / "t5.tsv", 0, 4)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write(tmp_path / "test.tsv", 0, 1)


def test_csl_where_it_has_an_output_else_the_other(csl: Path, t5: Path, tmp_path: Path) -> None:
    [line] = done("ensemble", csl, t5, "--out", tmp_path / "both.tsv")
    assert line.startswith(f"{tmp_path / 'both.tsv'}: 2 outputs of csl, the others of t5")
    assert (tmp_path / "both.tsv").read_text("utf-8") == (
        "walk left\tLEFT ( WALK )\nrun left\tRUN\nhop left\tLEFT ( HOP )\nrun right\tRUN\n"
    )


def test_the_breakdown(csl: Path, t5: Path, gold: Path, tmp_path: Path) -> None:
    before = contents(tmp_path)
    columns, rows = breakdown(csl, t5, "--test", gold)
    assert columns == [
        "examples", "covered", "t5 covered", "csl covered", "t5 others", "csl others",
        "t5 all", "csl all", "csl or t5 all",
    ]  # fmt: skip
    assert rows == {"all": ["4", "50.0%", "50.0%", "50.0%", "50.0%", "0.0%", "50.0%", "25.0%", "50.0%"]}
    assert contents(tmp_path) == before


def test_the_breakdown_with_augmentation_and_categories(csl: Path, t5: Path, tmp_path: Path) -> None:
    gold, better = write(tmp_path / "test.tsv", 0, 1, 2), write(tmp_path / "aug.tsv", 0, 5)
    columns, rows = breakdown(csl, t5, "--test", gold, "--augmented", better, "--out", tmp_path / "both.tsv")
    assert columns[2:] == [
        "t5 covered", "csl covered", "aug covered", "t5 others", "csl others", "aug others",
        "t5 all", "csl all", "csl or t5 all", "aug all",
    ]  # fmt: skip
    assert [*rows] == ["left", "right", "all"]
    assert rows["right"] == ["1", "0.0%", "–", "–", "–", "0.0%", "0.0%", "100.0%", "0.0%", "0.0%", "0.0%", "100.0%"]
    assert rows["all"] == [
        "4", "50.0%", "50.0%", "50.0%", "50.0%", "50.0%", "0.0%", "100.0%", "50.0%", "25.0%", "50.0%", "75.0%"
    ]  # fmt: skip
    assert (tmp_path / "both.tsv").exists()


def test_files_of_one_name_are_told_apart_by_their_folders(csl: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = write(tmp_path / "b" / "csl.tsv", 0, 4)
    [line] = done("ensemble", csl, other, "--out", tmp_path / "both.tsv")
    assert line.endswith(f"2 outputs of {csl}, the others of {other}")


def test_files_as_other_commands_write_them(csl: Path, t5: Path, tmp_path: Path) -> None:
    scored = tmp_path / "scored.tsv.gz"  # further columns, as of csl predict -k 2 --scores
    lines = (f"{row[0]}\t{row[4]}\t-0.1\tOTHER\t-3.0\n" for row in ROWS)
    scored.write_bytes(gzip.compress("".join(lines).encode()))
    gold = tmp_path / "test.jsonl"
    gold.write_text("".join(json.dumps({"q": row[0], "a": row[1]}) + "\n" for row in ROWS), "utf-8")
    fields = ("--input-column", "q", "--output-column", "a")
    assert breakdown(csl, scored, "--test", gold, *fields)[1]["all"][-3:] == ["50.0%", "25.0%", "50.0%"]
    for name, other in (("a.tsv", scored), ("b.tsv", t5)):
        done("ensemble", csl, other, "--out", tmp_path / name)
    assert (tmp_path / "a.tsv").read_text("utf-8") == (tmp_path / "b.tsv").read_text("utf-8")


def test_white_space_in_inputs_does_not_count(csl: Path, t5: Path, tmp_path: Path) -> None:
    write(csl, 0, 3, rows=[(f"{row[0]} ?", *row[1:]) for row in ROWS])
    write(t5, 0, 4, rows=[(f"{row[0]}?", *row[1:]) for row in ROWS])
    done("ensemble", csl, t5, "--out", tmp_path / "both.tsv")
    assert (tmp_path / "both.tsv").read_text("utf-8").startswith("walk left ?\t")


def test_wrong_files_are_refused_before_anything_is_written(csl: Path, t5: Path, gold: Path, tmp_path: Path) -> None:
    absent, one, out = tmp_path / "absent.tsv", tmp_path / "one.tsv", ("--out", tmp_path / "both.tsv")
    other = write(tmp_path / "other.tsv", 0, 4, rows=[*ROWS[1:], ROWS[0]])
    few = write(tmp_path / "few.tsv", 0, 4, rows=ROWS[:3])
    one.write_text("walk left\tLEFT\nrun left\n", "utf-8")
    before = contents(tmp_path)
    for arguments, named in (
        ((csl, t5), ("--out", "--test")),
        ((csl, t5, "--test", gold, "--out", gold), (f"{gold}: ",)),
        ((absent, t5, *out), (f"{absent}: ",)),
        ((csl, absent, *out), (f"{absent}: ",)),
        ((csl, t5, "--augmented", absent, *out), (f"{absent}: ",)),
        ((csl, t5, "--test", absent, *out), (f"{absent}: ",)),
        ((csl, one, *out), (f"{one}:2: ",)),
        ((csl, few, *out), (f"{few}: 3 predictions", str(csl))),
        ((csl, other, *out), (f"{other}: ", "'run left'", "'walk left'")),
        ((csl, t5, "--augmented", other, *out), (f"{other}: ", str(csl))),
        ((csl, t5, "--test", other, *out), (f"{csl}: ", str(other))),
        ((csl, t5, "--test", one, *out), (f"{one}:2: ",)),
    ):
        message = refused("ensemble", *arguments)
        assert all(text in message for text in named), message
    assert contents(tmp_path) == before


def test_neither_torch_nor_numba_is_needed(csl: Path, t5: Path, gold: Path) -> None:
    hidden = "import sys; sys.modules |= dict.fromkeys(('torch', 'transformers', 'numba'))"
    found = command("ensemble", csl, t5, "--test", gold, prelude=hidden)
    assert (found.returncode, found.stderr) == (0, "")
    assert "50.0%" in found.stdout
