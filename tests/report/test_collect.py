"""A whole report: of a finished run, and of folders that have less and less in them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from csl.engine.threads import Threads
from csl.errors import InputError
from csl.examples import Example, write_examples
from csl.files import write_json
from csl.induction.config import preset
from csl.report.collect import collect
from csl.runs.augmenting import Plan, augment_into

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
    """A run as `csl augment` makes it, with the data beside it as `csl run` does."""
    folder = tmp_path_factory.mktemp("runs") / "verbs"
    write_examples(folder / "data" / "train.tsv", TRAIN)
    write_examples(folder / "data" / "test.tsv", TEST, columns=("category",))
    plan = Plan(preset("scan"), 50, preset="scan")
    augment_into(folder, TRAIN, plan, about={"train": str(folder / "data" / "train.tsv"), "examples": len(TRAIN)})
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy to take things away from."""
    return Path(shutil.copytree(finished, tmp_path / "verbs"))


def test_a_finished_run_has_every_section_that_needs_no_training(finished: Path) -> None:
    report = collect(finished)
    assert [key for key, value in report.items() if value is None] == ["training"]
    assert report["title"] == "verbs"
    assert [fact["label"] for fact in report["summary"]] == [
        "rules", "training examples", "objective", "states", "synthetic pairs", "test inputs covered", "accuracy, CSL",
        "test inputs in need of new rule pairs",
    ]  # fmt: skip
    assert {row["origin"] for row in report["trees"]} == {"train", "test", "synthetic"}
    assert report["uncovered"]
    assert report["uncovered"]["unknown_tokens"] == [("hop", 1)]
    assert report["scores"]
    assert report["scores"]["by_category"]
    assert set(report["config"]) == {"data", "induction", "fit", "sampling"}


def test_there_is_no_path_in_it_and_the_same_run_gives_the_same_bytes_in_another_process(finished: Path) -> None:
    text = json.dumps(collect(finished, engine=Threads(2)))
    assert str(finished.parent) not in text
    program = (
        "import json, sys; from pathlib import Path; from csl.report.collect import collect; "
        "sys.stdout.write(json.dumps(collect(Path(sys.argv[1]))))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", program, finished], env=environment, capture_output=True, check=True)
    assert other.stdout.decode() == text


def test_without_model_samples_and_metrics_their_sections_are_empty(run: Path) -> None:
    for name in ("model.npz", "samples.tsv", "metrics.jsonl"):
        (run / name).unlink()
    report = collect(run)
    missing = [key for key, value in report.items() if value is None]
    assert missing == ["induction", "fit", "training", "scores", "synthetic"]
    assert report["coverage"]
    assert report["coverage"]["totals"]["derived"] == 2


def test_a_bare_grammar_has_only_its_rules(run: Path) -> None:
    (run / "grammar.txt").rename(run.parent / "grammar.txt")
    shutil.rmtree(run)
    run.mkdir()
    (run.parent / "grammar.txt").rename(run / "grammar.txt")
    report = collect(run)
    assert [key for key, value in report.items() if value] == ["title", "summary", "rules"]
    with pytest.raises(InputError, match=r"no grammar\.txt"):
        collect(run.parent)


def test_unlabelled_inputs_stand_for_a_test_set_or_are_what_may_be_annotated(run: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.txt"
    inputs.write_text("look twice and walk\nhop twice\n", "utf-8")
    both = collect(run, unlabelled=inputs)["coverage"]
    assert both
    assert both["of"] == "test"
    assert both["totals"]["inputs"] == len(TEST)
    assert {choice["input"] for choice in both["suggest"]} <= {"look twice and walk", "hop twice"}
    assert "hop twice" in {choice["input"] for choice in both["suggest"]}
    (run / "data" / "test.tsv").unlink()
    report = collect(run, unlabelled=inputs)
    assert report["scores"] is None
    assert report["uncovered"]
    assert report["uncovered"]["of"] == "unlabelled"
    assert report["coverage"]
    assert report["coverage"]["totals"] | {"pairs": 0, "train_pairs": 0} == {
        "inputs": 2,
        "derived": 1,
        "dependent": 1,
        "right_known": None,
        "right_dependent": None,
        "pairs": 0,
        "train_pairs": 0,
    }


def test_what_csl_run_writes_is_used(run: Path) -> None:
    write_json(run / "run.json", {"csl": "9", "recipe": "toy/verbs", "title": "Verbs", "seed": 0,
                                  "settings": {"fit.states": 2}, "versions": {"numpy": "2"}})  # fmt: skip
    (run / "recipe.toml").write_text("# ours\n", "utf-8")
    (run / "predictions").mkdir()
    rows = [Example(example.source, example.target) for example in TEST]
    write_examples(run / "predictions" / "t5.tsv", rows)
    (run / "plain").mkdir()
    (run / "plain" / "metrics.jsonl").write_text('{"step": 50, "loss": 0.5, "dev": 1.0}\n', "utf-8")
    report = collect(run)
    assert report["title"] == "Verbs, fit.states = 2, seed 0"
    assert report["versions"] == {"csl": "9", "numpy": "2"}
    assert (report["config"]["seed"], report["config"]["recipe.toml"]) == (0, "# ours")
    assert report["scores"]
    assert report["scores"]["systems"]["t5"]["right"] == len(TEST)
    assert report["training"] == {"t5": [{"step": 50, "loss": 0.5, "dev": 1.0}]}


DAMAGE = {
    "config.json": [[], {"induction": []}, {"train": 3}],
    "run.json": [[["title", 1]], {"title": 3}, {"title": "x", "settings": []}, {"versions": 1}],
    "samples.card.json": [3, {"files": ["samples.tsv"]}, {"files": {"../samples.tsv": 1}}, {"columns": 7}],
    "metrics.jsonl": [
        [],
        {"stage": "induce"},
        {"stage": "other"},
        {"stage": "fit", "step": "x", "train": 1, "dev": None},
    ],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in DAMAGE.items() for value in values])
def test_a_file_that_csl_did_not_write_is_named(name: str, value: object, run: Path) -> None:
    (run / name).write_text(json.dumps(value))
    with pytest.raises(InputError, match=rf"{name}: .*make the run again|{name}: names the file"):
        collect(run)


@pytest.mark.parametrize("derivation", ["x", "0", "99999", "1 1", "-1", "²"])
def test_a_derivation_that_is_none_of_the_grammar_is_not_believed(derivation: str, run: Path) -> None:
    (run / "samples.tsv").write_text(f"walk twice\tWALK WALK\t{derivation}\n")
    write_json(run / "samples.card.json", {"files": {"samples.tsv": 1}, "columns": ["input", "output", "derivation"]})
    synthetic = collect(run)["synthetic"]
    assert synthetic
    assert len(synthetic["pairs"][0]["rules"] or ()) == 2
