"""The paper's figures in our data file are those of its text, where that is here."""

import math
import re
from pathlib import Path

import pytest

from csl.datasets.registry import DATA_SETS
from csl.experiments.paper import paper

CELL = re.compile(r"(?:\\bf\s*)?(-?\d+\.\d+|---)")  # a figure as the paper prints it


@pytest.fixture(scope="session")
def text() -> str:
    """The LaTeX of the paper, or a skip."""
    folder = Path(__file__).parents[3] / "shared" / "paper"
    if not folder.is_dir():
        pytest.skip(f"no text of the paper at {folder}")
    return "".join(path.read_text("utf-8") for path in sorted(folder.glob("*.txt")))


def printed(text: str, label: str) -> list[tuple[list[str], list[float]]]:
    """Give the rows of the table with this label: cells that are words, cells that are figures."""
    tabular = text[: text.index(f"\\label{{{label}}}")].rpartition("\\begin{tabular}")[2]
    rows = []
    for line in re.sub(r"\\(mid|top|bottom)rule", "", tabular).split("\\\\"):
        cells = [cell.strip() for cell in line.split("&")]
        figures = [found[1] for cell in cells if (found := CELL.fullmatch(cell))]
        if figures:
            words = cells[: len(cells) - len(figures)]
            rows.append((words, [math.nan if figure == "---" else float(figure) for figure in figures]))
    return rows


def kept(name: str) -> list[list[float]]:
    table = paper().tables[name]
    return [[row.get(column, math.nan) for column in table.columns] for row in table.rows.values()]


IN_TEXT = ("grammars", "domains")  # figures that stand in no table


@pytest.mark.parametrize("name", [name for name in paper().tables if name not in IN_TEXT])
def test_every_figure_is_as_the_paper_prints_it(name: str, text: str) -> None:
    label = paper().tables[name].source.rpartition("(")[2].rstrip(")")
    rows = printed(text, label)
    assert len(rows) >= 2
    assert repr([figures for _, figures in rows]) == repr(kept(name))  # nan is not equal to itself


@pytest.mark.parametrize("name", IN_TEXT)
def test_figures_of_the_text_are_in_it(name: str, text: str) -> None:
    wordings = {60: "$<1$ minute", 900: "15 minutes for NQG", 110e6: "110M parameters", 20: "20 rule grammar"}
    figures = {figure for row in kept(name) for figure in row if not math.isnan(figure)}
    assert len(figures) >= 2
    assert [f for f in figures if wordings.get(f, f"{f:,g}") not in text] == []


def test_every_table_and_figure_of_the_paper_is_listed(text: str) -> None:
    listed = " ".join(item.name for item in paper().items)
    for kind, word in (("table", "Tables?"), ("figure", "Figures?")):
        number = len(re.findall(rf"\\begin{{{kind}\*?}}", text))
        named = {int(n) for group in re.findall(rf"{word} ([\d and]+)", listed) for n in re.findall(r"\d+", group)}
        assert named == {*range(1, number + 1)}


def test_the_rows_have_the_names_of_the_paper(text: str) -> None:
    for name, label in (("main", "tab:main_joint"), ("breakdown", "tab:quadrant_analysis_full")):
        words = [words[0].replace("Length", "Len.") for words, _ in printed(text, label)]
        assert words == list(paper().tables[name].rows)
    states = ["".join(words) for words, _ in printed(text, "tab:num_types")]
    assert states == [
        re.sub(r"scan/(\w+) (\w+) (p.*)", r"\1 (\2)$\3$", row).replace(", ", ",").replace(" | ", "|")
        for row in paper().tables["states"].rows
    ]
    semi = [
        f"{words[1].replace('K', ',000')}{' + unlabelled' * bool(words[0])}"
        for words, _ in printed(text, "tab:semi_supervised")
    ]
    assert semi == list(paper().tables["semi"].rows)
    temperature = [words[0].replace(r"$\infty$", "inf") for words, _ in printed(text, "tab:csl_vs_uni")]
    assert temperature == list(paper().tables["temperature"].rows)
    variance = [words[0] for words, _ in printed(text, "tab:geoquery_runs")]
    assert variance == ["Std.", "Templ.1", "Templ.2", "Templ.3", "TMCD1", "TMCD2", "TMCD3", "Len."]


def test_the_columns_have_the_names_of_the_paper(text: str) -> None:
    for name, label in (("main", "tab:main_joint"), ("temperature", "tab:csl_vs_uni"), ("semi", "tab:semi_supervised")):
        tabular = text[: text.index(f"\\label{{{label}}}")].rpartition("\\begin{tabular}")[2]
        [head] = re.findall(r"\n *(?:System|Temp\.|Semi\. & Example \\#) & (.*?) *\\\\", tabular)
        assert [column.rpartition(" ")[2] for column in paper().tables[name].columns] == head.split(" & ")


def test_all_columns_are_known_and_of_splits_that_there_are() -> None:
    known = {str(column) for column in paper().columns}
    assert known >= {
        *paper().tables["main"].columns,
        *paper().tables["semi"].columns,
        *paper().tables["breakdown"].rows,
    }
    recipes = {recipe for column in paper().columns for recipe in column.recipes}
    for recipe in recipes | {*paper().tables["variance"].rows}:
        name, _, split = recipe.partition("/")
        assert split in DATA_SETS[name].splits


def test_the_fifth_of_smcalflow_has_no_figure_of_the_paper() -> None:
    named = {name for table in paper().tables.values() for name in (*table.columns, *table.rows)}
    assert not any("fifth" in name for name in named)
    assert sum("fifth" in str(column) for column in paper().columns) == 6
