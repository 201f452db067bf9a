"""Training T5-small on a GPU: steps a second of padded batches and of `csl train`, in one run.

    PYTHONPATH=src python benchmarks/training_speed.py [--steps N] [--tiny]

Batches have 128 pairs with the lengths of GeoQuery, half of them synthetic, as T5's tokenizer cuts them; weights are
random, of the sizes of Flan-T5-small. Each way first makes one step in fp32 without dropout, from the same weights: its
loss and the norm of its gradient must be those of the first. Then it trains in bf16 with dropout, and the mean loss of
the timed steps must be the same within a few percent. `--tiny` tries everything on a small network, on a CPU too.
Needs torch, transformers and numpy; on an H200 it takes about a minute.

padded    a pair a row, by the library: the way of `csl train` at first, and now of models like BART
packed    several pairs share a row, in fewer operations: `csl train`
"""

import argparse
import logging
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers import T5Config, T5ForConditionalGeneration

try:
    import pydantic  # noqa: F401
except ModuleNotFoundError:  # the options' defaults are all that is needed of it
    sys.modules["pydantic"] = SimpleNamespace(BaseModel=object, ConfigDict=dict, Field=lambda **_: None)  # type: ignore[assignment]

from csl.seq2seq.batches import Batches, Encoded
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.loss import packable
from csl.seq2seq.packing import Packer
from csl.seq2seq.update import Updater, own_stream

WARM = 64  # steps before the clock starts: shapes come up, and are captured
# tokens of inputs and outputs of GeoQuery, template 1, and of pairs that CSL samples from it
ORIGINAL = [
    (10, 6), (14, 12), (12, 14), (13, 14), (14, 14), (14, 14), (15, 14), (14, 18), (15, 18), (12, 20), (14, 20),
    (13, 21), (13, 21), (15, 21), (13, 22), (14, 25), (15, 25), (15, 25), (17, 26), (13, 27), (14, 28), (15, 28),
    (17, 28), (16, 29), (15, 30), (16, 31), (15, 32), (17, 32), (16, 33), (20, 34), (18, 47),
]  # fmt: skip
SYNTHETIC = [
    (9, 2), (8, 4), (10, 4), (9, 6), (9, 8), (10, 10), (11, 13), (14, 15), (12, 17), (17, 19), (13, 20), (13, 25),
    (15, 25), (12, 26), (19, 26), (16, 28), (16, 30), (18, 30), (16, 33), (17, 35), (21, 36), (14, 38), (17, 39),
    (20, 39), (27, 39), (17, 41), (16, 42), (19, 43), (20, 44), (21, 45), (21, 48), (22, 54), (21, 59),
]  # fmt: skip
OCCURRING = 640  # tokens
SMALL = {"d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_decoder_layers": 8, "num_heads": 6}
TINY = {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2}


def new_config(**options: Any) -> TrainConfig:
    """Give the options of training; without pydantic they are plain attributes."""
    config = TrainConfig()
    for key, value in {"model": "t5", "learning_rate": 3e-4, "warmup": 0, **options}.items():
        object.__setattr__(config, key, value)
    return config


def new_pairs(lengths: list[tuple[int, int]], number: int, ids: np.ndarray, seed: int) -> Encoded:
    """Draw pairs of these lengths; each target is a function of its source, so that there is something to learn."""
    chance = np.random.default_rng(seed)
    sources, targets = [], []
    for pick in chance.integers(0, len(lengths), number):
        s, t = (max(2, length + int(chance.integers(-1, 2))) for length in lengths[pick])
        words = (len(ids) * chance.random(s) ** 3).astype(int)  # few are frequent
        sources.append([*ids[words[:-1]], 1])
        targets.append([*ids[(7 * words[np.arange(t - 1) % s] + 3) % len(ids)], 1])
    return Encoded(sources, targets)


def new_batches(size: int, vocabulary: int) -> Batches:
    """Give batches with `OCCURRING` tokens of a vocabulary."""
    ids = 3 + np.arange(OCCURRING - 3) * ((vocabulary - 3) // (OCCURRING - 3))
    return Batches(new_pairs(ORIGINAL, 440, ids, 1), new_pairs(SYNTHETIC, 6000, ids, 2), 0.5, size, 0, 0)


def new_network(sizes: dict[str, int], vocabulary: int, dropout: float, device: torch.device) -> Any:
    torch.manual_seed(0)
    options = {"feed_forward_proj": "gated-gelu", "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = T5Config(vocab_size=vocabulary, dropout_rate=dropout, **sizes, **options)
    with device:
        network = T5ForConditionalGeneration(config)
    if network.lm_head.weight is network.shared.weight:  # as in Flan-T5
        network.lm_head.weight = torch.nn.Parameter(torch.randn_like(network.shared.weight) * sizes["d_model"] ** -0.5)
    network.config.scale_decoder_outputs = False
    return network.to(device).train()


class Bench:
    def __init__(self, tiny: bool, steps: int) -> None:
        self.device, self.steps = torch.device("cuda" if torch.cuda.is_available() else "cpu"), steps
        self.sizes, self.size, self.vocabulary = (TINY, 16, 2_000) if tiny else (SMALL, 128, 32_128)
        self.batches = new_batches(self.size, self.vocabulary)
        self.process = SimpleNamespace(
            device=self.device, num_processes=1, process_index=0, prepare_model=lambda network: network,
            reduce=lambda tensor, how: tensor,
        )  # fmt: skip

    def updater(self, packed: bool, dropout: float, precision: str) -> Updater:
        config = new_config(batch_size=self.size, micro_batch_size=self.size, dropout=dropout, precision=precision)
        network = new_network(self.sizes, self.vocabulary, dropout, self.device)
        assert not packed or packable(network)
        packer = Packer.of(self.batches) if packed else None
        return Updater(network.train(), config, self.process, packer, capture=precision != "fp32")  # type: ignore[arg-type]

    def exact(self, packed: bool) -> tuple[float, float]:
        """Take one step in fp32 without dropout; give the loss and the norm of the gradient."""
        update, norms = self.updater(packed, 0.0, "fp32"), list[float]()
        clip = torch.nn.utils.clip_grad_norm_
        torch.nn.utils.clip_grad_norm_ = lambda parameters, most: norms.append(float(clip(parameters, most)))  # type: ignore[assignment]
        try:
            update(self.batches[0], 0)
        finally:
            torch.nn.utils.clip_grad_norm_ = clip
        return update.take_loss(1), norms[0]

    def speed(self, packed: bool) -> tuple[float, float, float]:
        """Train; give steps a second, the mean loss of the timed steps, and the seconds before the clock started."""
        start = time.perf_counter()
        with own_stream(self.device):
            update = self.updater(packed, 0.1, "auto")
            for step in range(WARM if self.device.type == "cuda" else 2):
                update(self.batches[step], step)
            update.take_loss(1)  # waits for the device
            clock = time.perf_counter()
            for step in range(WARM, WARM + self.steps):
                update(self.batches[step], step)
            loss = update.take_loss(self.steps)
            end = time.perf_counter()
        return self.steps / (end - clock), loss, clock - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=256)
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)  # says where something is not captured
    torch.backends.cuda.matmul.allow_tf32 = False
    bench = Bench(arguments.tiny, arguments.steps)
    name = torch.cuda.get_device_name() if bench.device.type == "cuda" else "CPU, where nothing is captured"
    print(f"{name}; torch {torch.__version__}")
    print(f"{'':10} {'steps/s':>8} {'ratio':>6} {'exact loss':>10} {'apart':>8} {'loss':>8} {'':9} warm-up s")
    first: tuple[tuple[float, float], float, float] | None = None
    for name, packed in (("padded", False), ("packed", True)):
        exact, (rate, loss, before) = bench.exact(packed), bench.speed(packed)
        wanted, usual, base = first = first or (exact, loss, rate)
        apart = max(abs(a / b - 1) for a, b in zip(exact, wanted, strict=True))
        verdict = "same" if apart < 1e-3 and abs(loss / usual - 1) < 0.05 else "DIFFERENT"
        checked = f"{exact[0]:10.5f} {apart:8.1e} {loss:8.4f} {verdict:9}"
        print(f"{name:10} {rate:8.1f} {rate / base:6.2f} {checked} {before:9.1f}", flush=True)


if __name__ == "__main__":
    main()
