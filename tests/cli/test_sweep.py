"""`csl sweep`."""

from pathlib import Path

import pytest

from ..runs.tiny import TRAIN, recipe_of, write_parts
from .commands import done, refused

DEV, TEST = {"jump and walk": "JUMP WALK"}, {"jump twice": "JUMP JUMP"}


@pytest.fixture(autouse=True)
def _recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_parts(tmp_path, {"train": TRAIN, "dev": DEV, "test": TEST})
    Path("mine.toml").write_text(recipe_of("train", "dev", "test"))


def sweep(*arguments: str) -> list[str]:
    return done("sweep", "mine.toml", *arguments)


def test_values_share_what_they_have_in_common_and_end_in_a_table() -> None:
    lines = sweep("--over", "temperature", "--set", "sampling.number=50", "--seeds", "2", "--until", "evaluate")
    assert sum(line.startswith("induce: cached") for line in lines) == 5
    assert sum(line.startswith("fit: cached") for line in lines) == 4
    rows = [line.split()[1:3] for line in lines[-3:]]
    assert rows == [[f"sampling.temperature={value},", "sampling.strategy=forward"] for value in ("1.0", "10.0", "inf")]
    assert all(line.count("±") == 8 for line in lines[-3:])
    assert lines[-4].index("CSL, dev") < lines[-4].index("CSL, test")
    [folder] = Path("runs/mine").glob("*strategy=forward*temperature=inf*")
    assert (folder / "seed-1" / "run.json").exists()


def test_states_of_several_recipes_start_several_times_and_stand_in_the_table_of_the_paper() -> None:
    Path("other.toml").write_text(recipe_of("train", "dev"))
    lines = done("sweep", "mine.toml", "other.toml", "--over", "states", "--values", "1,2", "--until", "evaluate")
    assert sum("mean log p(x, y) by start" in line for line in lines) == 2  # the other two fits are cached
    rows = [line.split() for line in lines if line.startswith(("mine ", "other "))]
    assert {(row[0], row[1]) for row in rows} == {
        (name, part) for name in ("mine", "other") for part in ("train", "dev")
    } | {("mine", "test")}


def test_samples_are_drawn_with_and_without_unlabelled_inputs() -> None:
    lines = sweep("--over", "samples", "--values", "20,40", "--until", "evaluate")
    assert sum(line.startswith("fit: cached") for line in lines) == 2
    assert any("inputs labelled" in line for line in lines)
    assert "fit.unlabelled=dev" in lines[-1]
    Path("mine.toml").write_text(recipe_of("train", "test"))
    lines = sweep("--over", "samples", "--values", "20,40", "--until", "evaluate")
    assert sum("left out" in line and "dev set" in line for line in lines) == 2
    assert "fit.unlabelled=dev" not in "".join(lines[-2:])


def test_there_are_three_seeds_by_default() -> None:
    lines = sweep("--over", "seeds", "--until", "fit")
    assert [line for line in lines if line.startswith("run folder")] == [
        f"run folder: runs/mine/seed-{n}" for n in (0, 1, 2)
    ]


def test_a_wrong_value_is_refused_before_anything_is_done() -> None:
    assert "states = 'x'" in refused("sweep", "mine.toml", "--over", "states", "--values", "2,x")
    assert not Path("runs").exists()


def test_files_of_one_name_in_two_folders_are_two_runs() -> None:
    for name in "ab":
        Path(name).mkdir()
        write_parts(Path(name), {"train": TRAIN if name == "a" else {**TRAIN, "hop": "HOP"}})
    lines = sweep("--over", "data.train", "--values", "a/train.tsv,b/train.tsv", "--seeds", "1", "--until", "data")
    assert [line for line in lines if line.startswith("run folder")] == [
        f"run folder: runs/mine/data.train={name}_train.tsv/seed-0" for name in "ab"
    ]
    assert [line.split()[0] for line in lines[-2:]] == ["data.train=a/train.tsv", "data.train=b/train.tsv"]


@pytest.mark.slow
def test_whole_runs_side_by_side_on_ray_give_the_same_bytes() -> None:
    pytest.importorskip("ray")
    options = ("--over", "states", "--values", "1,2", "--until", "sample")
    here, there = (sweep(*options, "--runs", name, *more) for name, more in (("a", ()), ("b", ("--engine", "ray"))))
    assert here[-3:] == there[-3:]  # the table
    for states in (1, 2):
        for name in ("grammar.txt", "model.npz", "samples.tsv"):
            (a,), (b,) = (Path(root, "mine").glob(f"*fit.states={states}/seed-0/{name}") for root in "ab")
            assert a.read_bytes() == b.read_bytes()
