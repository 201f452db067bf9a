"""A report of a run on raw text: categories, values, parses of raw inputs, and why samples are believed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from csl.examples import Example, write_examples
from csl.report.page import render
from csl.report.raw import Texts
from csl.report.report import Report, make_report
from csl.runs.folder import RunFolder
from csl.runs.recipe import Recipe
from csl.runs.stage import Run, Work
from csl.runs.stages.registry import AUGMENT, DATA, INDUCE, PREPARE

from ..raw import GEO

QUICK = {"fit.states": 4, "fit.steps": 10, "fit.optimizer": "em", "sampling.number": 30, "sampling.force": True}
TEST = [
    Example.of("What cities are in states that border Utah?", "answer(city(loc_2(state(next_to(stateid('utah'))))))"),
    Example.of("What rivers are in Nevada?", "answer(river(loc_2(stateid('nevada'))))"),
    Example.of("Who are you?", "answer(name(all))"),
]


def run_of(folder: Path) -> Run:
    write_examples(folder / "train.tsv", [Example.of(*pair) for pair in GEO])
    write_examples(folder / "test.tsv", TEST)
    recipe = Recipe("raw").with_preset("auto").changed(
        {"data.train": str(folder / "train.tsv"), "data.test": str(folder / "test.tsv"), **QUICK}
    )  # fmt: skip
    return Run(Work(RunFolder(folder / "run"), recipe.seeded(0)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = run_of(tmp_path_factory.mktemp("raw"))
    run.do(AUGMENT)
    return run.folder.path


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return make_report(folder)


def test_categories_and_values_are_shown(report: Report) -> None:
    assert report.types
    assert report.types.language == "calls"
    assert report.types.categories[0].name == "ROOT"
    states = next(kind for kind in report.types.types if kind.name == "stateid")
    assert states.total == 6
    assert ("New York", "stateid('new york')") in {(value.words, value.text) for value in states.values}
    members = {member for row in report.types.categories for member in row.members}
    assert "«stateid»" in members
    assert report.summary[0][0] == "categories"


def test_the_check_is_shown(report: Report) -> None:
    labels = [label for label, _, _ in report.summary]
    assert "held-out inputs covered" in labels
    assert "held-out inputs with new templates covered" in labels
    refused = replace(report, refused="few are covered").summary
    assert any("few are covered" in note for _, _, note in refused)


def test_raw_test_inputs_are_parsed_and_scored(report: Report) -> None:
    assert report.scores
    assert report.scores.systems["csl"].right == 2
    assert report.uncovered
    assert (report.uncovered.inputs_total, report.uncovered.total, report.uncovered.derivable) == (3, 1, 2)
    assert report.uncovered.inputs[0].input == "who are you ?"
    right = {row.input for row in report.trees if row.right}
    assert right == {"what cities are in states that border «stateid»0 ?", "what rivers are in «stateid»0 ?"}
    assert report.coverage
    assert report.coverage.derived == 2
    assert report.rules.derived == report.rules.examples == len(GEO)


def test_samples_say_why_they_are_believed(report: Report) -> None:
    assert report.synthetic
    assert report.synthetic.pairs
    for pair in report.synthetic.pairs:
        assert pair.belief
        assert pair.belief.parsed_back
        assert all(words in pair.input for _, words, _ in pair.belief.values)
        assert all(text in pair.output for _, _, text in pair.belief.values)
        assert len(pair.belief.new_fillers) <= 1


def test_what_is_new_is_named(folder: Path) -> None:
    run = RunFolder(folder)
    texts = Texts(run.preparation(), run.model())
    known, new, wrong = texts.beliefs(
        [Example.of(*GEO[1]), TEST[0], Example.of("How big is Ohio?", "answer(river(stateid('ohio')))")], run.training()
    )
    assert known and new and wrong  # noqa: PT018 — for mypy
    assert (known.parsed_back, known.new_words, known.new_fillers) == (True, [], [])
    assert known.values == [("stateid", "Texas", "stateid('texas')")]
    assert new.parsed_back
    assert (wrong.parsed_back, wrong.new_fillers) == (False, [("stateid", "river")])


def test_the_page_has_the_section(report: Report) -> None:
    page = render(report)
    assert 'id="types"' in page
    assert "gives it back" in page


def test_a_run_without_a_model(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    run.do((DATA, PREPARE, INDUCE))
    report = make_report(run.folder.path)
    assert report.types
    assert report.uncovered
    assert report.uncovered.derivable == 2


def test_a_test_set_may_be_of_any_format(folder: Path, tmp_path: Path) -> None:
    rows = "".join(f"{json.dumps({'question': e.source_text, 'query': e.target_text})}\n" for e in TEST)
    (tmp_path / "test.jsonl").write_text(rows, "utf-8")
    report = make_report(folder, test=tmp_path / "test.jsonl")
    assert report.scores
    assert report.scores.systems["csl"].right == 2


def test_unlabelled_inputs_are_raw_text(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "inputs.txt").write_text("What rivers are in Ohio?\nWhy is Ohio big?\n", "utf-8")
    report = make_report(folder, unlabelled=tmp_path / "inputs.txt")
    assert report.coverage
    assert {suggestion.input for suggestion in report.coverage.suggest} <= {"why is «stateid»0 big ?"}
