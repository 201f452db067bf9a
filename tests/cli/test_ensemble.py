"""`csl ensemble` as a person meets it: two files of predictions, the ensemble of both, and the breakdown."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError

ROWS = [  # input, right output, category, CSL, T5, a model with augmentation
    ("walk left", "LEFT(WALK)", "left", "LEFT ( WALK )", "LEFT", "LEFT ( WALK )"),
    ("run left", "LEFT(RUN)", "left", "RUN", "LEFT ( RUN )", "RUN"),
    ("hop left", "LEFT(HOP)", "left", "", "LEFT ( HOP )", "LEFT ( HOP )"),
    ("run right", "RIGHT(RUN)", "right", "", "RUN", "RIGHT ( RUN )"),
]


def ensemble(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["ensemble", *map(str, arguments)])


def refused(*arguments: object) -> str:
    result = ensemble(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def breakdown(result: Result) -> tuple[list[str], dict[str, list[str]]]:
    """The columns of the table, and its rows by name."""
    assert result.exit_code == 0, result.exception
    head, *lines = [line for line in result.stdout.splitlines() if "wrote" not in line and ".tsv" not in line]
    return [cell.strip() for cell in head.split("  ") if cell], {line.split()[0]: line.split()[1:] for line in lines}


def write(path: Path, *columns: int, rows: list[tuple[str, ...]] = ROWS) -> Path:
    path.write_text("".join("\t".join(row[i] for i in columns) + "\n" for row in rows), "utf-8")
    return path


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
    result = ensemble(csl, t5, "--out", tmp_path / "both.tsv")
    assert result.stdout == f"{tmp_path / 'both.tsv'}: 2 outputs of CSL, the others of the seq2seq model\n"
    assert (tmp_path / "both.tsv").read_text("utf-8") == (
        "walk left\tLEFT ( WALK )\nrun left\tRUN\nhop left\tLEFT ( HOP )\nrun right\tRUN\n"
    )


def test_the_breakdown(csl: Path, t5: Path, gold: Path, tmp_path: Path) -> None:
    columns, rows = breakdown(ensemble(csl, t5, "--test", gold))
    assert columns == [
        "examples", "covered", "T5 covered", "CSL covered", "T5 others", "CSL others", "T5 all", "CSL all", "Ens. all"
    ]  # fmt: skip
    assert rows == {"all": ["4", "50.0%", "50.0%", "50.0%", "50.0%", "0.0%", "50.0%", "25.0%", "50.0%"]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["csl.tsv", "t5.tsv", "test.tsv"]


def test_the_breakdown_with_augmentation_and_categories(csl: Path, t5: Path, tmp_path: Path) -> None:
    gold, better = write(tmp_path / "test.tsv", 0, 1, 2), write(tmp_path / "aug.tsv", 0, 5)
    result = ensemble(csl, t5, "--test", gold, "--augmented", better, "--out", tmp_path / "both.tsv")
    columns, rows = breakdown(result)
    assert columns[2:] == [
        "T5 covered", "CSL covered", "Aug. covered", "T5 others", "CSL others", "Aug. others",
        "T5 all", "CSL all", "Ens. all", "Aug. all",
    ]  # fmt: skip
    assert [*rows] == ["left", "right", "all"]
    assert rows["right"] == ["1", "0.0%", "–", "–", "–", "0.0%", "0.0%", "100.0%", "0.0%", "0.0%", "0.0%", "100.0%"]
    assert rows["all"] == [
        "4", "50.0%", "50.0%", "50.0%", "50.0%", "50.0%", "0.0%", "100.0%", "50.0%", "25.0%", "50.0%", "75.0%"
    ]  # fmt: skip
    assert (tmp_path / "both.tsv").exists()


def test_files_as_other_commands_write_them(csl: Path, t5: Path, tmp_path: Path) -> None:
    scored = tmp_path / "scored.tsv.gz"  # further columns, as of csl predict -k 2 --scores
    lines = (f"{row[0]}\t{row[4]}\t-0.1\tOTHER\t-3.0\n" for row in ROWS)
    scored.write_bytes(gzip.compress("".join(lines).encode()))
    gold = tmp_path / "test.jsonl"
    gold.write_text("".join(json.dumps({"q": row[0], "a": row[1]}) + "\n" for row in ROWS), "utf-8")
    fields = ("--input-field", "q", "--output-field", "a")
    assert breakdown(ensemble(csl, scored, "--test", gold, *fields))[1]["all"][-3:] == ["50.0%", "25.0%", "50.0%"]
    assert ensemble(csl, scored, "--out", tmp_path / "a.tsv").exit_code == 0
    assert ensemble(csl, t5, "--out", tmp_path / "b.tsv").exit_code == 0
    assert (tmp_path / "a.tsv").read_text("utf-8") == (tmp_path / "b.tsv").read_text("utf-8")


def test_white_space_in_inputs_does_not_count(csl: Path, t5: Path, tmp_path: Path) -> None:
    rows = [(f"{row[0]} ?", *row[1:]) for row in ROWS], [(f"{row[0]}?", *row[1:]) for row in ROWS]
    write(csl, 0, 3, rows=rows[0])
    write(t5, 0, 4, rows=rows[1])
    assert ensemble(csl, t5, "--out", tmp_path / "both.tsv").exit_code == 0
    assert (tmp_path / "both.tsv").read_text("utf-8").startswith("walk left ?\t")


def test_bad_input_is_refused_before_anything_is_written(csl: Path, t5: Path, gold: Path, tmp_path: Path) -> None:
    absent, one = tmp_path / "absent.tsv", tmp_path / "one.tsv"
    other = write(tmp_path / "other.tsv", 0, 4, rows=[*ROWS[1:], ROWS[0]])
    few = write(tmp_path / "few.tsv", 0, 4, rows=ROWS[:3])
    one.write_text("walk left\tLEFT\nrun left\n", "utf-8")
    out, before = tmp_path / "both.tsv", sorted(tmp_path.iterdir())
    moved = "the input of prediction 1 is "
    for arguments, reason in (
        ((csl, t5), "nothing to do: give --out for predictions, --test for the table, or both"),
        ((absent, t5, "--out", out), "absent.tsv: cannot be read"),
        ((csl, absent, "--out", out), "absent.tsv: cannot be read"),
        ((csl, t5, "--augmented", absent, "--out", out), "absent.tsv: cannot be read"),
        ((csl, t5, "--test", absent, "--out", out), "absent.tsv: cannot be read"),
        ((csl, one, "--out", out), "one.tsv:2: one column; expected input<TAB>output"),
        ((csl, few, "--out", out), f"few.tsv: 3 predictions, but {csl} has 4 inputs"),
        ((csl, other, "--out", out), f"other.tsv: {moved}'run left', in {csl} 'walk left'"),
        ((csl, t5, "--augmented", other, "--out", out), f"other.tsv: {moved}'run left', in {csl} 'walk left'"),
        ((csl, t5, "--test", other, "--out", out), f"csl.tsv: {moved}'walk left', in {other} 'run left'"),
        ((csl, t5, "--test", one, "--out", out), "one.tsv:2: one column"),
    ):
        assert reason in refused(*arguments)
    assert sorted(tmp_path.iterdir()) == before


def test_neither_torch_nor_numba_is_needed(csl: Path, t5: Path, gold: Path, tmp_path: Path) -> None:
    hidden = "import sys; sys.modules |= dict.fromkeys(('torch', 'transformers', 'numba')); "
    line = [sys.executable, "-c", f"{hidden}from csl.cli import main; main()", "ensemble", csl, t5, "--test", gold]
    done = subprocess.run([*map(str, line)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "50.0%" in done.stdout


def test_errors_are_one_line_on_stderr_and_exit_code_2(csl: Path, t5: Path) -> None:
    line = [sys.executable, "-m", "csl", "ensemble", str(csl), str(t5)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: nothing to do: give --out for predictions, --test for the table, or both\n"
