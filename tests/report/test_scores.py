"""Scores by length, category and coverage."""

from pathlib import Path

import pytest

from csl.errors import InputError
from csl.examples import Example
from csl.report.scores import SYSTEMS, describe_scores, read_predictions
from csl.report.summary import NAMES
from csl.runs import stages

EXAMPLES = [
    Example.of("a", "f ( a )", category="one"),
    Example.of("a b", "f ( b )", category="two"),
    Example.of("a b c d e f", "g", category="two"),
]


def test_systems_are_counted_in_groups() -> None:
    found = describe_scores(EXAMPLES, {"csl": ["f(a)", "", "f"], "t5": ["x", "f ( b )", "g"]}, [])
    assert found["systems"]["csl"] == {
        "examples": 3,
        "answered": 2,
        "right": 1,
        "groups": {
            "one": {"examples": 1, "answered": 1, "right": 1},
            "two": {"examples": 2, "answered": 1, "right": 0},
        },
    }
    assert found["by_length"] == [
        {"name": "1–5", "examples": 2, "right": {"csl": 1, "t5": 1}},
        {"name": "6–10", "examples": 1, "right": {"csl": 0, "t5": 1}},
    ]
    assert found["by_category"] == [
        {"name": "one", "examples": 1, "right": {"csl": 1, "t5": 0}},
        {"name": "two", "examples": 2, "right": {"csl": 0, "t5": 2}},
    ]
    assert found["breakdown"] == [
        {"name": "covered by csl", "examples": 2, "right": {"csl": 1, "t5": 1}},
        {"name": "others", "examples": 1, "right": {"csl": 0, "t5": 1}},
    ]


def test_without_csl_there_is_no_breakdown_and_without_categories_no_groups_of_them() -> None:
    found = describe_scores([Example.of("a", "b")], {"t5": ["b"]}, [])
    assert found["breakdown"] is None
    assert found["by_category"] is None


def test_predictions_of_other_inputs_are_left_out_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "predictions"
    folder.mkdir()
    (folder / "csl.tsv").write_text("a\tf ( a )\na b\t\na b c d e f\tg\n", "utf-8")
    (folder / "t5.tsv").write_text("a\tf ( a )\n", "utf-8")
    assert read_predictions(tmp_path, EXAMPLES) == ({"csl": ["f ( a )", "", "g"]}, ["t5"])
    (folder / "t5.tsv").write_text("one column\n", "utf-8")
    with pytest.raises(InputError, match=r"t5\.tsv:1: one column"):
        read_predictions(tmp_path, EXAMPLES)


def test_every_system_of_a_run_is_in_its_report() -> None:
    assert {"csl", "ensemble", "nqg_t5", *stages.SYSTEMS.values()} == set(SYSTEMS) == set(NAMES)
