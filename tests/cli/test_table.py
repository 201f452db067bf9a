"""`csl table` as a person meets it."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.cli.table import Kind
from csl.errors import InputError


def csl(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed, right in ((0, 90), (1, 92)):
        score = {"examples": 100, "answered": 95, "right": right, "groups": {}}
        record = {
            "recipe": "geoquery/standard", "title": "GeoQuery standard", "seed": seed, "settings": {},
            "stages": {"evaluate": {"hash": "a", "seconds": 1, "figures": {"systems": {"csl": score}}}},
        }  # fmt: skip
        folder = tmp_path / "runs" / "geoquery" / "standard" / f"seed-{seed}"
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(record), "utf-8")
    return tmp_path / "runs"


def test_ours_stand_below_the_papers(runs: Path) -> None:
    result = csl("table", "main", runs)
    assert result.exit_code == 0, result.exception
    lines = result.output.splitlines()
    place = next(i for i, line in enumerate(lines) if "91.0 ± 1.4 (2)" in line)
    assert [line.split()[:2] for line in lines[place - 1 : place + 1]] == [["CSL", "paper"], ["CSL", "ours"]]
    assert "74.3" in lines[place - 1]
    assert "table Main Results" in result.output
    assert "SCAN" not in result.output
    assert "SCAN" in csl("table", "main", runs, "--all").output


def test_files_in_all_forms(runs: Path, tmp_path: Path) -> None:
    names = [tmp_path / f"tables/main.{ending}" for ending in ("md", "csv", "tex")]
    assert csl("table", "main", runs, *(f"--out={name}" for name in names)).exit_code == 0
    for name, part in zip(names, ("| 91.0 ± 1.4 (2) |", ",91.0,1.4142,2", "& 91.0 $\\pm$ 1.4 (2) "), strict=True):
        assert part in name.read_text("utf-8")


def test_what_cannot_be_shown_is_refused(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, reason in (
        ((tmp_path / "empty",), "empty: "),
        ((runs, "--out", tmp_path / "t.html"), "t.html: "),
    ):
        result = csl("table", "main", *arguments)
        assert isinstance(result.exception, InputError)
        assert reason in str(result.exception)
        assert result.output == ""
    assert csl("table", "other", runs).exit_code == 2


def test_every_table_and_figure_is_listed_with_commands_that_exist() -> None:
    result = csl("table", "--list")
    assert result.exit_code == 0
    assert "csl table breakdown RUNS" in result.output
    commands = {" ".join(words) for words in re.findall(r"csl (\w+)(?: (list|prepare|show|explain)\b)?", result.output)}
    assert {"table ", "sweep ", "errors ", "data list", "grammar show"} <= commands
    for command in commands:
        assert csl(*command.split(), "--help").exit_code == 0, command
    kinds = set(re.findall(r"csl table (\w+)", result.output))
    assert kinds == {*Kind}
    assert isinstance(csl("table").exception, InputError)
