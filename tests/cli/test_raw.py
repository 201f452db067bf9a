"""Commands on raw text: what is learnt from it, and how texts are parsed, measured and explained."""

from pathlib import Path

import pytest

from csl.examples import Example, read_examples, write_examples

from ..raw import GEO
from .commands import command, contents, csl, done

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
