"""How stages are carried out in a run folder: completed, resumed, repeated, replaced, refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from csl.errors import InputError
from csl.runs.cache import Cache
from csl.runs.folder import RunFolder
from csl.runs.recipe import Recipe
from csl.runs.stage import Run, Stage, Work


class Write(Stage):
    """Writes its option to a.txt."""

    name, artefacts, keeps = "write", {"a.txt": "a text", "more/": "a folder"}, True
    runs = 0
    stop = False

    def options(self, work: Work) -> Any:
        return {"states": work.recipe.fit.states}

    def run(self, work: Work) -> dict[str, Any]:
        self.runs += 1
        (work.folder.path / "a.txt").write_text(str(work.recipe.fit.states))
        (work.folder.path / "more").mkdir(exist_ok=True)
        (work.folder.path / "more" / "b.txt").write_text("b")
        if self.stop:
            raise KeyboardInterrupt
        return {"states": work.recipe.fit.states}

    def summary(self, figures: dict[str, Any]) -> str:
        return f"{figures['states']} states"


class Copy(Write):
    """Copies a.txt, in capitals, to c.txt."""

    name, reads, artefacts, keeps = "copy", ("a.txt",), {"c.txt": "a copy"}, False

    def options(self, work: Work) -> Any:
        return None

    def run(self, work: Work) -> dict[str, Any]:
        self.runs += 1
        text = work.folder.needed("a.txt", "csl write").read_text()
        (work.folder.path / "c.txt").write_text(f"copy of {text}")
        return {"states": text}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def run_of(folder: Path, states: int = 2, **options: Any) -> Run:
    return Run(Work(RunFolder(folder), Recipe("test").changed({"fit.states": states})), **options)


def test_a_complete_stage_is_not_repeated(folder: Path) -> None:
    stage = Write()
    assert run_of(folder).do([stage]) == run_of(folder).do([stage]) == {"write": {"states": 2}}
    assert stage.runs == 1
    assert set(RunFolder(folder).checksums) == {"a.txt", "more/b.txt"}


def test_no_resume_repeats_it(folder: Path) -> None:
    stage = Write()
    run_of(folder).do([stage])
    run_of(folder, resume=False).do([stage])
    assert stage.runs == 2


def test_another_result_is_refused_and_names_the_option(folder: Path) -> None:
    run_of(folder, states=2).do([Write()])
    with pytest.raises(InputError, match=r"states = 2.*--no-resume"):
        run_of(folder, states=3).do([Write()])
    assert (folder / "a.txt").read_text() == "2"
    run_of(folder, states=3, resume=False).do([Write()])
    assert (folder / "a.txt").read_text() == "3"


def test_a_stage_follows_the_files_it_reads(folder: Path) -> None:
    copy = Copy()
    run_of(folder, states=2).do([Write(), copy])
    run_of(folder, states=3, replace=True).do([Write(), copy])
    assert copy.runs == 2
    assert (folder / "c.txt").read_text() == "copy of 3"


def test_a_stage_without_what_it_needs_names_it(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no a\.txt"):
        run_of(folder).do([Copy()])


@pytest.mark.parametrize("damage", ["changed", "removed"])
def test_a_damaged_artefact_is_reported_and_made_again(
    folder: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    run_of(folder).do([Write()])
    if damage == "changed":
        (folder / "more" / "b.txt").write_text("other")
    else:
        (folder / "more" / "b.txt").unlink()
    run_of(folder).do([Write()])
    assert (folder / "more" / "b.txt").read_text() == "b"
    assert any("b.txt" in record.message and record.levelname == "WARNING" for record in caplog.records)


def test_reading_an_edited_artefact_is_refused(folder: Path) -> None:
    run_of(folder).do([Write()])
    (folder / "a.txt").write_text("mine")
    with pytest.raises(InputError, match=r"a\.txt"):
        run_of(folder).do([Copy()])


def test_a_stopped_stage_resumes_over_what_it_left(folder: Path) -> None:
    stage = Write()
    stage.stop = True
    with pytest.raises(KeyboardInterrupt):
        run_of(folder).do([stage])
    assert RunFolder(folder).record.started == ("write",)
    stage.stop = False
    assert run_of(folder).do([stage]) == {"write": {"states": 2}}
    assert RunFolder(folder).record.started == ()


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("name", ["a.txt", "more/mine.txt", "recipe.toml"])
def test_a_file_that_no_run_made_is_never_touched(folder: Path, name: str, resume: bool) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("mine")
    with pytest.raises(InputError, match="not made by"):
        run_of(folder, resume=resume).do([Write()])
    assert (folder / name).read_text() == "mine"


def test_other_files_of_the_user_stay(folder: Path) -> None:
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    run_of(folder).do([Write()])
    run_of(folder, resume=False).do([Write()])
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["a.txt", "more", "run.json", "recipe.toml"])
@pytest.mark.parametrize("before", [True, False])
def test_nothing_is_written_through_a_link(folder: Path, tmp_path: Path, name: str, before: bool) -> None:
    precious = tmp_path / "precious"
    if name == "more":
        precious.mkdir()
        (precious / "b.txt").write_text("b")
    else:
        precious.write_text("precious")
    if not before:
        run_of(folder).do([Write()])
        if name == "more":
            (folder / "more" / "b.txt").unlink()
            (folder / "more").rmdir()
        else:
            (folder / name).unlink()
    folder.mkdir(exist_ok=True)
    (folder / name).symlink_to(precious)
    with pytest.raises(InputError):
        run_of(folder, resume=False).do([Write()])
    assert (precious / "b.txt").read_text() == "b" if name == "more" else precious.read_text() == "precious"


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard"])
def test_inputs_are_protected_under_any_name(folder: Path, tmp_path: Path, kind: str) -> None:
    run_of(folder).do([Write()])
    path = folder / "a.txt"
    if kind == "symbolic":
        (path := tmp_path / "link.tsv").symlink_to(folder / "a.txt")
    elif kind == "hard":
        (path := tmp_path / "link.tsv").hardlink_to(folder / "a.txt")
    run = run_of(folder, resume=False)
    run.work = replace(run.work, recipe=run.work.recipe.changed({"data.train": str(path)}))
    with pytest.raises(InputError, match="would be overwritten"):
        run.do([Write()])
    assert path.read_text() == "2"


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"stages": 3}', '{"recipe": "", "title": "", "seed": 0, "settings": {}, "started": [],'
     '"stages": {"write": {"key": "", "seconds": 0, "options": 0, "figures": {}, "files": {"../x": ""}}}}'],
)  # fmt: skip
def test_a_foreign_record_is_refused_and_stays(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json"):
        run_of(folder, resume=False).do([Write()])
    assert (folder / "run.json").read_text() == text


def test_runs_share_stages_through_a_cache(tmp_path: Path) -> None:
    stage = Write()
    for name in ("one", "two"):
        run_of(tmp_path / name, cache=Cache(tmp_path / ".cache")).do([stage, Copy()])
    assert stage.runs == 1
    assert (tmp_path / "two" / "more" / "b.txt").read_text() == "b"
    assert json.loads((tmp_path / "two" / "run.json").read_text())["stages"]["copy"]["figures"] == {"states": "2"}


def test_a_cached_file_that_was_edited_does_not_count(tmp_path: Path) -> None:
    stage = Write()
    run_of(tmp_path / "one", cache=Cache(tmp_path / ".cache")).do([stage])
    (tmp_path / "one" / "a.txt").write_text("edited")  # through the link: the cache has the same file
    run_of(tmp_path / "two", cache=Cache(tmp_path / ".cache")).do([stage])
    assert stage.runs == 2
    assert (tmp_path / "two" / "a.txt").read_text() == "2"


def test_a_fresh_cache_repeats_everything_once(tmp_path: Path) -> None:
    stage = Write()
    run_of(tmp_path / "one", cache=Cache(tmp_path / ".cache")).do([stage])
    fresh = Cache(tmp_path / ".cache", fresh=True)
    for name in ("one", "two"):
        run_of(tmp_path / name, cache=fresh, resume=False).do([stage])
    assert stage.runs == 2


def test_a_stage_that_others_made_is_adopted(tmp_path: Path) -> None:
    cache = Cache(tmp_path / ".cache")
    run_of(tmp_path / "one", cache=cache).do([Write()])
    assert run_of(tmp_path / "two", cache=cache).adopt(Write())
    assert not run_of(tmp_path / "three", states=5, cache=cache).adopt(Write())
    assert (tmp_path / "two" / "a.txt").exists()


def test_a_dry_run_says_what_would_be_done(tmp_path: Path) -> None:
    cache = Cache(tmp_path / ".cache")
    run_of(tmp_path / "one", cache=cache).do([Write()])
    assert run_of(tmp_path / "one", cache=cache).status(Write()).startswith("complete")
    assert run_of(tmp_path / "two", cache=cache).status(Write()).startswith("cached")
    assert run_of(tmp_path / "two", states=7, cache=cache).status(Write()) == "would run"
    assert "after" in run_of(tmp_path / "two", cache=cache).status(Copy())
    assert not (tmp_path / "two").exists()


def test_outdated_stages_are_dropped(folder: Path) -> None:
    run_of(folder).do([Write(), Copy()])
    run = run_of(folder, states=3, replace=True)
    run.do([Write()])
    assert not run.is_current(Copy())
    run.folder.drop_outdated({"copy"})
    assert not (folder / "c.txt").exists()
    assert set(RunFolder(folder).record.stages) == {"write"}
