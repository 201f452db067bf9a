"""Files of predictions, their ensemble, and the check that they belong to the same inputs."""

from pathlib import Path

import pytest

from csl.errors import InputError
from csl.seq2seq.predictions import Predictions, ensemble


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
