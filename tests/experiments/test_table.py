"""The forms of a table."""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from csl.errors import InputError
from csl.experiments.table import OURS, PAPER, Cell, Row, Table, comma_separated, latex, markdown, show, write

TABLE = Table(
    title="A table",
    labels=("System",),
    columns=(("SCAN", "Jump"), ("SCAN", "Left"), ("Own_set", "50 % | ∞")),
    rows=(
        Row(("T5",), PAPER, (Cell(99.5), Cell(62.0), None)),
        Row(("T5",), OURS, (Cell(98.76, 0.26, 3), None, Cell(-0.0001))),
        Row(("LeAR",), PAPER, (None, None, None)),
    ),
    notes=("± over seeds.", "2 of 3 splits"),
)


def printed(table: Table, width: int | None = None) -> str:
    console = Console(file=io.StringIO(), width=width or 200, force_terminal=width is not None, color_system=None)
    show(table, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_figure_has_its_deviation_and_number_of_runs() -> None:
    assert [TABLE.text(cell) for cell in TABLE.rows[1].cells] == ["98.8 ± 0.3 (3)", "–", "0.0"]


def test_markdown() -> None:
    assert markdown(TABLE).splitlines() == [
        "**A table**",
        "",
        "| System |  | SCAN Jump | SCAN Left | Own_set 50 % \\| ∞ |",
        "| --- | --- | --: | --: | --: |",
        "| T5 | paper | 99.5 | 62.0 | – |",
        "| T5 | ours | 98.8 ± 0.3 (3) | – | 0.0 |",
        "",
        "- ± over seeds.",
        "- 2 of 3 splits",
    ]


def test_csv_has_a_line_for_each_figure() -> None:
    assert list(csv.reader(io.StringIO(comma_separated(TABLE))))[::3] == [
        ["System", "source", "group", "column", "mean", "deviation", "runs"],
        ["T5", "ours", "SCAN", "Jump", "98.76", "0.26", "3"],
    ]


def test_latex_is_escaped_and_whole() -> None:
    text = latex(TABLE)
    assert "\\begin{tabular}{llccc}" in text
    assert " &  & \\multicolumn{2}{c}{SCAN} & \\multicolumn{1}{c}{Own\\_set} \\\\" in text
    assert "\\cmidrule(lr){3-4}\n\\cmidrule(lr){5-5}" in text
    assert "System &  & Jump & Left & 50 \\% \\textbar{} $\\infty$ \\\\" in text
    assert "T5 & ours & 98.8 $\\pm$ 0.3 (3) & -- & 0.0 \\\\" in text
    assert "\\caption{A table. $\\pm$ over seeds. 2 of 3 splits.}" in text
    assert all(line.count("&") == 4 for line in text.splitlines() if line.endswith("\\\\") and "multi" not in line)


def test_a_backslash_and_braces_are_escaped_once() -> None:
    assert "a\\textbackslash{}b\\{c\\}\\&\\#\\$\\textasciitilde{}\\textasciicircum{}." in latex(
        Table("a\\b{c}&#$~^", (), (), (), ())
    )


def test_a_narrow_terminal_gets_groups_of_columns_below_each_other() -> None:
    wide, narrow = printed(TABLE), printed(TABLE, width=50)
    assert wide.count("System") == 1
    assert narrow.count("System") == 2
    own = narrow[narrow.rindex("System") :]
    assert "ours" in own
    assert "paper" not in own, "a row without figures has no place in a block"
    assert "LeAR" not in wide + narrow
    assert max(map(len, narrow.splitlines())) <= 50


def test_a_group_too_wide_for_the_terminal_is_cut() -> None:
    columns = tuple(("GeoQuery", f"column {n}") for n in range(9))
    table = Table("", ("Split",), columns, (Row(("all",), OURS, (Cell(12.3, 4.5, 3),) * 9),), ())
    text = printed(table, width=60)
    assert text.count("12.3 ± 4.5 (3)") == 9
    assert max(map(len, text.splitlines())) <= 60


def test_the_ending_of_a_file_is_its_format(tmp_path: Path) -> None:
    for name, text in {"t.md": markdown(TABLE), "t.csv": comma_separated(TABLE), "t.tex": latex(TABLE)}.items():
        write(TABLE, tmp_path / name)
        assert (tmp_path / name).read_text("utf-8") == text
    with pytest.raises(InputError, match=r"t\.html: .*\.md"):
        write(TABLE, tmp_path / "t.html")
