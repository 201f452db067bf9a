"""`csl nqg`: a grammar, its model, and their use; stopped and resumed."""

import shutil
import signal
from pathlib import Path

import pytest

from ..baselines.tiny_encoders import bert
from .commands import csl, done, refused, write
from .conftest import Stop

WORDS = {"a": "A", "b": "B", "c": "C"}
PAIRS = WORDS | {f"{x} twice": f"{y} {y}" for x, y in WORDS.items()}
CPU = ("--device", "cpu", "--threads", 1)
TINY = {
    "hidden": 8,
    "embedding": 4,
    "dropout": 0,
    "steps": 60,
    "batch_size": 8,
    "learning_rate": 0.02,
    "encoder_rate": 0,
}
SMALL = [f"--set={key}={value}" for key, value in TINY.items()]


@pytest.fixture(scope="module")
def induced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `csl nqg induce`; train.tsv and an encoder are beside it."""
    folder = tmp_path_factory.mktemp("nqg")
    bert(folder / "bert")
    done("nqg", "induce", write(folder / "train.tsv", PAIRS), "--out", folder / "run")
    return folder / "run"


def test_the_commands(induced: Path, tmp_path: Path) -> None:
    run, train = Path(shutil.copytree(induced, tmp_path / "run")), induced.parent / "train.tsv"
    assert "NT_1 twice ### NT_1 NT_1" in (run / "grammar.txt").read_text()
    assert "`csl nqg fit`" in refused("nqg", "parse", run, "a")
    done("nqg", "fit", run, "--encoder", induced.parent / "bert", *CPU, *SMALL)
    assert done("nqg", "parse", run, "a twice", *CPU) == ["A A"]
    assert csl("nqg", "parse", run, "d", *CPU).exit_code == 1
    (tmp_path / "inputs").write_text("b twice twice\nd\n")
    assert csl("nqg", "parse", run, tmp_path / "inputs", *CPU).stdout == "b twice twice\tB B B B\nd\t\n"
    lines = done("nqg", "evaluate", run, train, *CPU)
    assert any("100.0%" in line for line in lines)
    assert lines[-1].startswith("6 of 6 pairs derivable")
    done("fit", run, "--set", "optimizer=em")  # CSL's own model on the same grammar
    assert "--no-resume" in refused("nqg", "induce", train, "--out", run, "--preset", "scan")
    assert any("already complete" in line for line in done("nqg", "induce", train, "--out", run))


@pytest.mark.slow
def test_a_stopped_fit_resumes_to_the_same_bytes(induced: Path, tmp_path: Path, stop: Stop) -> None:
    weights = []
    for name in ("stopped", "whole"):
        run = Path(shutil.copytree(induced, tmp_path / name))
        line = ("nqg", "fit", run, "--encoder", induced.parent / "bert", *CPU, *SMALL, "--set", "steps=120")
        if name == "stopped":
            place = "csl.runs.checkpoint.Checkpoint log"
            assert stop(place, 1, signal.SIGKILL, *line)[0] == -signal.SIGKILL
            assert any("resuming after step" in text for text in done(*line))
        else:
            done(*line)
        weights.append((run / "nqg" / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--encoder", "./absent"], "absent"),
        (["--encoder", "bert", "--set", "stepz=1"], "'steps'"),
        (["--encoder", "bert", "--set", "seed=1"], "--seed"),
        (["--encoder", "bert", "--config", "absent.toml"], "absent.toml: "),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], named: str, induced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(induced.parent)
    assert named in refused("nqg", "fit", "run", *CPU, *options)
    assert not (induced / "nqg").exists()
