"""What commands have in common: options, and how wrong ones are refused before anything is written."""

import json
import shutil
from pathlib import Path

import pytest

from csl.runs.folder import RunFolder

from .commands import command, contents, csl, done, refused, write
from .conftest import PAIRS

INDUCE, AUGMENT, TRAIN = (f"{name} train.tsv --out new" for name in ("induce", "augment", "train"))
FIT, SAMPLE = "fit run", "sample run --out s.tsv"
WRONG = {
    INDUCE: {
        "--preset scna": "'scan'", "--set k_aplha=1": "'k_alpha'", "--set steps=none": "steps = 'none'",
        "--set steps": "key=value", "--config absent.toml": "absent.toml: ", "--seed-rules absent": "absent: ",
        "--config bad.toml": "bad.toml: no option 'stesp'; did you mean 'steps'?", "--output-cfg absent": "absent: ",
        "--seeds absent": "--seed-rules", "--engine ray": "--threads", "--address host:1": "`csl sweep`",
    },
    FIT: {
        "--set stepz=1": "'steps'", "--set optimizer=sgd": "optimizer = 'sgd'", "--set seed=1": "--seed",
        "--set learning_rate=nan": "learning_rate = 'nan'", "--set unlabeled=x": "'unlabelled'",
        "--preset cog": "'cogs'", "--unlabelled absent": "absent: ", "--unlabeled absent": "--unlabelled",
    },
    AUGMENT: {
        "--preset scna": "'scan'", "--strategy unifrom": "strategy = 'unifrom'", "--temperature -1": "temperature = -1",
        "--temperature 2 --strategy uniform": "--temperature", "--strategy uniform --set temperature=3": "tempered",
        "--set min_depth=9 --set max_depth=3": "min_depth 9", "--set seed=1": "--seed", "--seeds x": "--seed-rules",
        "--seed-rules absent": "absent: ", "--output-cfg absent": "absent: ",
    },
    SAMPLE: {
        "--temperature 0": "temperature = 0.0", "--temperature 2 --strategy model": "--temperature",
        "--set maxdepth=3": "'max_depth'", "--set seed=3": "--seed", "--config absent.toml": "absent.toml: ",
        "--set min_depth=9 --max-depth 5": "min_depth 9",
    },
    TRAIN: {
        "--set learning_rat=1": "'learning_rate'", "--set piece=8": "'micro_batch_size'", "--set seed=8": "--seed",
        "--set steps=0": "steps = '0'", "--set precision=fp16": "precision = 'fp16'", "--synthetic absent": "absent: ",
        "--set synthetic=1.5": "synthetic = '1.5'", "--dev absent": "absent: ", "--config bad.toml": "bad.toml: ",
    },
    "grammar coverage run train.tsv": {"--engine ray": "`csl sweep`"},
    "sample run": {"--shards 2": "--out"},
    "induce absent.tsv --out new": {"": "absent.tsv: "},
    "fit absent": {"": "`csl induce`"},
    "fit empty": {"": "empty: "},
    "sample absent": {"": "not a run folder"},
    "parse run jump": {
        "--max-memory lots": "512M", "--max-memory 1K": "1K", "--timeout 0": "timeout", "--engine ray": "`csl sweep`",
        "-k 2": "`csl grammar explain`",
    },
}  # fmt: skip


@pytest.fixture
def folder(fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with train.tsv, a run, an empty folder and a file with a wrong option."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.tsv", PAIRS)
    shutil.copytree(fitted, tmp_path / "run")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.toml").write_text("stesp = 3\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize("line", WRONG)
def test_wrong_options_are_refused_before_anything_is_written(line: str, folder: Path) -> None:
    before = contents(folder)
    for options, named in WRONG[line].items():
        assert named in refused(*line.split(), *options.split()), options
    assert contents(folder) == before
    assert not (folder / "new").exists()


def test_a_config_file_and_settings_are_applied_over_the_preset(folder: Path) -> None:
    (folder / "options.toml").write_text("[induction]\nk_t = 3\nsteps = 2\n[fit]\nsteps = 3\noptimizer = 'em'\n")
    given = ("--preset", "scan", "--config", "options.toml", "--set", "steps=1")
    done(*INDUCE.split(), *given)
    done("fit", "new", *given)
    stages = RunFolder("new").record.stages
    chosen = stages["induce"].figures["config"]
    assert (chosen["k_t"], chosen["steps"], chosen["partitions"]) == (3, 1, 16)
    assert stages["fit"].figures["steps"] == 1
    assert stages["fit"].figures["config"]["optimizer"] == "em"


@pytest.mark.parametrize("line", ["induce train.jsonl --out new", "augment train.jsonl --out new -n 10"])
def test_json_lines_with_other_fields(line: str, folder: Path) -> None:
    lines = (json.dumps({"q": x, "a": y}) + "\n" for x, y in PAIRS.items())
    (folder / "train.jsonl").write_text("".join(lines), "utf-8")
    done(*line.split(), "--input-column", "q", "--output-column", "a")
    assert (folder / "new" / "data" / "train.tsv").read_bytes() == (folder / "train.tsv").read_bytes()


def test_an_error_is_one_line_on_stderr_and_exit_code_2(folder: Path) -> None:
    (folder / "train.tsv").write_text("a\tA\nb\t\n", "utf-8")
    for line, named in ((INDUCE, "train.tsv:2: "), (f"{TRAIN} --set stesp=1", "'steps'")):
        found = command(*line.split())
        assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
        assert found.stderr.startswith("error: ")
        assert named in found.stderr


@pytest.mark.parametrize("line", [TRAIN, "predict run train.tsv", "evaluate trained train.tsv"])
def test_missing_libraries_are_named(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    (folder / "trained" / "model").mkdir(parents=True)
    find, absent = importlib.util.find_spec, ("transformers", "accelerate")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else find(name))
    message = refused(*line.split())
    assert "transformers, accelerate;" in message
    assert "pip install" in message
    assert not (folder / "new").exists()


def test_neither_fitting_nor_sampling_needs_torch(folder: Path) -> None:
    found = command(*AUGMENT.split(), "-n", 10, prelude="import sys; sys.modules['torch'] = None")
    assert found.returncode == 0, found.stderr
    assert RunFolder(folder / "new").record.stages["fit"].figures["config"]["optimizer"] == "adam"


@pytest.mark.parametrize("line", ["train train.tsv", f"{TRAIN} --threads 0", "sample run -n 0"])
def test_numbers_out_of_range_and_missing_options_have_exit_code_2(line: str, folder: Path) -> None:
    assert csl(*line.split()).exit_code == 2
