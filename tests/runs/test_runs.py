"""Run folders: their names, and how they are found and read."""

import json
from pathlib import Path

import pytest

from csl.errors import InputError
from csl.runs.recipe import read_recipe
from csl.runs.runs import find_runs, read_record, run_folder

SCORE = {"examples": 4, "answered": 3, "right": 2, "groups": {}}
STAGES = {
    "induce": {"hash": "a", "seconds": 1, "figures": {"rules": 20}},
    "evaluate": {"hash": "b", "seconds": 1, "figures": {"systems": {"csl": SCORE}}},
}


def write_record(folder: Path, stages: object = STAGES) -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"title": "T", "stages": stages}))
    return folder


def test_a_folder_is_named_after_what_was_changed() -> None:
    recipe = read_recipe("scan/jump")
    settings = {"sampling.temperature": float("inf"), "fit.ratio": 2.0, "fit.unlabelled": "/some where/in puts.txt"}
    folder = run_folder(Path("runs"), recipe, settings, 3)
    changes = "fit.ratio=2,fit.unlabelled=_some_where_in_puts.txt,sampling.temperature=inf"
    assert folder == Path("runs") / "scan" / "jump" / changes / "seed-3"
    assert run_folder(Path("runs"), recipe, {}, 0) == Path("runs/scan/jump/seed-0")


def test_long_names_are_cut_and_stay_apart() -> None:
    recipe = read_recipe("scan/jump")
    names = {run_folder(Path("runs"), recipe, {"train.prefix": "x" * 300 + end}, 0) for end in "ab"}
    assert len(names) == 2
    assert all(len(part) < 200 for name in names for part in name.parts)


def test_runs_are_found_at_any_depth_but_not_in_the_cache(tmp_path: Path) -> None:
    first = write_record(tmp_path / "scan" / "jump" / "seed-0")
    second = write_record(tmp_path / "scan" / "jump" / "fit.states=2" / "seed-0")
    write_record(tmp_path / ".cache" / "induce-0")
    write_record(first / "below")
    plain = tmp_path / "by-hand"
    plain.mkdir()
    (plain / "grammar.txt").write_text("a ### A\nb ### B\n")
    assert list(find_runs(tmp_path)) == [plain, second, first]
    assert list(find_runs(first)) == [first]
    assert read_record(plain).rules == 2
    assert read_record(plain).stages == {}
    with pytest.raises(InputError, match="no such folder"):
        list(find_runs(tmp_path / "nowhere"))


def test_numbers_in_names_are_ordered_as_numbers(tmp_path: Path) -> None:
    for name in ("seed-10", "seed-9", "b", "4"):
        write_record(tmp_path / name)
    assert [path.name for path in find_runs(tmp_path)] == ["4", "b", "seed-9", "seed-10"]


def test_figures_are_looked_up_or_missing(tmp_path: Path) -> None:
    record = read_record(write_record(tmp_path / "run"))
    assert record.rules == 20
    assert (record.share("csl"), record.share("csl", "answered"), record.share("t5")) == (0.5, 0.75, None)
    assert record.figure("sample", "distinct") is None
    assert record.figure("induce", "rules", "more") is None
    empty = read_record(write_record(tmp_path / "other", {}))
    assert (empty.rules, empty.share("csl")) == (None, None)


@pytest.mark.parametrize("systems", [[], 3, {"csl": []}, {"csl": {"right": 2}}, {"csl": {"right": [], "examples": 4}}])
def test_figures_of_another_kind_are_none(tmp_path: Path, systems: object) -> None:
    stages = {"evaluate": {"figures": {"systems": systems}}, "induce": {"figures": {"rules": "20"}}}
    record = read_record(write_record(tmp_path / "run", stages))
    assert (record.rules, record.share("csl")) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "", '{"stages": {"indu', "[]", "3", '{"stages": []}', '{"stages": {"induce": 3}}', "[" * 3000,
        '{"title": [], "stages": {}}', '{"title": "\\ud800"}',
    ],
)  # fmt: skip
def test_a_damaged_record_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json: not the run\.json of a run"):
        read_record(tmp_path)
