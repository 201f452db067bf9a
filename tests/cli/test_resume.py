"""Commands that are stopped, by Ctrl-C or a kill, and given again: they resume, and give the same bytes."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from csl.datasets import scan
from csl.examples import write_examples

from .commands import contents, csl, done, write
from .conftest import PAIRS, Stop

SEARCH_OR_FIT = "csl.runs.checkpoint.Checkpoint log"
TRAINING = "csl.seq2seq.checkpoint.CheckpointFile save"
TINY = {
    "layers": 1, "heads": 1, "d_model": 8, "d_ff": 8, "batch_size": 4, "max_target": 8, "steps": 80,
    "evaluate_every": 20, "dropout": 0.1,
}  # fmt: skip
SETTINGS = " ".join(f"--set {key}={value}" for key, value in TINY.items())
LINES = {
    "induce scan.tsv --out {run} --preset scan --set partitions=3": (SEARCH_OR_FIT, 3, "resuming after step"),
    "fit {run} --preset scan --set restarts=1 --set steps=300": (SEARCH_OR_FIT, 3, "resuming after step 150"),
    f"train train.tsv --out {{run}} --dev train.tsv --device cpu --threads 1 {SETTINGS}": (
        TRAINING, 2, "resuming after step"
    ),
}  # fmt: skip


def results(run: Path) -> dict[str, object]:
    """What a run made; metrics without the time that steps took."""
    found: dict[str, object] = {name: text for name, text in contents(run).items() if name != "run.json"}
    for path in (run / "metrics").iterdir():
        lines = [json.loads(line) for line in path.open()]
        found[f"metrics/{path.name}"] = [
            {key: value for key, value in line.items() if "second" not in key} for line in lines
        ]
    return found


@pytest.fixture
def runs(induced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data, and for `csl fit` a run with a grammar, twice."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.tsv", PAIRS)
    write_examples(tmp_path / "scan.tsv", scan.prepare(None, "length").train[::60])
    for name in ("stopped", "whole"):
        shutil.copytree(induced, tmp_path / "fit" / name)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "number"),
    [
        pytest.param(line, number, marks=[] if number is first else pytest.mark.slow)
        for line, first in zip(LINES, (signal.SIGINT, signal.SIGKILL, signal.SIGINT), strict=True)
        for number in (signal.SIGINT, signal.SIGKILL)
    ],
)
def test_a_stopped_command_resumes_to_the_same_bytes(line: str, number: signal.Signals, runs: Path, stop: Stop) -> None:
    place, count, resuming = LINES[line]
    stopped, whole = (runs / line.split(maxsplit=1)[0] / name for name in ("stopped", "whole"))
    code, said = stop(place, count, number, *line.format(run=stopped).split())
    if number is signal.SIGINT:
        assert code == 130
        assert said.splitlines()[-1] == "stopped; give the same command again to resume"
    else:
        assert code == -number
    assert not any((stopped / name).exists() for name in ("model", "model.npz"))
    assert any(resuming in text for text in done(*line.format(run=stopped).split()))
    done(*line.format(run=whole).split())
    assert results(stopped) == results(whole)
    assert not (stopped / "checkpoints").exists()


def test_a_damaged_checkpoint_is_reported_and_the_work_starts_over(runs: Path, stop: Stop) -> None:
    line = next(iter(LINES)).format(run="induce").split()
    stop(SEARCH_OR_FIT, 1, signal.SIGKILL, *line)
    (runs / "induce" / "checkpoints" / "induce.npz").write_bytes(b"PK garbage")
    lines = done(*line)
    assert any(text.startswith("warning: ") and "induce.npz" in text for text in lines)
    assert not any("resuming" in text for text in lines)
    assert csl("grammar", "check", runs / "induce").exit_code == 0
