"""Training learns, resumes as if it had never stopped, keeps the best weights, and reports what is wrong."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState

from csl.errors import CslError, InputError, LimitWarning
from csl.examples import Example, write_examples
from csl.seq2seq.checkpoint import Tensors
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.predictor import Prediction, Seq2Seq
from csl.seq2seq.train import Progress, Trained, Training

from .conftest import PAIRS, TINY, changed, make_bart
from .decoders import words_decoder

DEV = PAIRS[::10]
LONG = changed(TINY, steps=12, evaluate_every=4)
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(autouse=True)
def _report_every_step(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("csl.seq2seq.train.REPORT", 1)
    caplog.set_level(logging.INFO, "csl.train")


class Memory:
    """A checkpoint that is only remembered."""

    def __init__(self) -> None:
        self.state: tuple[Tensors, dict[str, Any]] | None = None

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        return self.state and (copied(self.state[0]), self.state[1])

    def save(self, tensors: Tensors, about: Mapping[str, object]) -> None:
        self.state = copied(tensors), json.loads(json.dumps(about))

    def remove(self) -> None:
        self.state = None


def copied(tensors: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


class Killed(BaseException):
    pass


class Result:
    """What a training gives."""

    def __init__(self, trained: Trained, reports: list[Progress]) -> None:
        self.model, self.best, self.reports = trained.model, (trained.step, trained.dev), reports
        self.curve = [(r.step, r.loss, r.dev) for r in reports]
        self.weights = {name: weight.clone() for name, weight in trained.model.network.state_dict().items()}

    def same_weights(self, other: "Result") -> bool:
        return all(torch.equal(weight, other.weights[name]) for name, weight in self.weights.items())


def run(
    config: TrainConfig = TINY,
    examples: Iterable[Example] = PAIRS,
    checkpoint: Memory | None = None,
    kill: int = 0,
    **parts: Any,
) -> Result:
    reports: list[Progress] = []

    def progress(report: Progress) -> None:
        reports.append(report)
        if report.step == kill:
            raise Killed

    return Result(Training(examples, config, **parts).run(checkpoint, progress), reports)


def accuracy(model: Seq2Seq, pairs: Sequence[Example]) -> float:
    found = model.predict([pair.source_text for pair in pairs])
    return sum(p[0].text == e.target_text for p, e in zip(found, pairs, strict=True)) / len(pairs)


# learning


def test_two_layers_learn_fifty_pairs_by_heart(learned: Path) -> None:
    assert len(set(PAIRS)) == 50
    assert accuracy(Seq2Seq.load(learned), PAIRS) == 1


def test_a_pretrained_model_learns_characters_that_its_tokenizer_lacks(
    pretrained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pairs = [Example.of(*pair) for pair in (("all", "{ }"), ("less", "a<b"), ("none", "~ ^"), ("in", "x \\in y"))]
    options = {"steps": 250, "evaluate_every": 50, "batch_size": 8, "learning_rate": 0.005, "warmup": 5, "dropout": 0.0}
    config = TrainConfig(model=str(pretrained), max_target=12, **options)
    result = run(config, pairs, dev=pairs)
    result.model.save(tmp_path)
    assert accuracy(result.model, pairs) == accuracy(Seq2Seq.load(tmp_path), pairs) == 1
    assert any("swapped" in line and "{" in line for line in caplog.messages)
    before = Training(pairs, config)._model.network.state_dict()
    assert not any(torch.equal(result.weights[name], before[name]) for name in ("shared.weight", "lm_head.weight"))


def test_a_model_whose_outputs_begin_with_a_token_learns_without_its_old_habits(tmp_path: Path) -> None:
    """As BART: `<s>` is part of what it learns to write, and its checkpoint says to begin so, and not to repeat."""
    make_bart(tmp_path)
    pairs = [Example.of(f"{n} {w}", " ".join([w] * k)) for w in "abcd" for k, n in enumerate(("once", "four"), 1)]
    pairs += [Example.of(f"many {w}", " ".join([w] * 7)) for w in "abcd"]
    options = {"steps": 150, "batch_size": 12, "dropout": 0, "warmup": 10, "learning_rate": 0.005, "prefix": ""}
    model = run(changed(TINY, model=str(tmp_path), **options), pairs).model
    assert accuracy(model, pairs) == 1
    assert model.predict(["many b"], beams=3, scores=True)[0][0].log_prob == pytest.approx(0, abs=0.1)


def test_dropout_is_on_from_the_first_step(pretrained: Path) -> None:
    one, other = (run(changed(TINY, model=str(pretrained), dropout=dropout, steps=1)) for dropout in (0.5, 0.0))
    assert one.curve != other.curve


@pytest.mark.parametrize(("share", "expected"), [(0.0, "A"), (1.0, "B")])
def test_the_share_decides_what_is_learned(share: float, expected: str) -> None:
    config = changed(TINY, synthetic=share, steps=60, learning_rate=0.02, evaluate_every=60, dropout=0)
    result = run(config, [Example.of("x", "A")], synthetic=[Example.of("x", "B")])
    assert result.model.predict(["x"])[0][0].text == expected


@pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
def test_bf16_learns_on_the_cpu(optimizer: str) -> None:
    config = changed(TINY, precision="bf16", optimizer=optimizer, steps=40, evaluate_every=20, learning_rate=0.01)
    result = run(config)
    losses = [report.loss for report in result.reports]
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
    assert {weight.dtype for weight in result.weights.values()} == {torch.float32}


def test_settings_of_accelerate_do_not_change_the_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for precision in ("no", "bf16"):
        monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", precision)
        AcceleratorState._reset_state(reset_partial_state=True)  # it is kept for the whole process
        results.append(run(changed(TINY, precision="fp32")))
    assert results[0].same_weights(results[1])


def test_pairs_may_come_one_by_one() -> None:
    parts = {"synthetic": PAIRS[:5], "dev": DEV}
    lists, streams = run(**parts), run(TINY, iter(PAIRS), **{name: iter(part) for name, part in parts.items()})
    assert lists.curve == streams.curve
    assert lists.same_weights(streams)


def test_the_same_training_gives_the_same_weights_and_another_seed_others() -> None:
    one, again, other = (run(changed(TINY, seed=seed)) for seed in (0, 0, 1))
    assert one.same_weights(again)
    assert one.curve == again.curve != other.curve


def test_reports_have_means_over_the_steps_since_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    config = changed(TINY, steps=7, evaluate_every=5)
    losses = [report.loss for report in run(config).reports]
    monkeypatch.setattr("csl.seq2seq.train.REPORT", 3)
    some = run(config).reports
    assert [report.step for report in some] == [3, 5, 6, 7]
    expected = [sum(losses[:3]) / 3, sum(losses[3:5]) / 2, losses[5], losses[6]]
    assert [report.loss for report in some] == pytest.approx(expected, abs=1e-5)


# the best weights


def scripted(monkeypatch: pytest.MonkeyPatch, values: Sequence[float]) -> None:
    """Let the evaluations on dev give these accuracies, one every 4 steps, whatever is predicted."""
    calls = iter(values)
    monkeypatch.setattr("csl.seq2seq.train.Training._accuracy", lambda training: next(calls))


@pytest.mark.parametrize(
    ("values", "best"),
    [((0.2, 0.7, 0.5), 8), ((0.9, 0.1, 0.2), 4), ((0.1, 0.2, 0.3), 12), ((0.0, 0.5, 0.5), 12), ((0.5, 0.5, 0.1), 8)],
)
@pytest.mark.parametrize("stop", [False, True])
def test_the_last_best_weights_are_kept(
    stop: bool, values: tuple[float, ...], best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    until, checkpoint = run(changed(LONG, steps=best)), Memory()
    scripted(monkeypatch, values)
    if stop:
        with pytest.raises(Killed):
            run(LONG, checkpoint=checkpoint, kill=9)
    found = run(LONG, checkpoint=checkpoint)
    assert found.same_weights(until)
    assert found.best == (best, max(values))


def test_without_dev_the_last_weights_are_kept() -> None:
    assert run(TINY, [], synthetic=PAIRS).best == (TINY.steps, None)  # synthetic pairs are enough


def test_accuracy_on_dev_is_that_of_the_predictions_but_for_white_space(monkeypatch: pytest.MonkeyPatch) -> None:
    written = {"x": "f ( a )", "y": "b", "z": ""}
    monkeypatch.setattr(Seq2Seq, "predict", lambda model, inputs: [[Prediction(written[x])] for x in inputs])
    dev = [Example.of(*pair) for pair in (("x", "f(a)"), ("y", "b"), ("x", "f ( b )"), ("z", "b"), ("y", "b b"))]
    assert [report.dev for report in run(dev=dev).reports if report.dev is not None] == [0.4] * 3


# resuming


@pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
@pytest.mark.parametrize("stops", [(2,), (6,), (8,), (12,), (5, 9, 10)])
def test_a_stopped_training_resumes_as_if_it_had_not_stopped(
    stops: tuple[int, ...], optimizer: str, caplog: pytest.LogCaptureFixture
) -> None:
    config, checkpoint = changed(LONG, optimizer=optimizer), Memory()
    assert config.dropout > 0
    options = {"dev": DEV, "synthetic": PAIRS[:20]}
    whole = run(config, **options)
    for step in stops:
        with pytest.raises(Killed):
            run(config, checkpoint=checkpoint, kill=step, **options)
    caplog.clear()
    resumed = run(config, checkpoint=checkpoint, **options)
    saved = (stops[-1] - 1) // 4 * 4  # a report comes before the checkpoint of its step
    assert [line for line in caplog.messages if "resuming" in line] == [f"resuming after step {saved}"] * bool(saved)
    assert resumed.curve == whole.curve[saved:]
    assert resumed.same_weights(whole)


def test_pairs_chosen_by_their_loss_are_chosen_again_when_it_resumes(caplog: pytest.LogCaptureFixture) -> None:
    config, checkpoint, options = changed(LONG, candidates=3), Memory(), {"synthetic": PAIRS[:20]}
    whole = run(config, **options)
    chosen = [line for line in caplog.messages if line.startswith("synthetic pairs: loss")]
    assert len(chosen) == 2  # after steps 4 and 8; the first steps take the stream as it is
    for stop in (6, 10):
        with pytest.raises(Killed):
            run(config, checkpoint=checkpoint, kill=stop, **options)
    resumed = run(config, checkpoint=checkpoint, **options)
    assert resumed.curve == whole.curve[8:]
    assert resumed.same_weights(whole)
    plain = run(LONG, **options)
    assert plain.curve[:4] == whole.curve[:4]
    assert plain.curve[4:] != whole.curve[4:]
    assert run(config).same_weights(run(LONG))  # without synthetic pairs there is nothing to choose


# what is wrong


def test_a_loss_that_is_not_a_number_ends_it() -> None:
    config, seen = changed(TINY, learning_rate=1e30, steps=50, evaluate_every=50), list[Progress]()
    with pytest.raises(CslError, match=r"step \d+; lower learning_rate") as caught:
        Training(PAIRS, config).run(progress=seen.append)
    assert f"step {len(seen) + 1};" in str(caught.value)


def test_texts_that_reach_the_limit_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    config = changed(TINY, max_source=8, max_target=5)
    long = Example.of("b", "A " * 9)
    run(config, [Example.of("a b", "A B"), Example.of("a b c d e f g", "A B C D")], synthetic=[long])
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    for line, start in zip(warned, ("1 original inputs", "1 original outputs", "1 synthetic outputs"), strict=True):
        assert line.startswith(start)
        assert "max_source" in line


def test_inputs_longer_than_a_model_has_positions_for_are_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_bart(tmp_path, max_position_embeddings=16)
    pairs = [Example.of(" ".join("ab" * 20), " ".join("cd" * 20)), Example.of("a", "b")]
    model = run(changed(TINY, model=str(tmp_path), prefix=""), pairs).model
    assert any(line.startswith("1 original inputs") and "16 tokens" in line for line in caplog.messages)
    with pytest.warns(LimitWarning, match="1 of 2 inputs"):
        found = model.predict([pair.source_text for pair in pairs])
    assert all(len(p[0].text.split()) <= 16 for p in found)


def test_bad_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no examples"):
        Training([], TINY)
    with pytest.raises(InputError, match="</s>"):
        Training([Example.of("a </s> b", "A")], TINY)
    for device in ("warp", "cuda:77"):
        with pytest.raises(InputError, match=device):
            Training(PAIRS, TINY, device=device)
    monkeypatch.setattr("accelerate.Accelerator.num_processes", property(lambda self: 5))
    with pytest.raises(InputError, match=r"batch_size 4 .* 5 processes"):
        Training(PAIRS, TINY)


# as a command


def settings(config: TrainConfig) -> list[str]:
    values = {key: value for key, value in config.model_dump().items() if key not in ("model", "prefix", "seed")}
    return ["--seed", str(config.seed), *(f"--set={k}={value}" for k, value in values.items() if value is not None)]


THREADS_LEFT = """
import runpy
from pathlib import Path

try:
    runpy.run_module("csl", run_name="__main__", alter_sys=True)
finally:
    print("left:", sorted(name.read_text().strip() for name in Path("/proc/self/task").glob("*/comm")))
"""


@pytest.mark.parametrize("kind", ["encoder-decoder", pytest.param("decoder", marks=pytest.mark.slow)])
def test_two_processes_learn_as_one(kind: str, learned: Path, tmp_path: Path) -> None:
    words = sorted({word for pair in PAIRS for text in (pair.source_text, pair.target_text) for word in text.split()})
    model = words_decoder(tmp_path / "decoder", words) if kind == "decoder" else learned / "model"
    dev = [Example.of(PAIRS[0].source_text, "wrong"), *PAIRS[1:4]]  # the first process has the wrong one
    config = changed(TINY, model=str(model), dropout=0, steps=20, batch_size=5, learning_rate=0.001, synthetic=0.4)
    for name, part in {"train.tsv": PAIRS[20:], "made.tsv": PAIRS[:20], "dev.tsv": dev}.items():
        write_examples(tmp_path / name, part)
    reports: list[Progress] = []
    Training(PAIRS[20:], config, synthetic=PAIRS[:20], dev=dev, device="cpu").run(progress=reports.append)
    (tmp_path / "launched.py").write_text(THREADS_LEFT, "utf-8")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "launched.py"]
    command = ["train", "train.tsv", "--synthetic", "made.tsv", "--dev", "dev.tsv", "--out", "two", "--device", "cpu"]
    command += ["--model", config.model]
    done = subprocess.run(
        [*launch, *command, *settings(config)],
        cwd=tmp_path, env=ONE_THREAD, timeout=240, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    names = {path.name for path in (tmp_path / "two").iterdir()}
    assert names == {"run.json", "recipe.toml", "data", "metrics", "model"}
    one = [asdict(report) for report in reports]
    lines = (tmp_path / "two" / "metrics" / "train.jsonl").read_text("utf-8").splitlines()
    two = [json.loads(line) for line in lines]
    means = [(a["loss"] + b["loss"]) / 2 for a, b in zip(one[::2], one[1::2], strict=True)]
    assert [line["loss"] for line in two] == pytest.approx(means, abs=1e-5)
    assert [(line["step"], line["dev"]) for line in two] == [(line["step"], line["dev"]) for line in one[1::2]]
    assert kind == "decoder" or two[-1]["dev"] == 0.75
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


def test_training_and_all_that_follows_runs_without_numba_and_noise(tmp_path: Path) -> None:
    write_examples(tmp_path / "train.tsv", PAIRS)
    write_examples(tmp_path / "made.tsv", PAIRS[:9])
    (tmp_path / "csl.tsv").write_text("".join(f"{e.source_text}\t{e.target_text}\n" for e in PAIRS[:9]), "utf-8")
    commands = [
        ["train", "train.tsv", "--synthetic", "made.tsv", "--dev", "made.tsv", "--out", "run", *settings(TINY)],
        ["predict", "run", "made.tsv", "--out", "t5.tsv", "--beams", "2", "-k", "2", "--scores"],
        ["evaluate", "t5.tsv", "made.tsv"],
        ["evaluate", "run", "made.tsv"],
        ["ensemble", "csl.tsv", "t5.tsv", "--test", "made.tsv", "--out", "both.tsv"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA], input="\n".join("\t".join(command) for command in commands),
        cwd=tmp_path, env=ONE_THREAD, timeout=240, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "transformers" not in done.stderr
    assert "Warning" not in done.stderr
    assert (tmp_path / "both.tsv").read_text("utf-8") == (tmp_path / "csl.tsv").read_text("utf-8")
    columns = [line.split("\t") for line in (tmp_path / "t5.tsv").read_text("utf-8").splitlines()]
    assert [row[0] for row in columns] == [pair.source_text for pair in PAIRS[:9]]
    assert {len(row) for row in columns} == {5}
