"""Files of predictions are put together and broken down as by hand, and do not go with other inputs."""

from pathlib import Path

import pytest

from csl.errors import InputError
from csl.examples import Example
from csl.seq2seq.predictions import Breakdown, Predictions, breakdown, ensemble


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


# files


def test_the_first_output_of_each_line_is_read(tmp_path: Path) -> None:
    text = "a b\tA B\nc\t\n\nd\tD\t-0.5\tE\t-0.9\n  e  \t F \n"
    found = Predictions.read(write(tmp_path / "x.tsv", text))
    assert found.inputs == ["a b", "c", "d", "e"]
    assert found.outputs == ["A B", "", "D", "F"]
    assert found.path == tmp_path / "x.tsv"


def test_an_empty_input_may_have_no_output(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_text("a\tA\n\t\n\n  \nb\tB\n", "utf-8")
    found = Predictions.read(path)
    assert (found.inputs, found.outputs) == (["a", "", "b"], ["A", "", "B"])


def test_a_line_with_one_column_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", "a\tA\nb\n")
    with pytest.raises(InputError, match=r"x\.tsv:2: one column; expected input<TAB>output"):
        Predictions.read(path)
    with pytest.raises(InputError, match=r"absent\.tsv: cannot be read"):
        Predictions.read(tmp_path / "absent.tsv")


def test_the_inputs_must_be_those_of_the_other_file(tmp_path: Path) -> None:
    found = Predictions.read(write(tmp_path / "x.tsv", "a , b\tA\nc\tC\n"))
    found.check(["a, b", "c"], "test.tsv")
    for inputs, message in (
        (["a, b"], r"x\.tsv: 2 predictions, but test\.tsv has 1 inputs"),
        (["a, b", "c", "d"], r"x\.tsv: 2 predictions, but test\.tsv has 3 inputs"),
        (["c", "a, b"], r"x\.tsv: the input of prediction 1 is 'a , b', in test\.tsv 'c'"),
        (["a, b", "C"], r"x\.tsv: the input of prediction 2 is 'c', in test\.tsv 'C'"),
    ):
        with pytest.raises(InputError, match=message):
            found.check(inputs, "test.tsv")


# ensemble


def test_csl_comes_first_and_the_other_model_where_it_abstains() -> None:
    assert ensemble(["A", "", "", "D"], ["1", "2", "", "4"]) == ["A", "2", "", "D"]


def test_both_must_have_as_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        ensemble(["A"], ["1", "2"])


# breakdown


EXAMPLES = [
    Example.of("1", "f ( a )", category="x"),
    Example.of("2", "B", category="x"),
    Example.of("3", "C", category="x"),
    Example.of("4", "D", category="y"),
    Example.of("5", "E", category="y"),
]
CSL = ["f(a)", "wrong", "", "", ""]
T5 = ["no", "B", "C", "D", "no"]
SYSTEMS = {"T5": T5, "CSL": CSL, "Ens.": ensemble(CSL, T5)}


def test_a_breakdown_by_hand() -> None:
    x, y, total = breakdown(EXAMPLES, CSL, SYSTEMS)
    assert x == Breakdown(
        name="x",
        examples=3,
        covered=2,
        inside={"T5": 0.5, "CSL": 0.5, "Ens.": 0.5},
        outside={"T5": 1.0, "CSL": 0.0, "Ens.": 1.0},
        all={"T5": pytest.approx(2 / 3), "CSL": pytest.approx(1 / 3), "Ens.": pytest.approx(2 / 3)},
    )
    assert y == Breakdown(
        name="y",
        examples=2,
        covered=0,
        inside={"T5": 0.0, "CSL": 0.0, "Ens.": 0.0},
        outside={"T5": 0.5, "CSL": 0.0, "Ens.": 0.5},
        all={"T5": 0.5, "CSL": 0.0, "Ens.": 0.5},
    )
    assert total == Breakdown(
        name="all",
        examples=5,
        covered=2,
        inside={"T5": 0.5, "CSL": 0.5, "Ens.": 0.5},
        outside={"T5": pytest.approx(2 / 3), "CSL": 0.0, "Ens.": pytest.approx(2 / 3)},
        all={"T5": 0.6, "CSL": 0.2, "Ens.": 0.6},
    )


def test_without_categories_there_is_one_row() -> None:
    plain = [Example(e.source, e.target) for e in EXAMPLES]
    assert breakdown(plain, CSL, SYSTEMS) == [breakdown(EXAMPLES, CSL, SYSTEMS)[-1]]


def test_each_example_has_an_output_of_each_system() -> None:
    with pytest.raises(ValueError, match="zip"):
        breakdown(EXAMPLES, CSL, {"T5": T5[:-1]})
