"""`csl report` as a person meets it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError
from csl.examples import Example, write_examples

PAIRS = {"walk": "WALK", "run": "RUN", "jump": "JUMP", "walk and run": "WALK RUN", "run and walk": "RUN WALK"}
TEST = {"jump and walk": "JUMP WALK", "hop": "HOP"}


def csl(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    for name, pairs in (("train", PAIRS), ("test", TEST)):
        write_examples(folder / f"{name}.tsv", [Example.of(x, y) for x, y in pairs.items()])
    assert csl("induce", folder / "train.tsv", "--out", folder / "run", "--preset", "scan").exit_code == 0
    return folder / "run"


def test_a_grammar_alone_has_a_report(run: Path) -> None:
    result = csl("report", run)
    assert result.exit_code == 0, result.exception
    file = run / "report.html"
    assert result.output.endswith(f"{file}: {file.stat().st_size / 1000:,.0f} kB\n")
    page = file.read_text(encoding="utf-8")
    assert 'id="rule-1"' in page
    assert "<code>csl fit RUN</code>" in page


def test_a_test_set_and_unlabelled_inputs_add_sections(run: Path, tmp_path: Path) -> None:
    assert csl("fit", run, "--set", "optimizer=em").exit_code == 0
    (tmp_path / "inputs.txt").write_text("jump and jump\nwalk and hop\n", encoding="utf-8")
    out = tmp_path / "page.html"
    more = ("--test", run.parent / "test.tsv", "--unlabelled", tmp_path / "inputs.txt")
    result = csl("report", run, *more, "--out", out)
    assert result.exit_code == 0, result.exception
    page = out.read_text(encoding="utf-8")
    for section in ("scores", "induction", "fit", "rules", "trees", "uncovered", "coverage", "setup"):
        assert f'<section id="{section}"' in page
    again = tmp_path / "again.html"
    assert csl("report", run, *more, "--out", again, "--threads", 2).exit_code == 0
    assert again.read_bytes() == out.read_bytes()


def test_without_jinja_the_extra_is_named_before_any_work(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csl.report.page.find_spec", lambda _: None)
    for line in (["report", run, "--out", tmp_path / "page.html"], ["run", "scan/jump", "--runs", tmp_path / "runs"]):
        error = csl(*line).exception
        assert isinstance(error, InputError)
        assert "[report]" in str(error)
    assert not any(tmp_path.iterdir())


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    error = csl("report", tmp_path).exception
    assert isinstance(error, InputError)
    assert str(tmp_path) in str(error)
    assert not (tmp_path / "report.html").exists()
