"""Training learns, goes on after a stop as if nothing had been, keeps the best weights, and says what is wrong."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from safetensors.torch import load_file

from csl.errors import CslError, InputError, LimitWarning
from csl.examples import Example, write_examples
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.predictor import Prediction, Seq2Seq
from csl.seq2seq.train import Progress, train

from .conftest import PAIRS, TINY, changed, make_bart, make_pretrained

DEV = PAIRS[::10]
LONG = changed(TINY, steps=12, evaluate_every=4)
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(autouse=True)
def _a_line_for_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csl.seq2seq.train.LOG", 1)


def curve(folder: Path) -> list[dict[str, float]]:
    """The lines of metrics without what is never the same."""
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "steps_per_second"} for line in lines]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model" / "model.safetensors")


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def accuracy(model: Seq2Seq, pairs: Sequence[Example]) -> float:
    found = model.predict([pair.source_text for pair in pairs])
    return sum(p[0].text == e.target_text for p, e in zip(found, pairs, strict=True)) / len(pairs)


class Killed(BaseException):
    pass


def kill_after(step: int) -> Callable[[Progress], None]:
    def progress(report: Progress) -> None:
        if report.step == step:
            raise Killed

    return progress


def start_and_kill(folder: Path, config: TrainConfig, step: int, **options: Any) -> None:
    with pytest.raises(Killed):
        train(PAIRS, folder, config, progress=kill_after(step), **options)


# learning


def test_two_layers_learn_fifty_pairs_by_heart(learned: Path) -> None:
    assert len(set(PAIRS)) == 50
    assert accuracy(Seq2Seq.load(learned), PAIRS) == 1
    lines = curve(learned)
    assert lines[0]["loss"] > 10 * lines[-1]["loss"]
    result = json.loads((learned / "train.json").read_text("utf-8"))["result"]
    assert result["dev"] == 1
    assert result["step"] in {line["step"] for line in lines if line.get("dev") == 1}


def test_a_pretrained_model_learns_signs_that_its_tokenizer_lacks(pretrained: Path, tmp_path: Path) -> None:
    pairs = [Example.of(*pair) for pair in (("all", "{ }"), ("less", "a<b"), ("none", "~ ^"), ("in", "x \\in y"))]
    config = TrainConfig(
        model=str(pretrained), steps=250, evaluate_every=50, batch_size=8, learning_rate=0.005, warmup=5, dropout=0.0,
        max_target=12,
    )  # fmt: skip
    said: list[str] = []
    model = train(pairs, tmp_path, config, dev=pairs, say=said.append)
    assert accuracy(model, pairs) == accuracy(Seq2Seq.load(tmp_path), pairs) == 1
    assert any(line.startswith("swapped, as the tokenizer lacks them: ") and "{" in line for line in said)
    after = weights(tmp_path)
    before = load_file(pretrained / "model.safetensors")
    assert after.keys() == before.keys()
    assert not any(torch.equal(after[name], before[name]) for name in ("shared.weight", "lm_head.weight"))


def test_a_model_whose_outputs_begin_with_a_token_learns_without_its_old_habits(tmp_path: Path) -> None:
    """As BART: `<s>` is part of what it learns to write, and its checkpoint says to begin so, and not to repeat."""
    make_bart(tmp_path / "bart")
    pairs = [Example.of(f"{n} {w}", " ".join([w] * k)) for w in "abcd" for k, n in enumerate(("once", "four"), 1)]
    pairs += [Example.of(f"many {w}", " ".join([w] * 7)) for w in "abcd"]
    options = {"steps": 150, "batch_size": 12, "dropout": 0, "warmup": 10, "learning_rate": 0.005, "prefix": ""}
    config = changed(TINY, model=str(tmp_path / "bart"), **options)
    model = train(pairs, tmp_path / "run", config)
    assert accuracy(model, pairs) == 1
    assert accuracy(Seq2Seq.load(tmp_path / "run"), pairs) == 1
    assert model.predict(["many b"], beams=3, scores=True)[0][0].log_prob == pytest.approx(0, abs=0.1)


def test_dropout_is_on_from_the_first_step(pretrained: Path, tmp_path: Path) -> None:
    for name, dropout in (("with", 0.5), ("without", 0.0)):
        train(PAIRS, tmp_path / name, changed(TINY, model=str(pretrained), dropout=dropout, steps=1))
    assert curve(tmp_path / "with") != curve(tmp_path / "without")


@pytest.mark.parametrize(("share", "expected"), [(0.0, "A"), (1.0, "B")])
def test_the_share_decides_what_is_learned(share: float, expected: str, tmp_path: Path) -> None:
    config = changed(TINY, synthetic=share, steps=60, learning_rate=0.02, evaluate_every=60, dropout=0)
    model = train([Example.of("x", "A")], tmp_path, config, synthetic=[Example.of("x", "B")])
    assert model.predict(["x"])[0][0].text == expected


def test_synthetic_pairs_alone_are_enough(tmp_path: Path) -> None:
    train([], tmp_path / "one", TINY, synthetic=PAIRS)
    train(PAIRS, tmp_path / "other", TINY)
    assert curve(tmp_path / "one")[-1]["step"] == curve(tmp_path / "other")[-1]["step"] == TINY.steps


@pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
def test_bf16_learns_on_the_cpu(optimizer: str, tmp_path: Path) -> None:
    config = changed(TINY, precision="bf16", optimizer=optimizer, steps=40, evaluate_every=20, learning_rate=0.01)
    train(PAIRS, tmp_path, config)
    losses = [line["loss"] for line in curve(tmp_path)]
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
    assert {weight.dtype for weight in weights(tmp_path).values()} == {torch.float32}


def test_settings_of_accelerate_do_not_change_the_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for precision in ("no", "bf16"):
        monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", precision)
        AcceleratorState._reset_state(reset_partial_state=True)  # it is kept for the whole process
        train(PAIRS, tmp_path / precision, changed(TINY, precision="fp32"))
    assert equal(weights(tmp_path / "no"), weights(tmp_path / "bf16"))


def test_pairs_may_come_one_by_one(tmp_path: Path) -> None:
    parts = {"synthetic": PAIRS[:5], "dev": DEV}
    train(PAIRS, tmp_path / "lists", TINY, **parts)
    train(iter(PAIRS), tmp_path / "streams", TINY, **{name: iter(part) for name, part in parts.items()})
    assert curve(tmp_path / "lists") == curve(tmp_path / "streams")
    assert equal(weights(tmp_path / "lists"), weights(tmp_path / "streams"))


def test_inputs_longer_than_a_model_has_positions_for_are_cut(tmp_path: Path) -> None:
    make_bart(tmp_path / "bart", max_position_embeddings=16)
    pairs = [Example.of(" ".join("ab" * 20), " ".join("cd" * 20)), Example.of("a", "b")]
    said: list[str] = []
    model = train(pairs, tmp_path / "run", changed(TINY, model=str(tmp_path / "bart"), prefix=""), say=said.append)
    assert any("1 original inputs reach the limit of 16 tokens" in line for line in said)
    with pytest.warns(LimitWarning, match="1 of 2 inputs reach the limit of 16 tokens"):
        found = model.predict([pair.source_text for pair in pairs])
    assert all(len(p[0].text.split()) <= 16 for p in found)


def test_the_same_training_gives_the_same_weights_and_another_seed_others(tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("again", 0), ("other", 1)):
        train(PAIRS, tmp_path / name, changed(TINY, seed=seed))
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "again"))
    assert curve(tmp_path / "one") == curve(tmp_path / "again")
    assert curve(tmp_path / "one") != curve(tmp_path / "other")


# files


def test_what_a_run_leaves(tmp_path: Path) -> None:
    reports: list[Progress] = []
    model = train(PAIRS, tmp_path, TINY, dev=DEV, about={"examples": 50}, progress=reports.append)
    assert files(tmp_path) == {"train.json", "metrics.jsonl", "model"}
    assert [line["step"] for line in curve(tmp_path)] == list(range(1, TINY.steps + 1))
    assert [line["step"] for line in curve(tmp_path) if "dev" in line] == [2, 4, 6]
    assert [(r.step, r.loss) for r in reports] == [(line["step"], line["loss"]) for line in curve(tmp_path)]
    about = json.loads((tmp_path / "train.json").read_text("utf-8"))
    assert TrainConfig(**about["train"]) == TINY
    assert about["examples"] == 50
    assert set(about["result"]) == {"step", "dev"}
    assert model.predict(["ohio"]) == Seq2Seq.load(tmp_path).predict(["ohio"])


def test_lines_are_means_over_the_steps_since_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = changed(TINY, steps=7, evaluate_every=5)
    train(PAIRS, tmp_path / "each", config)
    monkeypatch.setattr("csl.seq2seq.train.LOG", 3)
    train(PAIRS, tmp_path / "some", config)
    losses = [line["loss"] for line in curve(tmp_path / "each")]
    assert [line["step"] for line in curve(tmp_path / "some")] == [3, 5, 6, 7]
    expected = [sum(losses[:3]) / 3, sum(losses[3:5]) / 2, losses[5], losses[6]]
    assert [line["loss"] for line in curve(tmp_path / "some")] == pytest.approx(expected, abs=1e-5)


def test_tensorboard_has_the_same_curve(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(PAIRS, tmp_path, TINY, dev=DEV, tensorboard=True)
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    found = {event.step: event.value for event in events.Scalars("loss")}
    assert found == pytest.approx({line["step"]: line["loss"] for line in curve(tmp_path)}, abs=1e-5)
    assert [event.step for event in events.Scalars("dev")] == [2, 4, 6]


# the best weights


def scripted(monkeypatch: pytest.MonkeyPatch, values: Sequence[float]) -> None:
    """Let the tests on dev give these accuracies, one every 4 steps, whatever is predicted."""
    calls = iter(values)
    monkeypatch.setattr("csl.seq2seq.train._Run._test", lambda run, model, dev: next(calls))


@pytest.mark.parametrize(
    ("values", "best"),
    [((0.2, 0.7, 0.5), 8), ((0.9, 0.1, 0.2), 4), ((0.1, 0.2, 0.3), 12), ((0.0, 0.5, 0.5), 12), ((0.5, 0.5, 0.1), 8)],
)
def test_the_last_best_weights_are_kept(
    values: tuple[float, ...], best: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(PAIRS, tmp_path / "until", changed(LONG, steps=best))
    scripted(monkeypatch, values)
    model = train(PAIRS, tmp_path / "run", LONG, dev=DEV)
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "until"))
    assert torch.equal(model.network.shared.weight, weights(tmp_path / "run")["shared.weight"])
    about = json.loads((tmp_path / "run" / "train.json").read_text("utf-8"))
    assert about["result"] == {"step": best, "dev": max(values)}
    assert files(tmp_path / "run") == {"train.json", "metrics.jsonl", "model"}


def test_they_are_kept_over_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(PAIRS, tmp_path / "until", changed(LONG, steps=4))
    scripted(monkeypatch, (0.5, 0.1, 0.1))
    start_and_kill(tmp_path / "run", LONG, 6, dev=DEV)
    train(PAIRS, tmp_path / "run", LONG, dev=DEV)
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "until"))


def test_the_best_weights_stay_until_every_process_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    best = tmp_path / "best.safetensors"
    monkeypatch.setattr("accelerate.Accelerator.wait_for_everyone", lambda accelerator: seen.append(best.exists()))
    scripted(monkeypatch, (0.5, 0.1, 0.1))
    train(PAIRS, tmp_path, LONG, dev=DEV)
    assert any(seen)
    assert not best.exists()


def test_without_dev_the_last_weights_are_kept(tmp_path: Path) -> None:
    model = train(PAIRS, tmp_path, TINY)
    assert torch.equal(model.network.shared.weight, weights(tmp_path)["shared.weight"])
    about = json.loads((tmp_path / "train.json").read_text("utf-8"))
    assert about["result"] == {"step": TINY.steps, "dev": None}


def test_accuracy_on_dev_is_that_of_the_predictions_but_for_white_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {"x": "f ( a )", "y": "b", "z": ""}
    monkeypatch.setattr(Seq2Seq, "predict", lambda model, inputs: [[Prediction(written[x])] for x in inputs])
    dev = [Example.of("x", "f(a)"), Example.of("y", "b"), Example.of("x", "f ( b )"), Example.of("z", "b")]
    train(PAIRS, tmp_path, TINY, dev=[*dev, Example.of("y", "b b")])
    assert [line["dev"] for line in curve(tmp_path) if "dev" in line] == [0.4] * 3


# going on


@pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
@pytest.mark.parametrize("stops", [(2,), (6,), (8,), (12,), (5, 9, 10)])
def test_a_stopped_training_goes_on_as_if_nothing_had_been(
    stops: tuple[int, ...], optimizer: str, tmp_path: Path
) -> None:
    config = changed(LONG, optimizer=optimizer)
    assert config.dropout > 0
    options = {"dev": DEV, "synthetic": PAIRS[:20]}
    train(PAIRS, tmp_path / "whole", config, **options)
    for step in stops:
        start_and_kill(tmp_path / "run", config, step, **options)
        assert not (tmp_path / "run" / "model").exists()
    said: list[str] = []
    train(PAIRS, tmp_path / "run", config, say=said.append, **options)
    saved = (stops[-1] - 1) // 4 * 4  # progress is heard before a checkpoint is written
    assert [line for line in said if "going on" in line] == [f"going on after step {saved}"] * bool(saved)
    assert [line["step"] for line in curve(tmp_path / "run")] == list(range(1, 13))
    assert curve(tmp_path / "run") == curve(tmp_path / "whole")
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))
    assert files(tmp_path / "run") == files(tmp_path / "whole")


KILLED_WHILE_WRITING = """
import os, signal, sys, torch
from csl.examples import read_examples
from csl.seq2seq import train
from csl.seq2seq.config import TrainConfig

torch.set_num_threads(1)
train.LOG = 1
replace, calls = os.replace, []

def replaced(path, target):
    if str(target).endswith("checkpoint.safetensors"):
        calls.append(path)
        if len(calls) == 2:
            os.truncate(path, 100)  # half of it was written
            os.kill(os.getpid(), signal.SIGKILL)
    return replace(path, target)

os.replace = replaced
pairs = list(read_examples(sys.argv[2]))
train.train(pairs, sys.argv[1], TrainConfig.model_validate_json(sys.argv[3]))
"""


def test_so_does_one_that_was_killed_while_it_wrote(tmp_path: Path) -> None:
    write_examples(tmp_path / "pairs.tsv", PAIRS)
    train(PAIRS, tmp_path / "whole", LONG)
    arguments = [tmp_path / "run", tmp_path / "pairs.tsv", LONG.model_dump_json()]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_WRITING, *map(str, arguments)], env=ONE_THREAD, timeout=120, check=False
    )
    assert killed.returncode == -9
    assert {"checkpoint.safetensors", "train.json", "metrics.jsonl"} < files(tmp_path / "run")
    assert [line["step"] for line in curve(tmp_path / "run")] == list(range(1, 9))
    said: list[str] = []
    train(PAIRS, tmp_path / "run", LONG, say=said.append)
    assert "going on after step 4" in said
    assert curve(tmp_path / "run") == curve(tmp_path / "whole")
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))


def test_a_finished_training_is_loaded_and_not_repeated(tmp_path: Path) -> None:
    first = train(PAIRS, tmp_path, TINY)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    said: list[str] = []
    again = train(PAIRS, tmp_path, TINY, say=said.append, progress=kill_after(1))
    assert said == [f"{tmp_path} holds this model already; --no-resume trains it anew"]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times
    assert again.predict(["ohio", "utah"], scores=True) == first.predict(["ohio", "utah"], scores=True)


@pytest.mark.parametrize(
    ("changes", "examples", "message"),
    [
        ({"steps": 8}, PAIRS, "steps = 6"),
        ({"seed": 4, "optimizer": "adafactor"}, PAIRS, "optimizer = adamw, seed = 3"),
        ({}, PAIRS[1:], "other data"),
        ({}, [*PAIRS[1:], PAIRS[0]], "other data"),
    ],
)
@pytest.mark.parametrize("finished", [True, False])
def test_a_folder_with_another_training_is_refused_with_what_differs(
    finished: bool, changes: dict[str, Any], examples: list[Example], message: str, tmp_path: Path
) -> None:
    if finished:
        train(PAIRS, tmp_path, TINY)
    else:
        start_and_kill(tmp_path, TINY, 3)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"holds another training \(.*\); name another, or --no-resume") as caught:
        train(examples, tmp_path, changed(TINY, **changes))
    assert f"({message})" in str(caught.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_weights_that_it_starts_from_are_data_too(tmp_path: Path) -> None:
    config = changed(TINY, model=str(make_pretrained(tmp_path / "start", "")))
    train(PAIRS, tmp_path / "run", config)
    train(PAIRS, tmp_path / "run", config)
    make_pretrained(tmp_path / "start", "¡")
    with pytest.raises(InputError, match="other data"):
        train(PAIRS, tmp_path / "run", config)


@pytest.mark.parametrize(("part", "value"), [("synthetic", PAIRS[:3]), ("dev", PAIRS[:3])])
def test_synthetic_pairs_and_dev_are_data_too(part: str, value: list[Example], tmp_path: Path) -> None:
    start_and_kill(tmp_path, TINY, 3)
    with pytest.raises(InputError, match="other data"):
        train(PAIRS, tmp_path, TINY, **{part: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("finished", [True, False])
def test_without_resume_training_starts_over(finished: bool, tmp_path: Path) -> None:
    if finished:
        train(PAIRS, tmp_path / "run", LONG, dev=DEV)
    else:
        start_and_kill(tmp_path / "run", LONG, 6, dev=DEV)
    said: list[str] = []
    train(PAIRS, tmp_path / "run", TINY, resume=False, say=said.append)
    train(PAIRS, tmp_path / "new", TINY)
    assert not any("going on" in line for line in said)
    assert curve(tmp_path / "run") == curve(tmp_path / "new")
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "new"))
    assert files(tmp_path / "run") == files(tmp_path / "new")


def test_a_damaged_checkpoint_is_told_and_the_one_before_taken(tmp_path: Path) -> None:
    train(PAIRS, tmp_path / "whole", LONG)
    start_and_kill(tmp_path / "run", LONG, 10)
    path, said = tmp_path / "run" / "checkpoint.safetensors", list[str]()
    content = bytearray(path.read_bytes())
    content[-5] ^= 1  # one bit of one weight
    path.write_bytes(content)
    train(PAIRS, tmp_path / "run", LONG, say=said.append)
    taken = f"{path}: damaged file; the state before, checkpoint.previous.safetensors, is taken"
    assert [line for line in said if line == taken or "going on" in line] == [taken, "going on after step 4"]
    assert curve(tmp_path / "run") == curve(tmp_path / "whole")
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))
    assert files(tmp_path / "run") == files(tmp_path / "whole")


def test_the_one_before_stays_until_there_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(PAIRS, tmp_path / "whole", LONG)
    start_and_kill(tmp_path / "run", LONG, 10)
    path = tmp_path / "run" / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:-5])

    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr("csl.seq2seq.checkpoint.save_tensors", killed)
    with pytest.raises(Killed):
        train(PAIRS, tmp_path / "run", LONG)
    monkeypatch.undo()
    said: list[str] = []
    train(PAIRS, tmp_path / "run", LONG, say=said.append)
    assert "going on after step 4" in said
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "whole"))


@pytest.mark.parametrize("missing", [True, False])
def test_best_weights_that_are_damaged_are_told_when_it_goes_on(missing: bool, tmp_path: Path) -> None:
    start_and_kill(tmp_path, LONG, 6, dev=DEV)
    path, said = tmp_path / "best.safetensors", list[str]()
    if missing:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-5])
    train(PAIRS, tmp_path, LONG, dev=DEV, say=said.append)
    assert f"{path}: damaged or missing file; the best of the steps to come is kept" in said
    assert json.loads((tmp_path / "train.json").read_text("utf-8"))["result"]["step"] in (8, 12)


def test_a_model_is_not_trained_into_its_own_folder(tmp_path: Path) -> None:
    train(PAIRS, tmp_path, TINY)
    before = weights(tmp_path)
    for resume in (True, False):
        with pytest.raises(InputError, match=r"model: is where training starts, and would be written over; name"):
            train(PAIRS, tmp_path, changed(TINY, model=str(tmp_path / "model")), resume=resume)
    assert equal(weights(tmp_path), before)


def test_a_run_inside_the_folder_of_its_model_goes_on(tmp_path: Path) -> None:
    config = changed(LONG, model=str(make_pretrained(tmp_path, "§")))
    start_and_kill(tmp_path / "run", config, 6)
    said: list[str] = []
    train(PAIRS, tmp_path / "run", config, say=said.append)
    assert "going on after step 4" in said


def test_one_killed_before_the_model_is_in_place_is_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        train(PAIRS, tmp_path / "run", LONG)
    monkeypatch.undo()
    assert not (tmp_path / "run" / "model").exists()
    train(PAIRS, tmp_path / "run", LONG)
    assert json.loads((tmp_path / "run" / "train.json").read_text("utf-8"))["result"]["step"] == LONG.steps


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    hold = "import sys, csl.lock\nwith csl.lock.folder_lock(sys.argv[1]): print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(CslError, match="another process"):
            train(PAIRS, tmp_path, TINY)


def test_a_damaged_checkpoint_is_refused_and_can_be_left_behind(tmp_path: Path) -> None:
    start_and_kill(tmp_path / "run", LONG, 6)
    path = tmp_path / "run" / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"checkpoint\.safetensors: damaged file; start over with --no-resume"):
        train(PAIRS, tmp_path / "run", LONG)
    train(PAIRS, tmp_path / "run", LONG, resume=False)
    assert len(curve(tmp_path / "run")) == 12


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("content", ["", "{", "[]", '{"train": 1}', '{"train": {}}'])
def test_a_damaged_description_is_refused(content: str, resume: bool, tmp_path: Path) -> None:
    """It may be someone's data."""
    (tmp_path / "train.json").write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"train\.json: not the config of a training; name another folder"):
        train(PAIRS, tmp_path, TINY, resume=resume)
    assert (tmp_path / "train.json").read_text("utf-8") == content


OTHERS = ["model", "metrics.jsonl", "config.json", "tensorboard", "checkpoint.safetensors", "best.safetensors"]


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("name", OTHERS)
def test_a_folder_of_others_is_left_alone(name: str, resume: bool, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=rf"holds '{name}', which is not of a training; name another"):
        train(PAIRS, tmp_path, TINY, resume=resume)
    assert files(tmp_path) == {name}


# what is wrong


def test_a_loss_that_is_not_a_number_ends_it(tmp_path: Path) -> None:
    config = changed(TINY, learning_rate=1e30, steps=50, evaluate_every=50)
    with pytest.raises(CslError, match=r"the loss is not a number after step \d+; lower learning_rate") as caught:
        train(PAIRS, tmp_path, config)
    steps = [line["step"] for line in curve(tmp_path)]
    assert f"after step {len(steps) + 1};" in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_texts_that_reach_the_limit_are_counted(tmp_path: Path) -> None:
    said: list[str] = []
    config = changed(TINY, max_source=6, max_target=5)
    train([Example.of("a b", "A B"), Example.of("a b c d e", "A B C D")], tmp_path, config, say=said.append)
    cut = [line for line in said if "limit" in line]
    assert cut == [
        "1 original inputs reach the limit of 6 tokens and may be cut: see max_source, max_target",
        "1 original outputs reach the limit of 5 tokens and may be cut: see max_source, max_target",
    ]
    said.clear()
    longer, long = changed(config, max_source=8, max_target=6), [Example.of("b", "A " * 9)]
    train([Example.of("a", "A B C")], tmp_path / "longer", longer, synthetic=long, say=said.append)
    cut = [line for line in said if "limit" in line]
    assert cut == ["1 synthetic outputs reach the limit of 6 tokens and may be cut: see max_source, max_target"]


def test_no_examples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no examples to train on"):
        train([], tmp_path / "run", TINY)
    assert files(tmp_path) == set()


def test_a_word_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write '</s>'"):
        train([Example.of("a </s> b", "A")], tmp_path, TINY)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text", "utf-8")
    with pytest.raises(InputError, match="cannot be made a folder"):
        train(PAIRS, tmp_path / "file" / "run", TINY)


@pytest.mark.parametrize("device", ["warp", "cuda:77"])
def test_a_device_that_is_not_there_is_refused(device: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no device"):
        train(PAIRS, tmp_path, TINY, device=device)


def test_fewer_pairs_a_batch_than_processes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelerate.Accelerator.num_processes", property(lambda self: 5))
    with pytest.raises(InputError, match="batch_size 4 is less than one pair for each of 5 processes"):
        train(PAIRS, tmp_path, TINY)


# as a command


def settings(config: TrainConfig) -> list[str]:
    values = {key: value for key, value in config.model_dump().items() if key not in ("model", "prefix")}
    return [f"--set={key}={value}" for key, value in values.items() if value is not None]


THREADS_LEFT = """
import runpy
from pathlib import Path

try:
    runpy.run_module("csl", run_name="__main__", alter_sys=True)
finally:
    print("left:", sorted(name.read_text().strip() for name in Path("/proc/self/task").glob("*/comm")))
"""


def test_two_processes_learn_as_one(learned: Path, tmp_path: Path) -> None:
    dev = [Example.of(PAIRS[0].source_text, "wrong"), *PAIRS[1:4]]  # the first process has the wrong one
    config = changed(
        TINY, model=str(learned / "model"), dropout=0, steps=20, batch_size=5, learning_rate=0.001, synthetic=0.4
    )
    for name, part in {"train.tsv": PAIRS[20:], "made.tsv": PAIRS[:20], "dev.tsv": dev}.items():
        write_examples(tmp_path / name, part)
    train(PAIRS[20:], tmp_path / "one", config, synthetic=PAIRS[:20], dev=dev)
    (tmp_path / "launched.py").write_text(THREADS_LEFT, "utf-8")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "launched.py"]
    command = ["train", "train.tsv", "--synthetic", "made.tsv", "--dev", "dev.tsv", "--out", "two", "--device", "cpu"]
    command += ["--model", config.model]
    done = subprocess.run(
        [*launch, *command, *settings(config)],
        cwd=tmp_path, env=ONE_THREAD, timeout=240, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert files(tmp_path / "two") == {"train.json", "metrics.jsonl", "model"}
    one, two = curve(tmp_path / "one"), curve(tmp_path / "two")
    means = [(a["loss"] + b["loss"]) / 2 for a, b in zip(one[::2], one[1::2], strict=True)]
    assert [line["loss"] for line in two] == pytest.approx(means, abs=1e-5)
    assert [(line["step"], line["dev"]) for line in two] == [(line["step"], line["dev"]) for line in one[1::2]]
    assert two[-1]["dev"] == 0.75
    for line in ("parameters on cpu", "step 20 of 20"):
        assert done.stdout.count(line) == 1  # only one of them speaks
    assert done.stdout.count("left:") == 2
    assert "gloo" not in done.stdout  # a thread that outlives Python may abort the process


WITHOUT_NUMBA = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from csl.cli import main

for line in sys.stdin.read().splitlines():
    sys.argv = ["csl", *line.split("\\t")]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (line, end.code)
assert "numba" not in sys.modules
"""


@pytest.fixture(scope="module")
def without_numba(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder in which all commands ran where numba is not, and what they said on the way."""
    folder = tmp_path_factory.mktemp("commands")
    write_examples(folder / "train.tsv", PAIRS)
    write_examples(folder / "made.tsv", PAIRS[:9])
    (folder / "csl.tsv").write_text("".join(f"{e.source_text}\t{e.target_text}\n" for e in PAIRS[:9]), "utf-8")
    commands = [
        ["train", "train.tsv", "--synthetic", "made.tsv", "--dev", "made.tsv", "--out", "run", *settings(TINY)],
        ["predict", "run", "made.tsv", "--out", "t5.tsv", "--beams", "2", "-k", "2", "--scores"],
        ["evaluate", "t5.tsv", "made.tsv"],
        ["evaluate", "run", "made.tsv"],
        ["ensemble", "csl.tsv", "t5.tsv", "--test", "made.tsv", "--out", "both.tsv"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA], input="\n".join("\t".join(command) for command in commands),
        cwd=folder, env=ONE_THREAD, timeout=120, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, done.stderr


def test_training_and_all_that_follows_runs_without_numba(without_numba: tuple[Path, str]) -> None:
    folder, _ = without_numba
    assert (folder / "both.tsv").read_text("utf-8") == (folder / "csl.tsv").read_text("utf-8")
    columns = [line.split("\t") for line in (folder / "t5.tsv").read_text("utf-8").splitlines()]
    assert [row[0] for row in columns] == [pair.source_text for pair in PAIRS[:9]]
    assert {len(row) for row in columns} == {5}


def test_the_library_keeps_quiet(without_numba: tuple[Path, str]) -> None:
    assert "transformers" not in without_numba[1]
    assert "Warning" not in without_numba[1]
