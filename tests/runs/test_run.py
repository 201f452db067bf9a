"""Run folders: what is in them, going on after a stop, and refusing what does not fit."""

import json
from pathlib import Path

import numpy as np
import pytest

from csl.examples import Example
from csl.datasets import scan
from csl.errors import InputError
from csl.runs.run import SearchCheckpoint, fingerprint, induce_into
from csl.grammar import Rule, parse_grammar, read_grammar
from csl.grammar.notation import grammar_file
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import PRESETS, InductionConfig
from csl.induction.induce import Induced, State, Step

EXAMPLES = scan.prepare(None, "length").train[::60]
CONFIG = PRESETS["scan"].model_copy(update={"partitions": 3})


class StopError(Exception):
    pass


def run(folder: Path, *, stop: int = 0, config: InductionConfig = CONFIG, **options: object) -> Induced | None:
    """Induce into the folder; stop with an exception after so many steps."""
    left = stop

    def progress(step: Step, seconds: float) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise StopError

    return induce_into(folder, EXAMPLES, config, progress=progress, **options)  # type: ignore[arg-type]


def metrics(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never stopped."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    run(folder)
    return folder


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A run that was stopped after three steps."""
    with pytest.raises(StopError):
        run(tmp_path / "run", stop=3)
    return tmp_path / "run"


def test_a_finished_run_has_its_files(whole: Path) -> None:
    assert sorted(path.name for path in whole.iterdir()) == ["config.json", "grammar.txt", "metrics.jsonl"]
    config = json.loads((whole / "config.json").read_text("utf-8"))
    assert config["induction"] == CONFIG.model_dump()
    assert len(config["fingerprint"]) == 64
    steps = metrics(whole)
    assert steps[0] | {"stage": "induce", "partition": 1, "partitions": 3, "step": 1} == steps[0]
    assert grammar_file(whole) == whole / "grammar.txt"


def test_seeds_and_cfg_are_kept_with_the_run(tmp_path: Path) -> None:
    seeds, cfg = list(parse_grammar(["hop ### I_HOP"])), OutputCfg.parse(["ROOT => I_HOP"])
    induce_into(tmp_path, EXAMPLES[:5], CONFIG, seeds=seeds, output_cfg=cfg)
    assert list(read_grammar(tmp_path / "seeds.txt")) == seeds
    assert OutputCfg.read(tmp_path / "output.cfg").productions == cfg.productions
    assert seeds[0] in read_grammar(grammar_file(tmp_path))


@pytest.mark.parametrize("after", [1, 2, 4, 7])
def test_a_stopped_run_goes_on_to_the_same_bytes(after: int, whole: Path, tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(30):
        try:
            run(tmp_path, stop=after, say=said.append)
            break
        except StopError:
            assert not (tmp_path / "grammar.txt").exists()
    assert len(said) == len(metrics(whole)) // after
    assert all(line.startswith("going on after step") for line in said)
    assert (tmp_path / "grammar.txt").read_bytes() == (whole / "grammar.txt").read_bytes()
    assert metrics(tmp_path) == metrics(whole)
    assert not (tmp_path / "checkpoint.npz").exists()


def test_a_stopped_run_is_not_taken_for_a_finished_one(stopped: Path) -> None:
    with pytest.raises(InputError, match="has `csl induce` finished"):
        grammar_file(stopped)


def test_a_finished_run_is_left_alone(whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.iterdir()}
    said: list[str] = []
    assert run(whole, say=said.append) is None
    assert "finished" in said[0]
    assert {path: path.stat().st_mtime_ns for path in whole.iterdir()} == before


def test_without_resume_a_run_is_made_anew(whole: Path, stopped: Path) -> None:
    (stopped / "grammar.txt").write_text("old\n", "utf-8")
    (stopped / "seeds.txt").write_text("old ### old\n", "utf-8")
    assert run(stopped, resume=False) is not None
    assert (stopped / "grammar.txt").read_bytes() == (whole / "grammar.txt").read_bytes()
    assert metrics(stopped) == metrics(whole)
    assert not (stopped / "seeds.txt").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"config": CONFIG.model_copy(update={"k_t": 3.0, "steps": 4})}, "k_t = 4.0, steps = 5"),
        ({"seeds": list(parse_grammar(["a ### b"]))}, "other data, seeds or output CFG"),
        ({"output_cfg": OutputCfg.parse(["ROOT => a"])}, "other data, seeds or output CFG"),
    ],
)
def test_another_run_in_the_folder_is_refused(options: dict[str, object], named: str, stopped: Path) -> None:
    before = {path.name: path.read_bytes() for path in stopped.iterdir()}
    with pytest.raises(InputError) as error:
        run(stopped, **options)  # type: ignore[arg-type]
    assert named in str(error.value)
    assert "--no-resume" in str(error.value)
    assert {path.name: path.read_bytes() for path in stopped.iterdir()} == before


def test_other_data_in_the_folder_is_refused(stopped: Path) -> None:
    with pytest.raises(InputError, match="other data"):
        induce_into(stopped, EXAMPLES[:-1], CONFIG)


DAMAGES = ["truncated", "garbage", "empty", "another archive", "a changed byte"]


def damage(file: Path, way: str) -> None:
    sound = file.read_bytes()
    if way == "another archive":
        np.savez(file, other=np.arange(3))
        return
    place = sound.index(b"NUMPY") + 200  # of a value
    changed = sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :]
    ways = {"truncated": sound[: len(sound) // 2], "garbage": b"garbage" * 50, "empty": b"", "a changed byte": changed}
    file.write_bytes(ways[way])


@pytest.mark.parametrize("way", DAMAGES)
def test_a_damaged_checkpoint_is_told_and_the_one_before_taken(way: str, stopped: Path, whole: Path) -> None:
    damage(stopped / "checkpoint.npz", way)
    said: list[str] = []
    run(stopped, say=said.append)
    assert said == [
        f"{stopped / 'checkpoint.npz'}: damaged file; the state before, checkpoint.previous.npz, is taken",
        "going on after step 2 of partition 1",
    ]
    assert (stopped / "grammar.txt").read_bytes() == (whole / "grammar.txt").read_bytes()
    assert metrics(stopped) == metrics(whole)
    assert sorted(path.name for path in stopped.iterdir()) == ["config.json", "grammar.txt", "metrics.jsonl"]


@pytest.mark.parametrize("way", DAMAGES)
def test_without_a_sound_checkpoint_nothing_is_done_and_nothing_is_lost(way: str, stopped: Path, whole: Path) -> None:
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        damage(stopped / name, way)
    before = {path.name: path.read_bytes() for path in stopped.iterdir()}
    with pytest.raises(InputError, match=r"checkpoint\.npz: damaged file; start over with --no-resume") as error:
        run(stopped)
    assert "\n" not in str(error.value)
    assert {path.name: path.read_bytes() for path in stopped.iterdir()} == before
    run(stopped, resume=False)
    assert (stopped / "grammar.txt").read_bytes() == (whole / "grammar.txt").read_bytes()


@pytest.mark.parametrize("name", ["grammar.txt", "metrics.jsonl", "train.json"])
def test_files_of_something_else_are_not_touched(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine\n", "utf-8")
    with pytest.raises(InputError, match=f"holds '{name}', but no config.json; name another folder"):
        run(tmp_path)
    assert [(path.name, path.read_text("utf-8")) for path in tmp_path.iterdir()] == [(name, "mine\n")]


def test_a_config_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"colour": 3}', "utf-8")
    with pytest.raises(InputError, match="not the config of a run"):
        run(tmp_path)
    assert (tmp_path / "config.json").read_text("utf-8") == '{"colour": 3}'


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("text", "utf-8")
    with pytest.raises(InputError):
        run(tmp_path / "run")


def test_checkpoints_come_back_as_they_were_saved(tmp_path: Path) -> None:
    def checkpoint(mark: str = "mark") -> SearchCheckpoint:
        return SearchCheckpoint(tmp_path / "new" / "checkpoint.npz", mark, "")

    state = State(2, 3, True, np.array([1, -1, 2], np.int32), np.array([0, 3]), np.array([2]), np.array([True]))
    first = checkpoint()
    assert first.load() is None
    first.save(state)
    assert checkpoint().load() is None  # it waits for its line
    first.log("a line")
    loaded = checkpoint().load()
    assert loaded is not None
    assert (loaded.partition, loaded.step, loaded.finished) == (2, 3, True)
    for saved, found in zip(state[3:], loaded[3:], strict=True):
        assert found.dtype == saved.dtype
        assert found.tolist() == saved.tolist()
    assert checkpoint().lines == ["a line"]
    assert checkpoint("another mark").load() is None


def test_the_fingerprint_depends_on_everything() -> None:
    seeds, cfg = list(parse_grammar(["a ### b"])), OutputCfg.parse(["ROOT => a"])
    marks = [
        fingerprint(EXAMPLES, CONFIG, [], None),
        fingerprint(EXAMPLES[1:], CONFIG, [], None),
        fingerprint(EXAMPLES, CONFIG.model_copy(update={"seed": 1}), [], None),
        fingerprint(EXAMPLES, CONFIG, seeds, None),
        fingerprint(EXAMPLES, CONFIG, [], cfg),
        fingerprint([Example.of("a b", "c")], CONFIG, [], None),
        fingerprint([Example.of("a", "b c")], CONFIG, [], None),
        fingerprint([Example(("a b",), ("c",))], CONFIG, [], None),
        fingerprint([], CONFIG, [Rule(("a", "b"), ("c",))], None),
    ]
    assert len(set(marks)) == len(marks)
    assert marks[0] == fingerprint(list(EXAMPLES), CONFIG, [], None)
