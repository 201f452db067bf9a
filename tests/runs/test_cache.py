"""The cache of stages: one result for one key, whoever asks."""

import hashlib
import json
import threading
import time
from pathlib import Path

import pytest

from csl.files import hash_folder, link, write_text
from csl.errors import InputError
from csl.runs.cache import Cache, Figures, hash_of

KEY = "0123456789abcdef"


def test_a_stage_is_done_once_for_all_who_need_it_at_the_same_time(tmp_path: Path) -> None:
    worked = []

    def work(folder: Path) -> Figures:
        worked.append(folder)
        time.sleep(0.05)
        write_text(folder / "below" / "result.txt", "found")
        return {"n": 1}

    threads = [threading.Thread(target=lambda: Cache(tmp_path).do("fit", KEY, work)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert worked == [tmp_path / "fit-0123456789ab"]
    done, why = Cache(tmp_path).find("fit", KEY)
    assert done
    assert (done.figures, [*done.files], done.key, why) == ({"n": 1}, ["below/result.txt"], KEY, "cached")
    (done.folder / "below" / "result.txt").write_text("other", "utf-8")  # of the same size
    assert Cache(tmp_path).find("fit", KEY) == (None, f"{done.folder / 'below/result.txt'} is damaged; made anew")


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"../secret.txt": hashlib.sha256(b"secret").hexdigest()}}, {"figures": []}, {"more": 1},
        {"files": {"x" * 300: ""}}, {"files": []},
    ],
)  # fmt: skip
def test_a_record_of_someone_else_does_not_lead_out_of_the_folder(tmp_path: Path, change: dict[str, object]) -> None:
    def work(folder: Path) -> Figures:
        write_text(folder / "result.txt", "found")
        return {}

    folder = Cache(tmp_path).do("fit", KEY, work).folder
    (tmp_path / "secret.txt").write_text("secret")
    record = json.loads((folder / "done.json").read_text("utf-8")) | change
    (folder / "done.json").write_text(json.dumps(record), "utf-8")
    assert Cache(tmp_path).find("fit", KEY)[0] is None
    record.pop("sha256")
    (folder / "done.json").write_text(json.dumps(record | {"sha256": hash_of(record)}), "utf-8")
    if "figures" not in change:
        assert Cache(tmp_path).find("fit", KEY)[0] is None


def test_a_stage_that_failed_is_not_finished(tmp_path: Path) -> None:
    def work(folder: Path) -> Figures:
        write_text(folder / "half.txt", "half")
        raise InputError("no")

    cache = Cache(tmp_path)
    assert cache.find("fit", KEY) == (None, "new")
    with pytest.raises(InputError):
        cache.do("fit", KEY, work)
    assert cache.find("fit", KEY) == (None, "stopped before; goes on")
    seen = []
    cache.do("fit", KEY, lambda folder: {"seen": seen.extend(path.name for path in folder.iterdir())})
    assert "half.txt" in seen


def test_a_link_replaces_what_is_there_and_is_replaced_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "below" / "second"
    write_text(first, "one")
    link(first, second)
    link(first, second)
    assert second.samefile(first)
    write_text(second, "two")
    assert first.read_text() == "one"
    link(first, second)
    assert second.read_text() == "one"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["below", "first", "second"]


def test_files_are_copied_where_links_are_impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("os.link", refuse)
    write_text(tmp_path / "first", "one")
    link(tmp_path / "first", tmp_path / "second")
    assert (tmp_path / "second").read_text() == "one"
    assert not (tmp_path / "second").samefile(tmp_path / "first")


def test_hashes_see_names_and_contents_but_not_hidden_files(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "1")
    before = hash_folder(tmp_path)
    write_text(tmp_path / ".hidden", "2")
    assert hash_folder(tmp_path) == before
    write_text(tmp_path / "b", "1")
    assert hash_folder(tmp_path)["b"] == before["a"]
    assert hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1}) != hash_of({"a": 1, "b": 3})
