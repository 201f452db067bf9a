"""Commands on raw text: what is learnt from it, and how texts are parsed, measured and explained."""

import json
import shutil
from pathlib import Path

import pytest

from csl.examples import Example, read_examples, write_examples

from ..raw import GEO
from .commands import command, contents, csl, done, refused

QUICK = ("--set", "max_depth=6", "-n", 40, "--force")
NEW = ("What cities are in states that border Utah?", "answer(city(loc_2(state(next_to(stateid('utah'))))))")


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("raw") / "train.tsv"
    write_examples(path, [Example.of(*pair) for pair in GEO])
    return path


@pytest.fixture(scope="module")
def run(train: Path) -> Path:
    done("augment", train, "--out", train.parent / "run", *QUICK)
    return train.parent / "run"


def test_raw_text_is_parsed(run: Path) -> None:
    assert done("parse", run, NEW[0]) == [NEW[1]]


def test_raw_text_is_evaluated(run: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", [Example.of(*NEW), Example.of("Who are you?", "answer(all)")])
    (line,) = (line for line in done("evaluate", run, tmp_path / "test.tsv") if line.split()[:1] == ["all"])
    assert line.split()[1:] == ["2", "50.0%", "50.0%", "100.0%"]


def test_the_coverage_of_raw_text(run: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", [Example.of(*NEW), Example.of("Who are you?", "answer(all)")])
    lines = done("grammar", "coverage", run, tmp_path / "test.tsv", "--missing", tmp_path / "missing.tsv")
    assert any(line.split()[:3] == ["all", "2", "1"] for line in lines)
    assert list(read_examples(tmp_path / "missing.tsv")) == [Example.of("Who are you?", "answer(all)")]


def test_raw_text_is_explained(run: Path) -> None:
    lines = done("grammar", "explain", run, *NEW)
    assert lines[:2] == [
        "what cities are in states that border «stateid»0 ?",
        "→ answer ( city ( loc_2 ( state ( next_to ( «stateid»0 ) ) ) ) )",
    ]
    assert lines[0] in done("grammar", "explain", run, NEW[0])
    assert csl("grammar", "explain", run, "Who are you?").exit_code == 1


def test_the_grammar_is_checked_with_the_categories(run: Path) -> None:
    result = csl("grammar", "check", run)
    assert "prepared/output.cfg" in result.output


@pytest.mark.parametrize("options", [{"PYTHONHASHSEED": "11"}, {"PYTHONHASHSEED": "12"}])
def test_hash_seeds_and_threads_change_nothing(run: Path, train: Path, tmp_path: Path, options: dict[str, str]) -> None:
    found = command("augment", train, "--out", tmp_path / "run", *QUICK, "--threads", 2, **options)
    assert found.returncode == 0, found.stderr
    here, there = contents(run), contents(tmp_path / "run")
    same = [name for name in here if name != "run.json" and not name.startswith("metrics")]
    assert [name for name in same if here[name] != there[name]] == []


@pytest.fixture(scope="module")
def sure(train: Path) -> Path:
    """A run whose check has said how confident to be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("csl.runs.stages.check.ENOUGH_TO_CALIBRATE", 1)
        lines = done("augment", train, "--out", train.parent / "sure", *QUICK)
    assert any("confidence" in line for line in lines if line.startswith("check: "))
    return train.parent / "sure"


def test_few_pairs_say_nothing_of_confidence(run: Path) -> None:
    assert not (run / "confidence.json").exists()
    assert "--confidence" in refused("parse", run, NEW[0], "--confidence")


def test_outputs_that_are_not_sure_are_not_given(sure: Path, tmp_path: Path) -> None:
    [line] = done("parse", sure, NEW[0], "--confidence", "--abstain-below", 0)
    value, output = line.split("\t")
    assert 0 < float(value) < 1
    assert output == NEW[1]
    assert done("parse", sure, NEW[0], "--abstain-below", 0) == [NEW[1]]
    result = csl("parse", sure, NEW[0], "--abstain-below", 1)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "--abstain-below 0" in result.stderr
    (tmp_path / "in.txt").write_text(f"{NEW[0]}\n", "utf-8")
    [row] = csl("parse", sure, tmp_path / "in.txt", "--confidence", "--abstain-below", 0).stdout.splitlines()
    assert row.split("\t") == [NEW[0], NEW[1], value]


def test_the_threshold_of_the_check_is_the_default(sure: Path) -> None:
    limit = json.loads((sure / "confidence.json").read_text("utf-8"))["threshold"]
    value = float(done("parse", sure, NEW[0], "--confidence", "--abstain-below", 0)[0].split("\t")[0])
    assert csl("parse", sure, NEW[0]).exit_code == (0 if value >= limit else 1)


def test_figures_without_abstaining_are_given_too(sure: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "test.tsv", [Example.of(*NEW), Example.of("Who are you?", "answer(all)")])
    lines = done("evaluate", sure, tmp_path / "test.tsv", "--abstain-below", 1)
    assert any(line.split()[:4] == ["all", "2", "0.0%", "0.0%"] for line in lines)
    assert "without abstaining accuracy 50.0%, coverage 50.0%, precision 100.0%" in " ".join(lines)
    always = done("evaluate", sure, tmp_path / "test.tsv", "--abstain-below", 0)
    assert any(line.split() == ["all", "2", "50.0%", "50.0%", "100.0%"] for line in always)


def test_another_model_has_no_confidence(sure: Path, tmp_path: Path) -> None:
    shutil.copytree(sure, tmp_path / "run")
    done("fit", tmp_path / "run", "--set", "steps=1", "--no-resume")
    assert "--confidence" in refused("parse", tmp_path / "run", NEW[0], "--confidence")


def test_samples_are_the_same_with_and_without_confidence(sure: Path, run: Path) -> None:
    assert (sure / "samples.tsv").read_bytes() == (run / "samples.tsv").read_bytes()
    assert (sure / "confidence.npz").read_bytes() == (sure / "phrases.npz").read_bytes()
