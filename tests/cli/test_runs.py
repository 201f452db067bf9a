"""`csl runs`."""

import json
from pathlib import Path

import pytest

from .commands import csl, done, refused

SCORE = {"examples": 1000, "answered": 750, "right": 500, "groups": {}}
STAGE = {"key": "a", "seconds": 1, "options": None, "files": {}}
RECORD = {
    "recipe": "scan/jump", "title": "SCAN jump", "seed": 0, "settings": {}, "started": [],
    "stages": {
        "induce": {**STAGE, "figures": {"rules": 1234}},
        "evaluate": {**STAGE, "figures": {"systems": {"csl": SCORE, "t5": SCORE}}},
    },
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("scan/jump/seed-0", "other"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text(json.dumps(RECORD))
    return tmp_path


def test_runs_are_listed_with_their_figures(root: Path) -> None:
    names, *rows = (line.split() for line in done("runs", root))
    assert names == ["run", "what", "rules", "covered", "CSL", "T5", "done"]
    figures = ["SCAN", "jump", "1,234", "75.0%", "50.0%", "50.0%", "induce", "evaluate"]
    assert rows == [["other", *figures], ["scan/jump/seed-0", *figures]]


@pytest.mark.parametrize("text", ['{"stages": ', "{}", json.dumps({**RECORD, "stages": {"induce": 3}})])
def test_a_damaged_run_does_not_hide_the_others(root: Path, text: str) -> None:
    (root / "other" / "run.json").write_text(text)
    result = csl("runs", root)
    assert "scan/jump/seed-0" in result.stdout
    assert str(root / "other" / "run.json") in refused("runs", root)


def test_an_empty_folder_says_how_to_fill_it(tmp_path: Path) -> None:
    assert "`csl run RECIPE`" in done("runs", tmp_path)[0]
    assert str(tmp_path / "nowhere") in refused("runs", tmp_path / "nowhere")
