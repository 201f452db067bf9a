"""Training on original and synthetic pairs, in a run folder (paper, "Data Augmentation" and "T5 Fine-Tuning").

train.json               the options, sizes, and how it ended
metrics.jsonl            one line every `LOG` steps and at every test on dev
model/                   the best weights on dev, or the last ones without dev; Hugging Face's classes load it
checkpoint.safetensors   where an unfinished training stands; checkpoint.previous.safetensors is the one before, in case
                         it is damaged, and best.safetensors has its best weights. They go at the end

A training that is stopped goes on with the same batches and the same dropout: both are functions of seed and step.
"""

import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from csl import __version__
from csl.errors import CslError, InputError
from csl.examples import Example
from csl.examples.score import same_output
from csl.files import hash_folder, link, make_folder, read_json, write_json, write_text
from csl.lock import folder_lock
from csl.seq2seq import checkpoint
from csl.seq2seq.batches import Batches, Encoded, lengths_of
from csl.seq2seq.codec import Codec, new_codec
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.network import new_network
from csl.seq2seq.predictor import Seq2Seq, choose_device, enough_memory
from csl.seq2seq.update import Updater, own_stream

if TYPE_CHECKING:
    from accelerate import Accelerator

LOG = 50  # steps between lines of metrics
OLD = ("model", "tensorboard")  # folders of a training before, where it starts over


@dataclass(frozen=True)
class Progress:
    """What is known after a step: the mean loss of the last steps, and the accuracy on dev if it was tested."""

    step: int
    loss: float
    steps_per_second: float
    dev: float | None = None


def train(
    examples: Iterable[Example],
    folder: Path | str,
    config: TrainConfig | None = None,
    *,
    synthetic: Iterable[Example] = (),
    dev: Iterable[Example] = (),
    device: str = "auto",
    resume: bool = True,
    tensorboard: bool = False,
    about: dict[str, object] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[Progress], None] = lambda report: None,
) -> Seq2Seq:
    """Train a model into a run folder, or load it if it is there already: `csl.train(examples, "run").predict([…])`.

    A folder that holds the same training is continued (unless `resume` is off), one that holds another is refused.
    `say` hears what is found out about the data, `progress` every line of metrics.
    """
    from accelerate import Accelerator

    config = config or TrainConfig()
    examples, synthetic, dev = list(examples), list(synthetic), list(dev)  # each is looked through more than once
    if not examples and not synthetic:
        raise InputError("no examples to train on")
    accelerator = Accelerator(cpu=choose_device(device).type == "cpu", mixed_precision="no")  # precision is our option
    say = say if accelerator.is_main_process else lambda line: None
    progress = progress if accelerator.is_main_process else lambda report: None
    if config.batch_size < accelerator.num_processes:
        raise InputError(
            f"batch_size {config.batch_size} is less than one pair for each of {accelerator.num_processes} processes"
        )
    run = _Run(Path(folder), config, _fingerprint(config, examples, synthetic, dev), accelerator, tensorboard)
    with folder_lock(folder) if accelerator.is_main_process else nullcontext():
        if run.finished(resume):
            say(f"{folder} holds this model already; --no-resume trains it anew")
            return Seq2Seq.load(run.folder, device)
        return _train(run, examples, synthetic, dev, about or {}, say, progress)


def _train(
    run: "_Run",
    examples: Sequence[Example],
    synthetic: Sequence[Example],
    dev: Sequence[Example],
    about: dict[str, object],
    say: Callable[[str], None],
    progress: Callable[[Progress], None],
) -> Seq2Seq:
    config, device = run.config, run.accelerator.device
    codec = new_codec(config, (text for e in (*examples, *synthetic) for text in (e.source_text, e.target_text)))
    if codec.swaps:
        say(f"swapped, as the tokenizer lacks them: {' '.join(codec.swaps)}")
    network = new_network(config, len(codec.tokenizer))
    model = Seq2Seq(network, codec, config, device)
    original, made = (encode(codec, *part, say) for part in ((examples, "original"), (synthetic, "synthetic")))
    batches = Batches(
        original, made, config.synthetic, config.batch_size, config.seed, codec.tokenizer.pad_token_id or 0
    )
    run.begin(about)
    say(f"{config.model}: {sum(p.numel() for p in network.parameters()):,} parameters on {device.type}")
    with own_stream(device), enough_memory(f"piece, now {config.piece or config.batch_size}, or max_target"):
        run.fit(model, batches, dev, say, progress)
    return model


def encode(codec: Codec, examples: Sequence[Example], name: str, say: Callable[[str], None]) -> Encoded:
    """Give the ids of examples, and say how many may be cut."""
    sources = codec.encode_sources([e.source_text for e in examples])
    targets = codec.encode_targets([e.target_text for e in examples])
    for side, ids, limit in (("inputs", sources, codec.max_source), ("outputs", targets, codec.max_target)):
        if full := int((lengths_of(ids) >= limit).sum()):
            say(f"{full:,} {name} {side} reach the limit of {limit} tokens and may be cut: see max_source, max_target")
    return Encoded(sources, targets)


def _fingerprint(config: TrainConfig, *parts: Iterable[Example]) -> str:
    """Hash all that the weights depend on."""
    digest = hashlib.sha256(config.model_dump_json().encode())
    if Path(config.model).is_dir():
        digest.update(json.dumps(hash_folder(Path(config.model), deep=False)).encode())
    for number, examples in enumerate(parts):
        for e in examples:
            digest.update(f"{number} {e.source_text}\t{e.target_text}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class _Run:
    """A training and its folder; with several processes all compute, and the main one writes."""

    def __init__(
        self, folder: Path, config: TrainConfig, mark: str, accelerator: "Accelerator", tensorboard: bool
    ) -> None:
        self.folder, self.config, self._mark, self.accelerator = folder, config, mark, accelerator
        self._main = accelerator.is_main_process
        self._states = [folder / f"{name}.safetensors" for name in ("checkpoint", "checkpoint.previous", "best")]
        self._checkpoint, self._previous, self._best = self._states
        self._metrics: list[str] = []
        self._best_dev: tuple[float, int] | None = None  # accuracy, step
        self._damaged = False  # the checkpoint that is there
        self._board: Any = None
        self._tensorboard = tensorboard

    def finished(self, resume: bool) -> bool:
        """Tell whether the folder holds the model of this run; refuse one that holds something else."""
        path, model = self.folder / "train.json", self.folder / "model"
        if Path(self.config.model).resolve().is_relative_to(model.resolve()):
            raise InputError(
                "is where training starts, and would be written over; name another folder with --out", model
            )
        self._new = not (resume and path.exists())
        if path.exists():
            self._check(path, same=resume)
            return resume and model.is_dir()
        names = ("config.json", "metrics.jsonl", *OLD, *(path.name for path in self._states))
        if other := next((name for name in names if (self.folder / name).exists()), None):
            raise InputError(f"holds {other!r}, which is not of a training; name another with --out", self.folder)
        return False

    def begin(self, about: dict[str, object]) -> None:
        """Make the folder ready."""
        make_folder(self.folder)
        if self._main:
            if self._new:
                for path in (self.folder / "metrics.jsonl", *self._states):
                    path.unlink(missing_ok=True)
                for old in OLD:
                    shutil.rmtree(self.folder / old, ignore_errors=True)
            self._about = {"csl": __version__, "fingerprint": self._mark, "train": self.config.model_dump(), **about}
            write_json(self.folder / "train.json", self._about)
        self.accelerator.wait_for_everyone()

    def _check(self, path: Path, *, same: bool) -> None:
        """Refuse a folder that holds no training or, if it has to be the same, another; say what differs."""
        try:
            found = read_json(path)
            old, mark = dict(found["train"]), found["fingerprint"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError("not the config of a training; name another folder with --out", path) from error
        if same and mark != self._mark:
            new = self.config.model_dump()
            other = [f"{key} = {old.get(key)}" for key in new if old.get(key) != new[key]] or ["other data"]
            raise InputError(f"holds another training ({', '.join(other)}); name another, or --no-resume", self.folder)

    def fit(
        self, model: Seq2Seq, batches: Batches, dev: Sequence[Example],
        say: Callable[[str], None], progress: Callable[[Progress], None],
    ) -> None:  # fmt: skip
        """Update to the last step, then leave the best weights in the network and in the folder."""
        config = self.config
        if self._tensorboard and self._main:
            self._board = _board(self.folder / "tensorboard")
        update = Updater(model.network, config, self.accelerator)
        start = self._load(model, update, say)
        if start:
            say(f"going on after step {start:,}")
        last, clock = start, time.perf_counter()
        model.network.train()
        for step in range(start, config.steps):
            update(batches[step], step)
            done = step + 1
            tested = done % config.evaluate_every == 0 or done == config.steps
            if not tested and done % LOG:
                continue
            loss = update.take_loss(done - last)
            if not math.isfinite(loss):
                raise CslError(f"the loss is not a number after step {done:,}; lower learning_rate or raise warmup")
            speed = (done - last) / (time.perf_counter() - clock)
            accuracy = self._test(model, dev) if tested and dev else None
            report = Progress(done, round(loss, 6), round(speed, 2), accuracy)
            self._log(report)
            progress(report)
            if tested:
                self._save(model, update, report)
                model.network.train()
            last, clock = done, time.perf_counter()
        self._finish(model)

    def _test(self, model: Seq2Seq, dev: Sequence[Example]) -> float:
        """Predict the inputs of dev, each process its share, and give the accuracy."""
        from accelerate.utils import gather_object

        own = dev[self.accelerator.process_index :: self.accelerator.num_processes]
        written = model.predict([e.source_text for e in own])
        right = [same_output(p[0].text, e.target_text) for p, e in zip(written, own, strict=True)]
        return sum(gather_object(right)) / len(dev)

    def _log(self, report: Progress) -> None:
        values = {key: value for key, value in asdict(report).items() if value is not None}
        self._metrics.append(json.dumps(values))
        if self._main:
            write_text(self.folder / "metrics.jsonl", "\n".join(self._metrics) + "\n")
        if self._board:
            for key, value in values.items():
                self._board.add_scalar(key, value, report.step)
            self._board.flush()

    def _save(self, model: Seq2Seq, update: Updater, report: Progress) -> None:
        better = report.dev is not None and (
            self._best_dev is None or report.dev >= self._best_dev[0]
        )  # of equals the last
        if better and report.dev is not None:
            self._best_dev = report.dev, report.step
        if self._main and report.step < self.config.steps:
            weights = checkpoint.weights_of(model.network)
            if better:
                checkpoint.save_tensors(self._best, weights, {"step": report.step})
            state, numbers = checkpoint.optimizer_state(update.optimizer)
            about = {
                "step": report.step,
                "best": self._best_dev,
                "numbers": numbers,
                "metrics": self._metrics,
                "fingerprint": self._mark,
            }
            tensors = {f"w/{name}": t for name, t in weights.items()} | {f"o/{name}": t for name, t in state.items()}
            if self._checkpoint.exists() and not self._damaged:
                link(self._checkpoint, self._previous)
            checkpoint.save_tensors(self._checkpoint, tensors, about)
            self._damaged = False

    def _load(self, model: Seq2Seq, update: Updater, say: Callable[[str], None]) -> int:
        """Put the state of the last checkpoint back; give its step."""
        damage = None
        for path in (self._checkpoint, self._previous):
            if not path.exists():
                continue
            try:
                tensors, about = checkpoint.load_tensors(path)
            except checkpoint.DamagedError as error:
                damage = damage or error
                continue
            if damage:
                say(f"{self._checkpoint}: damaged file; the state before, {path.name}, is taken")
                self._damaged = True
            return self._put_back(path, tensors, about, model, update, say)
        if damage:
            raise damage
        return 0

    def _put_back(
        self, path: Path, tensors: checkpoint.Weights, about: dict[str, Any], model: Seq2Seq, update: Updater,
        say: Callable[[str], None],
    ) -> int:  # fmt: skip
        if about.get("fingerprint") != self._mark:
            raise InputError("of another training; start over with --no-resume", path)
        parts: dict[str, checkpoint.Weights] = {"w": {}, "o": {}}
        for key, tensor in tensors.items():
            kind, _, name = key.partition("/")
            parts[kind][name] = tensor
        checkpoint.set_weights(model.network, parts["w"])
        checkpoint.set_optimizer_state(update.optimizer, parts["o"], about["numbers"])
        self._best_dev = tuple(about["best"]) if about["best"] else None
        if self._best_dev:
            try:
                checkpoint.load_tensors(self._best)
            except checkpoint.DamagedError:
                say(f"{self._best}: damaged or missing file; the best of the steps to come is kept")
                self._best_dev = None
        self._metrics = list(about["metrics"])
        return int(about["step"])

    def _finish(self, model: Seq2Seq) -> None:
        """Keep the best weights, as the model of the folder."""
        best = self._best_dev
        if best and best[1] < self.config.steps:
            checkpoint.set_weights(model.network, checkpoint.load_tensors(self._best)[0])
        self.accelerator.wait_for_everyone()
        if self._main:
            partial = self.folder / ".model.partial"
            shutil.rmtree(partial, ignore_errors=True)
            try:
                model.save(partial)
                result = {"step": best[1] if best else self.config.steps, "dev": best[0] if best else None}
                write_json(self.folder / "train.json", {**self._about, "result": result})
                partial.rename(self.folder / "model")  # last: a folder with a model is finished
            finally:
                shutil.rmtree(partial, ignore_errors=True)
            for path in self._states:
                path.unlink(missing_ok=True)
        self.accelerator.wait_for_everyone()


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise InputError("--tensorboard needs the package tensorboard: pip install tensorboard") from error
    return SummaryWriter(str(folder))
