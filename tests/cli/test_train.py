"""`csl train`: what it prints and writes, every option, what it refuses, and how it resumes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from csl.runs.folder import RunFolder
from csl.seq2seq.config import TrainConfig

from . import commands
from .commands import contents, done, write

PAGE = Path(__file__).parents[2] / "docs" / "seq2seq.md"
PAIRS = {"walk": "WALK", "run": "RUN", "walk left": "LEFT ( WALK )", "run left": "LEFT ( RUN )"}
TINY = {"layers": 1, "heads": 1, "d_model": 8, "d_ff": 8, "steps": 4, "batch_size": 4, "max_target": 8}
QUICK = ("--device", "cpu", "--threads", "1", *(f"--set={key}={value}" for key, value in TINY.items()))
WEIGHTS = "model/model.safetensors"


def train(*arguments: object) -> list[str]:
    return done("train", *arguments, *QUICK)


def refused(*arguments: object) -> str:
    return commands.refused("train", *QUICK, *arguments)


def options(run: Path) -> dict[str, Any]:
    found = RunFolder(run).record.stages["train"].options
    assert isinstance(found, dict)
    return found


def curve(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics" / "train.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write(tmp_path / "train.tsv", PAIRS)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"


def test_the_run_folder_has_the_model_the_data_and_the_options(pairs: Path, run: Path) -> None:
    lines = train(pairs, "--out", run)
    assert any(re.fullmatch(r".*scratch: [\d,]+ parameters on cpu", line) for line in lines)
    assert str(run / "model") in lines[-1]
    assert {name for name in contents(run) if not name.startswith("model/")} == {
        "run.json", "recipe.toml", "data/train.tsv", "data/card.json", "metrics/train.jsonl",
    }  # fmt: skip
    assert {f"model/{n}" for n in ("config.json", "codec.json", "model.safetensors", "tokenizer.json")} <= {
        *contents(run)
    }
    assert options(run) == TrainConfig(**TINY).model_dump()  # type: ignore[arg-type]


def test_what_is_cut_is_counted(pairs: Path, run: Path) -> None:
    lines = done("train", pairs, "--out", run, *QUICK, "--set=max_source=3", "--set=max_target=5")
    assert any("2 original inputs" in line and "max_source" in line for line in lines)
    assert any("2 original outputs" in line for line in lines)


def test_the_curve_and_the_best_weights_by_dev(pairs: Path, run: Path) -> None:
    lines = done("train", pairs, "--out", run, *QUICK, "--dev", pairs, "--set=evaluate_every=2")
    assert [line["step"] for line in curve(run) if "dev" in line] == [2, 4]
    figures = RunFolder(run).record.stages["train"].figures
    assert figures["step"] in (2, 4)
    assert any(line.startswith(f"train: step {figures['step']}, dev ") for line in lines)


def test_synthetic_pairs_come_from_several_files(pairs: Path, run: Path, tmp_path: Path) -> None:
    a, b = (
        write(tmp_path / "a.tsv", {"hop": "HOP", "hop left": "LEFT ( HOP )"}),
        write(tmp_path / "b.tsv", {"s": "SKIP"}),
    )
    train(pairs, "--synthetic", a, "--synthetic", b, "--out", run)
    assert (run / "data" / "synthetic.tsv").read_text("utf-8") == a.read_text("utf-8") + b.read_text("utf-8")
    known = json.loads((run / "model" / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    assert {"walk", "HOP", "SKIP"} <= set(known)


def test_labelled_inputs_are_original_pairs_but_for_those_without_an_output(
    pairs: Path, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "labels.tsv").write_text("hop left\tLEFT ( HOP )\nskip\t\nhop\tHOP\n", "utf-8")
    lines = train(pairs, "--labelled", tmp_path / "labels.tsv", "--out", run)
    assert any("2 of 3 inputs have an output" in line for line in lines)
    assert RunFolder(run).record.stages["data"].figures["labelled"] == 2
    known = json.loads((run / "model" / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    assert "HOP" in known
    assert "skip" not in known
    (tmp_path / "labels.tsv").write_text("skip\t\n", "utf-8")
    assert "labels.tsv" in refused(pairs, "--labelled", tmp_path / "labels.tsv", "--out", tmp_path / "other")


def test_json_lines_with_other_fields(run: Path, tmp_path: Path) -> None:
    for name in ("train", "made", "dev"):
        lines = (json.dumps({"q": x, "a": y}) + "\n" for x, y in PAIRS.items())
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    files = (tmp_path / "train.jsonl", "--synthetic", tmp_path / "made.jsonl", "--dev", tmp_path / "dev.jsonl")
    train(*files, "--out", run, "--input-column", "q", "--output-column", "a")
    assert RunFolder(run).record.stages["data"].figures == {"train": 4, "dev": 4, "test": 0, "synthetic": 4}
    assert "dev" in curve(run)[-1]


def test_so_many_threads(pairs: Path, run: Path) -> None:
    import torch

    before = torch.get_num_threads()
    try:
        done("train", pairs, "--out", run, *QUICK, "--threads", 2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# options


def test_options_are_listed_with_their_defaults() -> None:
    listed = [re.fullmatch(r"(\w+) = (.+?): (.+)", line) for line in done("train", "--options")]
    assert [found[1] for found in listed if found] == [*TrainConfig.model_fields]
    assert all(found and found[2] in repr(TrainConfig.model_fields[found[1]].default) for found in listed)


def test_the_page_lists_every_option_with_its_default() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    defaults = {name: field.default for name, field in TrainConfig.model_fields.items()}
    assert table == {
        name: "–" if value is None else f"`{value}`" if isinstance(value, str) else str(value)
        for name, value in defaults.items()
    }


def test_a_file_then_the_model_then_settings(pairs: Path, run: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text("[train]\nsteps = 3\nmodel = 'absent'\nprefix = 'x'\n", "utf-8")
    given = ("--config", tmp_path / "o.toml", "--model", trained / "model", "--set", "prefix=do: ", "--seed", 5)
    lines = train(pairs, "--out", run, *given)
    chosen = options(run)
    assert (chosen["steps"], chosen["seed"], chosen["prefix"]) == (4, 5, "do: ")  # a prefix keeps its blank
    assert chosen["model"] == str(trained / "model")
    assert any(str(trained / "model") in line for line in lines)
    assert (trained / WEIGHTS).stat().st_size == (run / WEIGHTS).stat().st_size  # its sizes, not those of TINY


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--synthetic", "empty.tsv"], "empty.tsv: "),
        (["--dev", "empty.tsv"], "empty.tsv: "),
        (["--dev", "one.tsv"], "one.tsv:2: "),
        (["--device", "warp"], "--device cpu"),
        (["--model", "./absent"], "absent: "),
        (["--model", "empty"], "empty: "),
    ],
)
def test_wrong_files_are_refused_and_do_not_stand_in_the_way(
    given: list[str], named: str, pairs: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.tsv").write_text("", "utf-8")
    (tmp_path / "one.tsv").write_text("walk\tWALK\nrun\n", "utf-8")
    assert named in refused(pairs, "--out", run, *given)
    train(pairs, "--out", run)


def test_wrong_examples_and_folders_are_refused(pairs: Path, run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("", "utf-8")
    (tmp_path / "one.tsv").write_text("walk\n", "utf-8")
    for name, place in (("absent.tsv", ""), ("empty.tsv", ""), ("one.tsv", ":1")):
        assert f"{tmp_path / name}{place}: " in refused(tmp_path / name, "--out", run)
    assert str(pairs) in refused(pairs, "--out", pairs)


# the same folder again


def test_a_complete_training_is_kept_and_another_refused_unless_it_may_be_replaced(pairs: Path, run: Path) -> None:
    train(pairs, "--out", run)
    before = contents(run)
    assert any("already complete" in line and "--no-resume" in line for line in train(pairs, "--out", run))
    assert "seed = 0" in (message := refused(pairs, "--out", run, "--seed", 1))
    assert message.startswith(f"{run}: ")
    assert "synthetic" in refused(pairs, "--synthetic", pairs, "--out", run)
    assert contents(run) == before
    train(pairs, "--out", run, "--no-resume")
    assert contents(run)[WEIGHTS] == before[WEIGHTS]
    train(pairs, "--out", run, "--seed", 1, "--no-resume")
    assert contents(run)[WEIGHTS] != before[WEIGHTS]


@pytest.mark.parametrize("resume", [(), ("--no-resume",)])
def test_files_of_something_else_stay(resume: tuple[str, ...], pairs: Path, run: Path) -> None:
    (run / "metrics").mkdir(parents=True)
    (run / "metrics" / "train.jsonl").write_text("{}\n", "utf-8")
    assert "'metrics/train.jsonl'" in refused(pairs, "--out", run, *resume)
    assert (run / "metrics" / "train.jsonl").read_text("utf-8") == "{}\n"
