"""A whole report: of a finished run, and of folders that have less and less in them."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from csl.engine import Threads
from csl.errors import InputError
from csl.examples import Example, write_examples
from csl.examples.score import Score
from csl.files import write_json
from csl.report.page import render
from csl.report.report import POINTS, Report, make_report, read_curves, score_systems
from csl.report.run_data import RunData
from csl.runs.stages.registry import STAGES, SYSTEMS

from ..run_folders import make_run

VERBS = {"walk": "WALK", "run": "RUN", "look": "LOOK"}
TRAIN = [
    *(Example.of(x, y) for x, y in VERBS.items()),
    *(Example.of(f"{x} twice", f"{y} {y}") for x, y in VERBS.items()),
    *(Example.of(f"{x} and {a}", f"{y} {b}") for x, y in VERBS.items() for a, b in VERBS.items()),
]
TEST = [
    Example.of("walk", "WALK", category="old"),
    Example.of("walk twice and run", "WALK WALK RUN", category="new"),
    Example.of("run and look twice", "RUN LOOK", category="new"),
    Example.of("hop", "HOP", category="new"),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as `csl run` makes it."""
    return make_run(tmp_path_factory.mktemp("runs") / "verbs", TRAIN, TEST, title="Verbs")


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(finished, tmp_path / "verbs"))


def empty(report: Report) -> list[str]:
    """Name the sections without data."""
    curves = [name for name, curve in report.curves.items() if not any(curve.values())]
    return curves + [key for key, value in asdict(report).items() if value in (None, [])]


def test_a_finished_run_has_every_section_that_needs_no_training(finished: Path) -> None:
    report = make_report(finished)
    assert empty(report) == ["loss", "dev", "risk", "types", "checks"]
    assert report.title == "Verbs, seed 0"
    assert [label for label, _, _ in report.summary] == [
        "rules", "training examples", "objective", "states", "synthetic pairs", "test inputs covered", "accuracy, csl",
        "test inputs in need of new rule pairs",
    ]  # fmt: skip
    assert {row.origin for row in report.trees} == {"train", "test", "synthetic"}
    assert report.uncovered
    assert report.uncovered.unknown_tokens == [("hop", 1)]
    assert report.scores
    assert set(report.scores.by_category) == {"old", "new"}
    assert {"data", "induction", "fit", "sampling"} <= set(report.options)


def test_the_same_run_gives_the_same_json_in_another_process_without_paths(finished: Path) -> None:
    text = json.dumps(asdict(make_report(finished, engine=Threads(2))))
    assert str(finished.parent) not in text
    program = (
        "import json, sys; from dataclasses import asdict; from pathlib import Path; "
        "from csl.report.report import make_report; "
        "sys.stdout.write(json.dumps(asdict(make_report(Path(sys.argv[1])))))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", program, finished], env=environment, capture_output=True, check=True)
    assert other.stdout.decode() == text


def test_without_model_samples_and_metrics_their_sections_are_empty(run: Path) -> None:
    for name in ("model.npz", "samples.tsv", "metrics/induce.jsonl", "metrics/fit.jsonl"):
        (run / name).unlink()
    report = make_report(run)
    assert empty(report) == [
        "objective",
        "rules",
        "fit",
        "loss",
        "dev",
        "risk",
        "states",
        "scores",
        "synthetic",
        "types",
        "checks",
    ]
    assert report.coverage
    assert report.coverage.derived == 2


def test_a_bare_grammar_has_only_its_rules(finished: Path, tmp_path: Path) -> None:
    shutil.copy(finished / "grammar.txt", tmp_path)
    report = make_report(tmp_path)
    assert {key for key, value in asdict(report).items() if value} == {"title", "curves", "rules"}
    assert [label for label, _, _ in report.summary] == ["rules", "training examples"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no grammar\.txt"):
        make_report(tmp_path / "empty")


def test_unlabelled_inputs_take_the_place_of_a_test_set_or_may_be_annotated(run: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.txt"
    inputs.write_text("look twice and walk\nhop twice\n", "utf-8")
    both = make_report(run, unlabelled=inputs).coverage
    assert both
    assert (both.of, both.inputs_total) == ("test", len(TEST))
    assert "hop twice" in {choice.input for choice in both.suggest} <= {"look twice and walk", "hop twice"}
    (run / "data" / "test.tsv").unlink()
    report = make_report(run, unlabelled=inputs)
    assert report.scores is None
    assert report.uncovered
    assert report.uncovered.of == "unlabelled"
    found = report.coverage
    assert found
    assert (found.inputs_total, found.derived, found.dependent) == (2, 1, 1)
    assert (found.right_known, found.right_dependent) == (None, None)


def test_the_files_of_csl_run_are_used(run: Path) -> None:
    record = json.loads((run / "run.json").read_text("utf-8"))
    figures = {"labels": {"t5": "T5"}, "risk_coverage": {"t5": [[0.5, 0.0], [1.0, 0.25]]}}
    record["stages"]["evaluate"] = {**record["stages"]["fit"], "figures": figures, "files": {}}
    write_json(run / "run.json", record | {"csl": "9", "settings": {"fit.states": 2}, "versions": {"numpy": "2"}})
    (run / "recipe.toml").write_text("# ours\n", "utf-8")
    write_examples(run / "predictions" / "t5.tsv", [Example(example.source, example.target) for example in TEST])
    (run / "metrics" / "plain.jsonl").write_text('{"step": 50, "loss": 0.5, "dev": 1.0}\n', "utf-8")
    report = make_report(run)
    assert report.title == "Verbs, fit.states = 2, seed 0"
    assert report.versions == {"csl": "9", "numpy": "2"}
    assert (report.options["seed"], report.recipe) == (0, "# ours")
    assert report.scores
    assert report.scores.systems["t5"].right == len(TEST)
    assert (report.curves["loss"]["t5"], report.curves["dev"]["t5"]) == ([(50, 0.5)], [(50, 1.0)])
    assert report.curves["risk"] == {"t5": [(50, 0.0), (100, 0.25)]}
    assert "Share of wrong outputs by coverage in %" in render(report)


DAMAGE = {
    "run.json": [[["title", 1]], {"title": 3}, {"title": "x", "settings": []}, {"versions": 1}],
    "samples.card.json": [3, {"columns": 7}],
    "metrics/induce.jsonl": [[], {"stage": "induce"}],
    "metrics/fit.jsonl": [{"stage": "fit", "step": "x", "train": 1}],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in DAMAGE.items() for value in values])
def test_a_file_that_csl_did_not_write_is_named(name: str, value: object, run: Path) -> None:
    (run / name).write_text(json.dumps(value))
    with pytest.raises(InputError, match=rf"{name}: "):
        make_report(run)


@pytest.mark.parametrize("derivation", ["x", "0", "99999", "1 1", "-1", "²"])
def test_a_derivation_that_is_not_of_the_grammar_is_not_used(derivation: str, run: Path) -> None:
    (run / "samples.tsv").write_text(f"walk twice\tWALK WALK\t{derivation}\n")
    write_json(run / "samples.card.json", {"columns": ["input", "output", "derivation"]})
    (run / "run.json").unlink()  # it has the checksum of other samples
    synthetic = make_report(run).synthetic
    assert synthetic
    assert len(synthetic.pairs[0].rules) == 2


# curves


def curves(folder: Path, **stages: list[dict[str, object]]) -> RunData:
    (folder / "metrics").mkdir()
    for name, lines in stages.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "metrics" / f"{name}.jsonl").write_text(text, "utf-8")
    (folder / "grammar.txt").write_text("a ### A\n", "utf-8")
    return RunData.read(folder)


def test_stages_have_curves_of_their_own(tmp_path: Path) -> None:
    step = {"stage": "induce", "step": 2, "rules": 3, "seconds": 0.1}
    fit = {"stage": "fit", "step": 50, "train": -3.0, "dev": None, "steps": 100}
    lines = [step | {"partition": 1, "objective": 4.5}, step | {"partition": 2, "objective": 4.0}]
    found, partitions = read_curves(curves(tmp_path, induce=lines, fit=[fit]))
    assert partitions == 2
    assert found["objective"] == {"": [(1, 4.5), (2, 4.0)]}  # steps count over all partitions
    assert found["fit"] == {"fit, train": [(50, -3.0)], "fit, dev": []}


def test_a_long_training_has_some_losses_and_all_tests_on_dev(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [{"step": 50 * k, "loss": 1 / k, "steps_per_second": 9.0} for k in range(1, 2001)]
    for line in lines[6::7]:
        line["dev"] = 0.5
    found, _ = read_curves(curves(tmp_path, plain=lines))
    assert len(found["dev"]["t5"]) == len(lines[6::7])
    assert len(found["loss"]["t5"]) == POINTS
    assert found["loss"]["t5"][-1] == (100_000, 1 / 2000)
    assert found["loss"]["augmented"] == []


# scores

EXAMPLES = [
    Example.of("a", "f ( a )", category="one"),
    Example.of("a b", "f ( b )", category="two"),
    Example.of("a b c d e f", "g", category="two"),
]


def test_systems_are_counted_in_groups() -> None:
    found = score_systems(EXAMPLES, {"csl": ["f(a)", "", "f"], "t5": ["x", "f ( b )", "g"]}, [])
    assert found.systems["csl"] == Score(examples=3, covered=2, right=1)
    assert found.by_length == {
        "1–5": {"examples": 2, "csl": 1, "t5": 1},
        "6–10": {"examples": 1, "csl": 0, "t5": 1},
    }
    assert found.by_category == {
        "one": {"examples": 1, "csl": 1, "t5": 0},
        "two": {"examples": 2, "csl": 0, "t5": 2},
    }
    assert found.breakdown == {
        "covered by csl": {"examples": 2, "csl": 1, "t5": 1},
        "others": {"examples": 1, "csl": 0, "t5": 1},
    }


def test_without_csl_there_is_no_breakdown_and_without_categories_there_are_none() -> None:
    found = score_systems([Example.of("a", "b")], {"t5": ["b"]}, [])
    assert (found.breakdown, found.by_category) == ({}, {})


def test_predictions_for_other_inputs_are_left_out_and_named(finished: Path, tmp_path: Path) -> None:
    shutil.copy(finished / "grammar.txt", tmp_path)
    write_examples(tmp_path / "data" / "test.tsv", EXAMPLES)
    folder = tmp_path / "predictions"
    folder.mkdir()
    (folder / "csl.tsv").write_text("a\tf ( a )\na b\t\na b c d e f\tg\n", "utf-8")
    (folder / "t5.tsv").write_text("a\tf ( a )\n", "utf-8")
    done = {"key": "", "seconds": 0, "options": None, "figures": {"labels": {"csl": "", "t5": ""}}, "files": {}}
    record = {"recipe": "", "title": "", "seed": 0, "settings": {}, "started": [], "stages": {"evaluate": done}}
    write_json(tmp_path / "run.json", record)
    assert RunData.read(tmp_path).predictions() == ({"csl": ["f ( a )", "", "g"]}, ["t5"])
    (folder / "t5.tsv").write_text("one column\n", "utf-8")
    with pytest.raises(InputError, match=r"t5\.tsv:1: "):
        RunData.read(tmp_path).predictions()


def test_every_system_has_a_name_in_the_report() -> None:
    assert {"csl", *(stage.system for stage in STAGES if stage.system)} <= set(SYSTEMS)
