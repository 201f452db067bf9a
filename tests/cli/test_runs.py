"""`csl runs` as a person meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError

SCORE = {"examples": 1000, "answered": 750, "right": 500, "groups": {}}
RECORD = {
    "title": "SCAN jump",
    "stages": {
        "induce": {"hash": "a", "seconds": 1, "figures": {"rules": 1234}},
        "evaluate": {"hash": "b", "seconds": 1, "figures": {"systems": {"csl": SCORE, "t5": SCORE}}},
    },
}


def runs(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["runs", *map(str, arguments)])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("scan/jump/seed-0", "by-hand"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "scan/jump/seed-0/run.json").write_text(json.dumps(RECORD))
    (tmp_path / "by-hand/grammar.txt").write_text("a ### A\n")
    return tmp_path


def test_runs_are_listed_with_their_figures(root: Path) -> None:
    names, *rows = (line.split() for line in runs(root).stdout.splitlines())
    assert names == ["run", "what", "rules", "covered", "CSL", "T5", "ensemble", "augmented", "done"]
    assert rows == [
        ["by-hand", "1"],
        ["scan/jump/seed-0", "SCAN", "jump", "1,234", "75.0%", "50.0%", "50.0%", "induce", "evaluate"],
    ]


def test_a_damaged_run_does_not_hide_the_others(root: Path) -> None:
    (root / "by-hand" / "run.json").write_text('{"stages": ')
    result = runs(root)
    assert "scan/jump/seed-0" in result.stdout
    assert isinstance(result.exception, InputError)
    assert result.exception.exit_code == 2
    assert str(root / "by-hand" / "run.json") in str(result.exception)


def test_an_empty_folder_says_how_to_fill_it(tmp_path: Path) -> None:
    assert "`csl run RECIPE`" in runs(tmp_path).stdout
    assert isinstance(runs(tmp_path / "nowhere").exception, InputError)
