"""`csl fit` as a person meets it: what it prints, what it writes, what it refuses, and how it goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from csl.arrays import load_arrays
from csl.cli import app
from csl.errors import InputError
from csl.examples import Example, write_examples

PAIRS = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "walk twice": "WALK WALK", "run twice": "RUN RUN",
    "walk and run": "WALK RUN", "run twice and walk": "RUN RUN WALK", "run and run": "RUN RUN",
}  # fmt: skip
Stop = Callable[..., tuple[int, str]]
QUICK = ("--set", "optimizer=em", "--set", "steps=5")
LONG = ("--preset", "scan", "--set", "restarts=1", "--set", "steps=1500", "--set", "batch_size=4")


def csl(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def start(*arguments: object, prelude: str = "") -> list[str]:
    return [sys.executable, "-c", f"{prelude}from csl.cli import main; main()", *map(str, arguments)]


def command(*arguments: object, prelude: str = "") -> subprocess.CompletedProcess[str]:
    """Run the real command."""
    return subprocess.run(start(*arguments, prelude=prelude), capture_output=True, text=True, check=False)


def refused(*arguments: object) -> str:
    result = csl(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def parameters(run: Path) -> bytes:
    arrays, _ = load_arrays(run / "model.npz", "")
    return arrays["theta_context"].tobytes() + arrays["theta_rule"].tobytes()


@pytest.fixture(scope="module")
def induced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with a grammar."""
    folder = tmp_path_factory.mktemp("fit")
    write_examples(folder / "train.tsv", [Example.of(x, y) for x, y in PAIRS.items()])
    assert csl("induce", folder / "train.tsv", "--out", folder / "run").exit_code == 0
    return folder / "run"


@pytest.fixture
def run(induced: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(induced, tmp_path / "run"))


@pytest.fixture(scope="module")
def whole(induced: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The parameters of a long fit that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    shutil.copytree(induced, folder)
    assert csl("fit", folder, *LONG).exit_code == 0
    return parameters(folder)


def test_the_summary_says_what_auto_chose_and_what_was_written(run: Path) -> None:
    result = csl("fit", run, *QUICK)
    assert result.exit_code == 0, result.exception
    lines = result.output.splitlines()
    assert lines[0].startswith("auto: 5 rules and 8 examples: 64 states")
    assert " states, 5 steps: mean log p(x, y) -" in lines[-2]
    assert lines[-1] == f"wrote {run / 'model.npz'}"
    assert not (run / "fit-checkpoint.npz").exists()
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert [line["step"] for line in metrics if line["stage"] == "fit"] == [5]
    assert metrics[0]["stage"] == "induce"


def test_with_restarts_the_summary_names_the_starts(run: Path) -> None:
    options = (*QUICK, "--set", "restarts=2", "--set", "seed=3")
    result = csl("fit", run, *options)
    assert result.exit_code == 0, result.exception
    _, about = load_arrays(run / "model.npz", "")
    first, second = about["starts"]
    lines = result.output.splitlines()[-5:-1]
    assert lines[0] == f"start 1 of 2, seed 6: mean log p(x, y) {first:.3f}"
    assert lines[1] == f"start 2 of 2, seed 7: mean log p(x, y) {second:.3f}"
    assert lines[2] == f"kept seed {6 if first >= second else 7}, the likeliest"
    assert f"mean log p(x, y) {max(first, second):.3f}; " in lines[3]


def test_a_model_that_is_there_is_not_fitted_again(run: Path) -> None:
    assert csl("fit", run, *QUICK).exit_code == 0
    before = (run / "model.npz").stat().st_mtime_ns
    again = csl("fit", run, *QUICK)
    assert again.exit_code == 0
    assert "holds this model already; --no-resume fits anew" in again.output
    assert (run / "model.npz").stat().st_mtime_ns == before
    assert "wrote" in csl("fit", run, *QUICK, "--no-resume").output
    assert "wrote" in csl("fit", run, "--set", "optimizer=em", "--set", "steps=6").output


def test_a_killed_fit_goes_on_to_the_same_parameters(run: Path, whole: bytes, stop: Stop) -> None:
    assert stop("step 500 ", signal.SIGKILL, "fit", run, *LONG)[0] == -signal.SIGKILL
    assert not (run / "model.npz").exists()
    result = csl("fit", run, *LONG)
    assert result.exit_code == 0, result.exception
    assert "going on after step " in result.output
    assert parameters(run) == whole
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert [line["step"] for line in metrics if line["stage"] == "fit"] == list(range(50, 1501, 50))


def test_ctrl_c_says_how_to_go_on(run: Path, whole: bytes, stop: Stop) -> None:
    stopped = stop("step 500 ", signal.SIGINT, "fit", run, *LONG)
    assert stopped == (130, "stopped; the same command goes on from the last report\n")
    assert csl("fit", run, *LONG).exit_code == 0
    assert parameters(run) == whole


@pytest.mark.parametrize("name", ["model.npz", "forests.npz"])
@pytest.mark.parametrize("cut", [0, 0.6])
def test_a_damaged_file_is_told_and_made_anew(name: str, cut: float, run: Path) -> None:
    assert csl("fit", run, *QUICK).exit_code == 0
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    (run / name).write_bytes(before[name][: int(cut * len(before[name]))])
    if name == "forests.npz":
        (run / "model.npz").unlink()
    assert f"{run / name}: damaged file; it is made anew" in csl("fit", run, *QUICK).output.splitlines()
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.parametrize("cut", [0, 0.6])
def test_a_checkpoint_that_is_damaged_is_refused_if_there_is_none_before(cut: float, run: Path) -> None:
    assert csl("fit", run, *QUICK).exit_code == 0
    fitted, content = parameters(run), (run / "model.npz").read_bytes()
    (run / "fit-checkpoint.npz").write_bytes(content[: int(cut * len(content))])
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    message = f"{run / 'fit-checkpoint.npz'}: damaged file; fit again with --no-resume"
    assert refused("fit", run, *QUICK, "--set", "seed=1") == message
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    assert csl("fit", run, *QUICK, "--no-resume").exit_code == 0
    assert parameters(run) == fitted


def test_errors_are_one_line_on_stderr_and_exit_code_2(run: Path) -> None:
    (run / "fit-checkpoint.npz").write_bytes(b"PK")
    done = command("fit", run, *QUICK, "--preset", "scan")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {run / 'fit-checkpoint.npz'}: damaged file; fit again with --no-resume\n"


def test_without_torch_the_remedy_is_named(run: Path) -> None:
    hidden = "import sys; sys.modules['torch'] = None; "
    done = command("fit", run, prelude=hidden)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Adam needs torch: pip install" in done.stderr
    assert "--set optimizer=em" in done.stderr
    assert command("fit", run, *QUICK, prelude=hidden).returncode == 0


@pytest.mark.parametrize("ending", ["txt", "tsv"])
def test_inputs_without_outputs_are_labelled_and_fitted_again(ending: str, run: Path, tmp_path: Path) -> None:
    inputs = ["jump and jump", "jump twice and jump", "no such word", ""]
    lines = [f"{x}\tIGNORED" if ending == "tsv" else x for x in inputs]
    (tmp_path / f"inputs.{ending}").write_text("\n".join(lines[:3]) + "\n\n", "utf-8")
    assert csl("fit", run, *QUICK).exit_code == 0
    before = parameters(run)
    result = csl("fit", run, *QUICK, "--unlabeled", tmp_path / f"inputs.{ending}")
    assert result.exit_code == 0, result.exception
    assert "2 of 3 inputs labelled, 4 times each; the others are not covered" in result.output
    assert parameters(run) != before
    stages = [json.loads(line)["stage"] for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert stages[-2:] == ["fit", "refit"]


def test_ratio_decides_how_often_labelled_inputs_count(run: Path, tmp_path: Path) -> None:
    (tmp_path / "inputs.txt").write_text("jump and jump\n", "utf-8")
    result = csl("fit", run, *QUICK, "--unlabeled", tmp_path / "inputs.txt", "--ratio", "0.5")
    assert "1 of 1 inputs labelled, 4 times each" in result.output


def test_pairs_that_are_left_out_are_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        "".join(json.dumps({"q": x, "a": y}) + "\n" for x, y in [*PAIRS.items(), ("fly", "FLY")]), "utf-8"
    )
    files = ("--train", tmp_path / "t.jsonl", "--input-field", "q", "--output-field", "a")
    result = csl("fit", run, *QUICK, *files)
    assert result.exit_code == 0, result.exception
    assert "left out: fly → FLY\n1 pairs left out: the grammar does not derive them, or" in result.output


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--set", "stepz=1"], "no option 'stepz'; did you mean 'steps'?"),
        (["--set", "optimizer=sgd"], "optimizer = 'sgd'"),
        (["--set", "learning_rate=nan"], "learning_rate = 'nan'"),
        (["--preset", "cog"], "no preset 'cog'; did you mean 'cogs'?"),
        (["--config", "absent.toml"], "absent.toml: cannot be read"),
        (["--train", "absent.tsv"], "absent.tsv: cannot be read"),
        (["--unlabeled", "absent.txt"], "absent.txt: cannot be read"),
    ],
)
def test_mistyped_options_are_refused_before_anything_is_written(options: list[str], reason: str, run: Path) -> None:
    before = sorted(run.iterdir())
    assert reason in refused("fit", run, *options)
    assert sorted(run.iterdir()) == before


def test_config_file_and_settings_are_applied_over_the_preset(run: Path, tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text("[fit]\nsteps = 3\nstates = 3\noptimizer = 'em'\n", "utf-8")
    result = csl("fit", run, "--preset", "cogs", "--config", tmp_path / "o.toml", "--set", "steps=2")
    assert "3 states, 2 steps" in result.output
    _, about = load_arrays(run / "model.npz", "")
    assert about["fit"]["optimizer"] == "em"


def test_missing_folders_grammars_and_examples(run: Path, tmp_path: Path, induced: Path) -> None:
    assert "not a run folder; make one with `csl induce`" in refused("fit", tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    assert "no grammar.txt in this folder" in refused("fit", tmp_path / "empty")
    (run / "config.json").unlink()
    assert "name it with --train" in refused("fit", run)
    (run / "config.json").write_text('{"train": "gone.tsv"}', "utf-8")
    assert refused("fit", run) == (
        "gone.tsv: the examples of this run are not here (any more); name the file with --train"
    )
    assert csl("fit", run, *QUICK, "--train", induced.parent / "train.tsv").exit_code == 0


def test_examples_of_another_grammar_are_refused(run: Path, tmp_path: Path) -> None:
    write_examples(tmp_path / "other.tsv", [Example.of("fly", "FLY")])
    assert "derives none of the training pairs" in refused("fit", run, *QUICK, "--train", tmp_path / "other.tsv")


def test_threads_and_hash_seed_do_not_change_the_parameters(induced: Path, tmp_path: Path) -> None:
    found = []
    for threads, seed in ((1, "0"), (3, "4711")):
        folder = Path(shutil.copytree(induced, tmp_path / seed))
        line = start("fit", folder, "--set", "steps=20", "--threads", threads)
        assert subprocess.run(line, check=False, env=os.environ | {"PYTHONHASHSEED": seed}).returncode == 0
        found.append(parameters(folder))
    assert found[0] == found[1]
    assert np.isfinite(np.frombuffer(found[0])).all()
