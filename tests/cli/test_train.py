"""`csl train` as a person meets it: what it says and writes, every option, what it refuses, and how it goes on."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError
from csl.examples import Example, write_examples
from csl.seq2seq.config import TrainConfig

PAGE = Path(__file__).parents[2] / "docs" / "seq2seq.md"
PAIRS = {"walk": "WALK", "run": "RUN", "walk left": "LEFT ( WALK )", "run left": "LEFT ( RUN )"}
TINY = {"layers": 1, "heads": 1, "d_model": 8, "d_ff": 8, "steps": 4, "batch_size": 4, "max_target": 8}
QUICK = ("--device", "cpu", "--threads", "1", *(f"--set={key}={value}" for key, value in TINY.items()))


def train(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["train", *map(str, arguments)])


def refused(*arguments: object) -> str:
    result = train(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def about(run: Path) -> dict[str, Any]:
    found = json.loads((run / "train.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def curve(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]


def weights(run: Path) -> bytes:
    return (run / "model" / "model.safetensors").read_bytes()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    write_examples(tmp_path / "train.tsv", [Example.of(x, y) for x, y in PAIRS.items()])
    return tmp_path / "train.tsv"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"


# what it says and writes


def test_it_says_what_is_trained_and_where_the_model_is(pairs: Path, run: Path) -> None:
    result = train(pairs, "--out", run, *QUICK)
    assert (result.exit_code, result.exception, result.stderr) == (0, None, "")
    first, last = result.stdout.splitlines()
    assert re.fullmatch(r"scratch: [\d,]+ parameters on cpu", first)
    assert re.fullmatch(rf"model: {re.escape(str(run / 'model'))}; [\d.]+ s", last)
    assert names(run) == {"train.json", "metrics.jsonl", "model"}
    assert {"config.json", "codec.json", "model.safetensors", "tokenizer.json"} <= names(run / "model")
    assert about(run)["train"] == TrainConfig(**TINY).model_dump()  # type: ignore[arg-type]
    assert (about(run)["original"], about(run)["synthetic"]) == (4, 0)


def test_what_is_cut_is_counted(pairs: Path, run: Path) -> None:
    result = train(pairs, "--out", run, *QUICK, "--set=max_source=3", "--set=max_target=5")
    assert "2 original inputs reach the limit of 3 tokens and may be cut: see max_source, max_target" in result.stdout
    assert "2 original outputs reach the limit of 5 tokens" in result.stdout


def test_accuracy_on_dev_is_shown_and_the_best_kept(pairs: Path, run: Path) -> None:
    result = train(pairs, "--out", run, "--dev", pairs, *QUICK, "--set=evaluate_every=2")
    lines = [line for line in result.stdout.splitlines() if line.startswith("step ")]
    assert [line.split(":")[0] for line in lines] == ["step 2 of 4", "step 4 of 4"]
    for line, numbers in zip(lines, curve(run), strict=True):
        assert re.search(r": loss \d+\.\d{4}, \d+\.\d steps a second, dev \d+\.\d%$", line)
        assert f"dev {numbers['dev']:.1%}" in line
    best = max(line["dev"] for line in curve(run))
    last = max(line["step"] for line in curve(run) if line["dev"] == best)
    assert about(run)["result"] == {"step": last, "dev": best}


def test_synthetic_pairs_of_several_files(pairs: Path, run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("hop\tHOP\nhop left\tLEFT ( HOP )\n", "utf-8")
    (tmp_path / "b.tsv").write_text("skip\tSKIP\n", "utf-8")
    files = ("--synthetic", tmp_path / "a.tsv", "--synthetic", tmp_path / "b.tsv")
    assert train(pairs, *files, "--out", run, *QUICK).exit_code == 0
    assert (about(run)["original"], about(run)["synthetic"]) == (4, 3)
    known = json.loads((run / "model" / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    assert {"walk", "HOP", "SKIP"} <= set(known)


def test_json_lines_with_other_fields(run: Path, tmp_path: Path) -> None:
    for name in ("train", "made", "dev"):
        lines = (json.dumps({"q": x, "a": y}) + "\n" for x, y in PAIRS.items())
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    files = (tmp_path / "train.jsonl", "--synthetic", tmp_path / "made.jsonl", "--dev", tmp_path / "dev.jsonl")
    result = train(*files, "--out", run, *QUICK, "--input-field", "q", "--output-field", "a")
    assert result.exit_code == 0, result.exception
    assert (about(run)["original"], about(run)["synthetic"]) == (4, 4)
    assert "dev" in curve(run)[-1]


def test_so_many_threads(pairs: Path, run: Path) -> None:
    import torch

    before = torch.get_num_threads()
    try:
        assert train(pairs, "--out", run, *QUICK, "--threads", 2).exit_code == 0
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# options


def test_options_are_listed_with_their_defaults() -> None:
    result = train("--options")
    assert result.exit_code == 0
    listed = [re.fullmatch(r"(\w+) = (.+?): (.+)", line) for line in result.stdout.splitlines()]
    assert [found[1] for found in listed if found] == [*TrainConfig.model_fields]
    for found in listed:
        assert found
        assert found[2] in repr(TrainConfig.model_fields[found[1]].default)


def test_the_page_lists_every_option_with_its_default() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    defaults = {name: field.default for name, field in TrainConfig.model_fields.items()}
    assert table == {
        name: "–" if value is None else f"`{value}`" if isinstance(value, str) else str(value)
        for name, value in defaults.items()
    }


def test_a_file_then_settings_then_the_model(pairs: Path, run: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text("[train]\nsteps = 3\nseed = 5\nmodel = 'absent'\nprefix = 'do: '\n", "utf-8")
    result = train(pairs, "--out", run, "--config", tmp_path / "o.toml", *QUICK, "--model", trained / "model")
    assert result.exit_code == 0, result.exception
    chosen = about(run)["train"]
    assert (chosen["steps"], chosen["seed"], chosen["prefix"]) == (4, 5, "do: ")
    assert chosen["model"] == str(trained / "model")
    assert result.stdout.startswith(f"{trained / 'model'}: ")
    assert (trained / "model" / "model.safetensors").stat().st_size == len(weights(run))  # its sizes, not those of TINY


def test_a_prefix_keeps_its_blank(pairs: Path, run: Path, trained: Path) -> None:
    assert train(pairs, "--out", run, *QUICK, "--model", trained / "model", "--set", "prefix=do: ").exit_code == 0
    assert about(run)["train"]["prefix"] == "do: "


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--set", "step=1"], "no option 'step'; did you mean 'steps'?"),
        (["--set", "learning_rat=1"], "no option 'learning_rat'; did you mean 'learning_rate'?"),
        (["--set", "piece=8"], "'micro_batch_size'"),
        (["--set", "steps"], "--set steps: expected key=value"),
        (["--set", "steps=0"], "steps = '0'"),
        (["--set", "precision=fp16"], "precision = 'fp16'"),
        (["--set", "synthetic=1.5"], "synthetic = '1.5'"),
        (["--set", "learning_rate=nan"], "learning_rate = 'nan'"),
        (["--config", "absent.toml"], "absent.toml: cannot be read"),
        (["--config", "bad.toml"], "bad.toml: no option 'stepps'; did you mean 'steps'?"),
        (["--synthetic", "absent.tsv"], "absent.tsv: cannot be read"),
        (["--synthetic", "empty.tsv"], "empty.tsv: no examples in the file"),
        (["--dev", "absent.tsv"], "absent.tsv: cannot be read"),
        (["--dev", "empty.tsv"], "empty.tsv: no examples in the file"),
        (["--dev", "one.tsv"], "one.tsv:2: one column; expected input<TAB>output"),
        (["--device", "warp"], "no device 'warp' here; try --device cpu"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(
    options: list[str], reason: str, pairs: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("stepps = 3\n", "utf-8")
    (tmp_path / "empty.tsv").write_text("", "utf-8")
    (tmp_path / "one.tsv").write_text("walk\tWALK\nrun\n", "utf-8")
    assert reason in refused(pairs, "--out", run, *QUICK, *options)
    assert not run.exists()


def test_bad_examples_and_folders_are_refused(pairs: Path, run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("", "utf-8")
    (tmp_path / "one.tsv").write_text("walk\n", "utf-8")
    assert "absent.tsv: cannot be read" in refused(tmp_path / "absent.tsv", "--out", run, *QUICK)
    assert "empty.tsv: no examples in the file" in refused(tmp_path / "empty.tsv", "--out", run, *QUICK)
    assert "one.tsv:1: one column" in refused(tmp_path / "one.tsv", "--out", run, *QUICK)
    assert not run.exists()
    assert "cannot be made a folder" in refused(pairs, "--out", pairs, *QUICK)
    assert train(pairs, *QUICK).exit_code == 2  # no --out
    assert train(pairs, "--out", run, *QUICK, "--threads", 0).exit_code == 2


def test_a_model_that_is_not_there_is_refused_and_does_not_stand_in_the_way(
    pairs: Path, run: Path, tmp_path: Path
) -> None:
    absent = refused(pairs, "--out", run, *QUICK, "--model", tmp_path / "absent")
    assert absent.startswith(f"{tmp_path / 'absent'}: no such folder")
    (tmp_path / "empty").mkdir()
    other = refused(pairs, "--out", run, *QUICK, "--model", tmp_path / "empty")
    assert other.startswith(f"{tmp_path / 'empty'}: no tokenizer found")
    assert "Hugging Face" in absent
    assert "Hugging Face" in other
    assert not run.exists()
    assert train(pairs, "--out", run, *QUICK).exit_code == 0


def test_missing_libraries_are_named(pairs: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    absent = ("transformers", "accelerate")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else find(name))
    assert refused(pairs, "--out", run, *QUICK) == (
        "not installed: transformers, accelerate; "
        "install them with pip install 'compositional-structure-learner[seq2seq]'"
    )
    assert not run.exists()


def test_errors_are_one_line_on_stderr_and_exit_code_2(pairs: Path, run: Path) -> None:
    line = [sys.executable, "-m", "csl", "train", str(pairs), "--out", str(run), "--set", "stesp=1"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: no option 'stesp'; did you mean 'steps'?\n"


# the same folder again


def test_a_finished_training_is_not_repeated(pairs: Path, run: Path) -> None:
    assert train(pairs, "--out", run, *QUICK).exit_code == 0
    before = (run / "model" / "model.safetensors").stat().st_mtime_ns
    again = train(pairs, "--out", run, *QUICK)
    assert again.exit_code == 0
    assert "--no-resume" in again.stdout
    assert (run / "model" / "model.safetensors").stat().st_mtime_ns == before
    first = weights(run)
    assert "parameters" in train(pairs, "--out", run, *QUICK, "--no-resume").stdout
    assert (run / "model" / "model.safetensors").stat().st_mtime_ns > before
    assert weights(run) == first
    assert f"{run}: holds another training (seed = 0)" in refused(pairs, "--out", run, *QUICK, "--set=seed=1")


def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(
    pairs: Path, run: Path, tmp_path: Path, stop: Callable[..., tuple[int, str]]
) -> None:
    long = (*QUICK, "--dev", str(pairs), "--set=steps=200", "--set=evaluate_every=20", "--set=dropout=0.1")
    stopped = stop("step 40 ", signal.SIGINT, "train", pairs, "--out", run, *long)  # the checkpoint of 20 is written
    assert stopped == (130, "stopped; the same command goes on from the last checkpoint\n")
    assert not (run / "model").exists()
    result = train(pairs, "--out", run, *long)
    assert re.search(r"^resuming after step \d0$", result.stdout, re.MULTILINE)
    assert train(pairs, "--out", tmp_path / "whole", *long).exit_code == 0
    assert [line["loss"] for line in curve(run)] == [line["loss"] for line in curve(tmp_path / "whole")]
    assert weights(run) == weights(tmp_path / "whole")
