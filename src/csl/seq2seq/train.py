"""Training on original and synthetic pairs (paper, "Data Augmentation" and "T5 Fine-Tuning").

Batches and dropout are functions of seed and step: a training that resumes from a checkpoint gives the same weights as
one that was never stopped. With several processes all compute; only the main one logs, reports and saves.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from accelerate import Accelerator

from csl.errors import CslError, InputError
from csl.examples import Example
from csl.examples.score import correct
from csl.seq2seq.adapters import Adapters
from csl.seq2seq.architectures import is_decoder
from csl.seq2seq.batches import Batches, Encoded, lengths_of
from csl.seq2seq.checkpoint import Checkpoint, Tensors, optimizer_state, set_optimizer_state, set_weights, weights_of
from csl.seq2seq.codec import Codec, PromptCodec, new_codec
from csl.seq2seq.config import SCRATCH, TrainConfig
from csl.seq2seq.following import choose
from csl.seq2seq.loss import packable
from csl.seq2seq.network import new_network
from csl.seq2seq.packing import Packer
from csl.seq2seq.predictor import Seq2Seq, choose_device, enough_memory
from csl.seq2seq.update import Updater, micro_batches, own_stream

PROGRESS = 15  # the level of log lines that show how far the training is
REPORT = 50  # steps between reports
LOG = logging.getLogger("csl.train")


@dataclass(frozen=True)
class Progress:
    """What is known after a step: the mean loss since the last report, and the accuracy on dev if it was measured."""

    step: int
    loss: float
    steps_per_second: float
    dev: float | None = None


@dataclass(frozen=True)
class Trained:
    """A trained model, the step its weights are from, and their accuracy on dev."""

    model: Seq2Seq
    step: int
    dev: float | None


@dataclass(frozen=True)
class _Best:
    """The weights with the best accuracy on dev so far; of equal ones, the last."""

    dev: float
    step: int
    weights: Tensors


class Training:
    """A model and its batches: `Training(examples, config).run()` trains it."""

    def __init__(
        self,
        examples: Iterable[Example],
        config: TrainConfig | None = None,
        *,
        synthetic: Iterable[Example] = (),
        dev: Iterable[Example] = (),
        device: str = "auto",
    ) -> None:
        config = config or TrainConfig()
        if config.model == SCRATCH and config.lora:
            raise InputError("lora adapts a pretrained model: give one with model, or remove the option lora")
        original, made, self._dev = list(examples), list(synthetic), list(dev)
        if not original and not made:
            raise InputError("no examples to train on")
        if config.model != SCRATCH and is_decoder(config.model):
            config = config.for_decoder()
        self._config, self._accelerator = config, new_accelerator(config, device)
        self._device = self._accelerator.device
        codec = new_codec(config, (text for e in (*original, *made) for text in (e.source_text, e.target_text)))
        if codec.swaps:
            LOG.info(f"swapped, as the tokenizer lacks them: {' '.join(codec.swaps)}")
        self._model = Seq2Seq(new_network(config, len(codec.tokenizer)), codec, config, self._device)
        parts = encode(codec, original, "original"), encode(codec, made, "synthetic")
        pad, left = codec.tokenizer.pad_token_id or 0, isinstance(codec, PromptCodec)
        self._batches = Batches(*parts, config.synthetic, config.batch_size, config.seed, pad, left=left)
        network = self._model.network
        size = f"{sum(parameter.numel() for parameter in network.parameters()):,} parameters"
        self._adapters = Adapters(network, config.lora, config.seed) if config.lora else None
        if self._adapters:
            size += f", {sum(weight.numel() for weight in weights_of(network).values()):,} in adapters"
        LOG.info(f"{config.model}: {size} on {self._device.type}")

    def run(
        self, checkpoint: Checkpoint | None = None, progress: Callable[[Progress], None] = lambda report: None
    ) -> Trained:
        """Train to the last step, from the last checkpoint on; keep the best weights on dev, or the last ones.

        The main process gives `progress` a report every `REPORT` steps and at every evaluation.
        """
        passed = self._config.micro_batch_size or self._config.batch_size
        with own_stream(self._device), enough_memory(f"micro_batch_size, now {passed}, or max_target"):
            return self._run(checkpoint, progress if self._accelerator.is_main_process else lambda report: None)

    def _run(self, checkpoint: Checkpoint | None, progress: Callable[[Progress], None]) -> Trained:
        config, network = self._config, self._model.network
        update = Updater(network, config, self._accelerator, self._packer())
        state = checkpoint.load() if checkpoint else None
        step, best = self._restore(update, *state) if state else (0, None)
        network.train()
        last, clock = step, time.perf_counter()
        while step < config.steps:
            if config.candidates > 1 and step and step % config.evaluate_every == 0:
                self._follow(step)
            update(self._batches[step], step)
            step += 1
            evaluated = step % config.evaluate_every == 0 or step == config.steps
            if not evaluated and step % REPORT:
                continue
            loss = update.take_loss(step - last)
            if not math.isfinite(loss):
                raise CslError(f"the loss is not a number after step {step:,}; lower learning_rate or raise warmup")
            speed = (step - last) / (time.perf_counter() - clock)
            report = Progress(step, round(loss, 6), round(speed, 2), self._accuracy() if evaluated else None)
            self._log(report)
            progress(report)
            if evaluated:
                if report.dev is not None and (best is None or report.dev >= best.dev):
                    weights = {name: w.detach().to("cpu", copy=True) for name, w in weights_of(network).items()}
                    best = _Best(report.dev, step, weights)
                if checkpoint and step < config.steps and self._accelerator.is_main_process:
                    self._save(checkpoint, update, step, best)
                network.train()
            last, clock = step, time.perf_counter()
        if best and best.step < step:
            set_weights(network, best.weights)
        if self._adapters:
            self._adapters.merge()
        return Trained(self._model, best.step if best else step, best.dev if best else None)

    def _follow(self, step: int) -> None:
        """Choose the synthetic pairs up to the next evaluation by the loss of the model as it is now."""
        from accelerate.utils import gather_object

        config, processes = self._config, self._accelerator.num_processes
        pool = self._batches.synthetic(step, min(step + config.evaluate_every, config.steps), config.candidates)
        if not len(pool):
            return
        own = pool[self._accelerator.process_index :: processes]
        losses = np.empty(len(pool))
        order = np.concatenate([np.arange(len(pool))[k::processes] for k in range(processes)])
        losses[order] = gather_object([-log_prob for log_prob in self._model.log_probs(self._batches.pairs(own))])
        chosen = choose(losses, len(pool) // config.candidates, np.random.default_rng((config.seed, 2, step)))
        self._batches.choose(step, pool[chosen])
        LOG.info(f"synthetic pairs: loss {losses.mean():.2f}, of those chosen {losses[chosen].mean():.2f}")
        self._model.network.train()

    def _packer(self) -> Packer | None:
        """Give what packs the batches, where the network lets pairs share a row."""
        if not packable(self._model.network):
            return None  # BART and others; decoders
        return Packer.of(self._batches, micro_batches(self._config, self._device, self._config.batch_size))

    def _accuracy(self) -> float | None:
        """Predict the inputs of dev, each process its share, and give the accuracy."""
        from accelerate.utils import gather_object

        if not self._dev:
            return None
        own = self._dev[self._accelerator.process_index :: self._accelerator.num_processes]
        outputs = self._model.predict([example.source_text for example in own])
        right = correct(own, [found[0].text for found in outputs])
        return sum(gather_object(right)) / len(self._dev)

    def _log(self, report: Progress) -> None:
        line = f"step {report.step:,} of {self._config.steps:,}: loss {report.loss:.4f}"
        line += f", {report.steps_per_second:.1f} steps a second"
        if report.dev is None:
            LOG.log(PROGRESS, line)
        else:
            LOG.info(f"{line}, dev {report.dev:.1%}")

    def _save(self, checkpoint: Checkpoint, update: Updater, step: int, best: _Best | None) -> None:
        state, numbers = optimizer_state(update.optimizer)
        kept = best.weights if best and best.step < step else {}
        parts = {"weight": weights_of(self._model.network), "optimizer": state, "best": kept}
        tensors = {f"{part}/{name}": tensor for part, values in parts.items() for name, tensor in values.items()}
        checkpoint.save(tensors, {"step": step, "best": best and [best.dev, best.step], "numbers": numbers})

    def _restore(self, update: Updater, tensors: Tensors, about: dict[str, Any]) -> tuple[int, _Best | None]:
        """Put a state back; give its step and the best weights up to it."""
        parts: dict[str, Tensors] = {"weight": {}, "optimizer": {}, "best": {}}
        for key, tensor in tensors.items():
            part, _, name = key.partition("/")
            parts[part][name] = tensor
        set_weights(self._model.network, parts["weight"])
        set_optimizer_state(update.optimizer, parts["optimizer"], about["numbers"])
        LOG.info(f"resuming after step {about['step']:,}")
        if about["best"] is None:
            return about["step"], None
        dev, step = about["best"]
        return about["step"], _Best(dev, step, parts["best"] or parts["weight"])


def new_accelerator(config: TrainConfig, device: str) -> Accelerator:
    """Join the processes of this training; precision is our own option."""
    accelerator = Accelerator(cpu=choose_device(device).type == "cpu", mixed_precision="no")
    LOG.disabled = not accelerator.is_main_process
    if config.batch_size < accelerator.num_processes:
        raise InputError(
            f"batch_size {config.batch_size} is less than one pair for each of {accelerator.num_processes} processes"
        )
    return accelerator


def encode(codec: Codec, examples: Sequence[Example], name: str) -> Encoded:
    """Give the ids of examples; warn of those that may be truncated."""
    sources = codec.encode_sources([e.source_text for e in examples])
    targets = codec.encode_targets([e.target_text for e in examples])
    for side, ids, limit in (("inputs", sources, codec.max_source), ("outputs", targets, codec.max_target)):
        if full := int((lengths_of(ids) >= limit).sum()):
            LOG.warning(
                f"{full:,} {name} {side} reach the limit of {limit} tokens and may be cut: see max_source, max_target"
            )
    return Encoded(sources, targets)
