"""Training T5-small on a GPU: steps a second of the code as it is, and of what could make it faster, in one run.

    PYTHONPATH=src python benchmarks/training_speed.py [--steps N] [--only NAME ...] [--tiny]

Batches have 128 pairs with the lengths of GeoQuery, half of them synthetic, as T5's tokenizer cuts them; weights are
random, of the sizes of Flan-T5-small. Each variant first takes one step in fp32 without dropout, from the same weights:
its loss and the norm of its gradient must be those of the code as it is. Then it trains in bf16 with dropout, and the
mean loss of the timed steps must be the same within a few percent. `--tiny` tries everything on a small network, on a
CPU too. Needs torch, transformers and numpy.

packed      several pairs share a row; attention stays within a pair, so nothing but the order of sums changes
fused loss  logits are made for tokens that have a loss, a few thousand rows at a time, and never kept
cut         only embeddings of tokens that occur; another softmax, so its loss is another one
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers import T5Config, T5ForConditionalGeneration

try:
    import pydantic  # noqa: F401
except ModuleNotFoundError:  # the options' defaults are all that is needed of it
    sys.modules["pydantic"] = SimpleNamespace(BaseModel=object, ConfigDict=dict, Field=lambda **_: None)  # type: ignore[assignment]

from csl.seq2seq.batches import IGNORED, Batch, Batches, Encoded, rounded
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.update import CLIP, Updater, autocast, own_stream

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


# variants


class Plain(Updater):
    """The code as it is."""

    fused_adamw, fused_loss = True, False

    def _before(self, labels: torch.Tensor) -> torch.Tensor:
        begin = torch.full_like(labels[:, :1], self._start)
        return torch.cat([begin, labels[:, :-1].masked_fill(labels[:, :-1] == IGNORED, self._pad)], dim=1)


class SlowAdamW(Plain):
    fused_adamw = False


class FusedLoss(Plain):
    """Logits for tokens that have a loss only, and never all of them at a time."""

    def _passes(self, batch: Batch, own: int, workers: int) -> Iterator[tuple[np.ndarray, ...]]:
        for source, mask, labels, _ in super()._passes(batch, own, workers):
            real = np.flatnonzero(labels != IGNORED)
            places = np.zeros(-(-len(real) // 512) * 512, np.int64)  # few shapes
            places[: len(real)] = real
            wanted = np.full(len(places), IGNORED)
            wanted[: len(real)] = labels.reshape(-1)[real]
            yield source, mask, labels, places, wanted, np.array(1 / batch.tokens, np.float32)

    def _backward(self, source: Any, mask: Any, labels: Any, places: Any, wanted: Any, weight: Any) -> None:  # type: ignore[override]
        with autocast(self._config, self.device, cache=False):
            states = self.network.encoder(input_ids=source, attention_mask=mask).last_hidden_state
            out = self.network.decoder(
                input_ids=self._before(labels), encoder_hidden_states=states, encoder_attention_mask=mask,
                use_cache=False,
            ).last_hidden_state  # fmt: skip
            loss = linear_loss(out.flatten(0, 1)[places], self.network.lm_head.weight, wanted, weight)
        loss.backward()
        self._loss += loss.detach()


class Packed(Plain):
    """Several pairs in a row, in one shape; what does not fit takes another pass."""

    compiled = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._forward = torch.compile(self._loss_of, dynamic=False) if self.compiled else self._loss_of

    def _passes(self, batch: Batch, own: int, workers: int) -> Iterator[tuple[np.ndarray, ...]]:
        for arrays in self.packer(batch):
            yield *arrays, np.array(1 / batch.tokens, np.float32)

    def _backward(self, source: Any, pair: Any, labels: Any, label_pair: Any, weight: Any) -> None:  # type: ignore[override]
        with autocast(self._config, self.device, cache=False):
            loss = self._forward(source, pair, labels, label_pair, weight)
        loss.backward()
        self._loss += loss.detach()

    def _loss_of(self, source: Any, pair: Any, labels: Any, label_pair: Any, weight: Any) -> torch.Tensor:
        inside = (pair[:, :, None] == pair[:, None, :])[:, None]
        causal = torch.ones(labels.shape[1], labels.shape[1], dtype=torch.bool, device=labels.device).tril()
        before = (label_pair[:, :, None] == label_pair[:, None, :])[:, None] & causal
        across = (label_pair.clamp(min=1)[:, :, None] == pair[:, None, :])[:, None]  # padding looks at the first pair
        states = self.network.encoder(input_ids=source, attention_mask=inside).last_hidden_state
        first = torch.nn.functional.pad(label_pair[:, 1:] != label_pair[:, :-1], (1, 0), value=True)
        out = self.network.decoder(
            input_ids=self._before(labels).masked_fill(first, self._start), attention_mask=before,
            encoder_hidden_states=states, encoder_attention_mask=across, use_cache=False,
        ).last_hidden_state.flatten(0, 1)  # fmt: skip
        if self.fused_loss:
            return linear_loss(out, self.network.lm_head.weight, labels.flatten(), weight)
        logits = self.network.lm_head(out)
        return (
            torch.nn.functional.cross_entropy(logits, labels.flatten(), reduction="sum", ignore_index=IGNORED) * weight
        )


class PackedFusedLoss(Packed):
    fused_loss = True


class PackedCompiled(Packed):
    compiled = True


class PackedCompiledFusedLoss(PackedFusedLoss):
    compiled = True


class Packer:
    """Puts the pairs of a batch into rows: the longest first, each into the first row that has room for it.

    Shapes are chosen by the first batches: as wide as their longest pair, inputs in proportion to outputs, and as many
    rows as they need. A batch that does not fit takes another pass.
    """

    def __init__(self, batches: Batches, look: int = 32) -> None:
        some = [batches[step] for step in range(look)]
        tokens = [(int(b.mask.sum()), int(rounded(b.mask.sum(1).max())), b.tokens, b.labels.shape[1]) for b in some]
        inputs, _, outputs, _ = np.sum(tokens, 0)
        _, widest, _, self.long = (int(most) for most in np.max(tokens, 0))
        self.wide = max(widest, int(rounded(self.long * inputs / outputs)))
        self.rows = len(some[0].source)
        needed = [int((arrays[3][:, 0] > 0).sum()) for batch in some for arrays in self(batch)]
        self.rows = -(-max(needed) // 4) * 4

    def __call__(self, batch: Batch) -> Iterator[tuple[np.ndarray, ...]]:
        lengths = batch.mask.sum(1), (batch.labels != IGNORED).sum(1)
        wide, long = self.wide, max(self.long, int(rounded(lengths[1].max())))
        left = np.lexsort((-lengths[0], -lengths[1]))
        while len(left):
            source, pair = (np.zeros((self.rows, wide), np.int64) for _ in range(2))
            labels, label_pair = np.full((self.rows, long), IGNORED), np.zeros((self.rows, long), np.int64)
            used_s, used_t, count = (np.zeros(self.rows, np.int64) for _ in range(3))
            later = []
            for i in left:
                s, t = lengths[0][i], lengths[1][i]
                room = (used_s + s <= wide) & (used_t + t <= long)
                row = int(room.argmax())
                if not room[row]:
                    later.append(i)
                    continue
                a, b = used_s[row], used_t[row]
                count[row] += 1
                source[row, a : a + s], pair[row, a : a + s] = batch.source[i, :s], count[row]
                labels[row, b : b + t], label_pair[row, b : b + t] = batch.labels[i, :t], count[row]
                used_s[row] += s
                used_t[row] += t
            left = np.array(later, np.int64)
            yield source, pair, labels, label_pair


class LinearLoss(torch.autograd.Function):
    """The summed loss of outputs by a matrix; the gradients are made with it, some rows at a time."""

    @staticmethod
    def forward(ctx: Any, hidden: Any, matrix: Any, labels: Any, weight: Any) -> Any:
        kind = torch.get_autocast_dtype(hidden.device.type) if torch.is_autocast_enabled(hidden.device.type) else None
        low = hidden.to(kind or hidden.dtype), matrix.to(kind or matrix.dtype)
        by_hidden, by_matrix = torch.empty_like(low[0]), torch.zeros_like(matrix)
        total = torch.zeros((), device=hidden.device)
        with torch.autocast(hidden.device.type, enabled=False):
            for begin in range(0, len(hidden), 2048):
                part, wanted = low[0][begin : begin + 2048], labels[begin : begin + 2048]
                real = (wanted != IGNORED)[:, None]
                logits = (part @ low[1].T).float()
                logits -= logits.logsumexp(1, keepdim=True)
                place = wanted.clamp(min=0)[:, None]
                total -= (logits.gather(1, place) * real).sum()
                logits.exp_().scatter_add_(1, place, torch.full_like(place, -1, dtype=logits.dtype))
                gradient = (logits * (real * weight)).to(part.dtype)
                by_hidden[begin : begin + 2048] = gradient @ low[1]
                by_matrix += gradient.T @ part
        ctx.save_for_backward(by_hidden.to(hidden.dtype), by_matrix)
        return total * weight

    @staticmethod
    def backward(ctx: Any, *grad: Any) -> Any:
        by_hidden, by_matrix = ctx.saved_tensors
        return by_hidden * grad[0], by_matrix * grad[0], None, None


def linear_loss(hidden: Any, matrix: Any, labels: Any, weight: Any) -> Any:
    return LinearLoss.apply(hidden, matrix, labels, weight)  # type: ignore[no-untyped-call]


@dataclass
class Variant:
    kind: type[Plain]
    cut: bool = False
    options: dict[str, Any] = field(default_factory=dict)


VARIANTS = {
    "as it is": Variant(Plain),
    "AdamW not fused": Variant(SlowAdamW),
    "2 micro-batches by length": Variant(Plain, options={"parts": 2}),
    "4 micro-batches by length": Variant(Plain, options={"parts": 4}),
    "fused loss": Variant(FusedLoss),
    "vocabulary cut": Variant(Plain, cut=True),
    "packed": Variant(Packed),
    "packed, fused loss": Variant(PackedFusedLoss),
    "packed, cut": Variant(Packed, cut=True),
    "packed, compiled, fused loss": Variant(PackedCompiledFusedLoss),
    "packed, compiled, cut": Variant(PackedCompiled, cut=True),
}


class Bench:
    def __init__(self, device: torch.device, tiny: bool, steps: int) -> None:
        self.device, self.steps = device, steps
        self.sizes, self.batch, self.vocabulary = (TINY, 16, 2_000) if tiny else (SMALL, 128, 32_128)
        self.process = SimpleNamespace(
            device=device, num_processes=1, process_index=0, prepare_model=lambda network: network,
            reduce=lambda tensor, how: tensor,
        )  # fmt: skip

    def updater(self, variant: Variant, dropout: float, **options: Any) -> tuple[Plain, Batches]:
        vocabulary = OCCURRING if variant.cut else self.vocabulary
        batches = new_batches(self.batch, vocabulary)
        part = self.batch // variant.options.get("parts", 1)
        config = new_config(batch_size=self.batch, micro_batch_size=part, dropout=dropout, **options)
        network = new_network(self.sizes, vocabulary, dropout, self.device)
        made = variant.kind(network, config, self.process, capture=options.get("precision") != "fp32")  # type: ignore[arg-type]
        if isinstance(made, Packed):
            made.packer = Packer(batches)
        if not made.fused_adamw:
            rate = torch.tensor(config.rate, device=self.device)
            on_gpu = self.device.type == "cuda"
            made.optimizer = torch.optim.AdamW(
                network.parameters(), lr=rate if on_gpu else config.rate, weight_decay=0.0, capturable=on_gpu
            )
        return made, batches

    def exact(self, variant: Variant) -> tuple[float, float]:
        """Take one step in fp32 without dropout; give the loss and the norm of the gradient."""
        made, batches = self.updater(variant, 0.0, precision="fp32")
        norm = []
        clip = torch.nn.utils.clip_grad_norm_
        torch.nn.utils.clip_grad_norm_ = lambda parameters, most: norm.append(clip(parameters, most))  # type: ignore[assignment]
        try:
            made(batches[0], 0)
        finally:
            torch.nn.utils.clip_grad_norm_ = clip
        return made.take_loss(1), float(norm[0])

    def speed(self, variant: Variant) -> tuple[float, float, float]:
        """Train; give steps a second, the mean loss of the timed steps, and the seconds before the clock started."""
        start = time.perf_counter()
        with own_stream(self.device):
            made, batches = self.updater(variant, 0.1, precision="auto")
            if getattr(made, "compiled", False):  # compiled before anything is captured
                capturing, made._capturing = made._capturing, False
                for step in range(3):
                    made(batches[step], step)
                made._capturing = capturing
            for step in range(WARM if self.device.type == "cuda" else 2):
                made(batches[step], step)
            made.take_loss(1)  # waits for the device
            clock = time.perf_counter()
            for step in range(WARM, WARM + self.steps):
                made(batches[step], step)
            loss = made.take_loss(self.steps)
            end = time.perf_counter()
        return self.steps / (end - clock), loss, clock - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--only", nargs="*", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = False
    bench = Bench(device, arguments.tiny, arguments.steps)
    print(f"{torch.cuda.get_device_name() if device.type == 'cuda' else 'CPU'}, torch {torch.__version__}; clip {CLIP}")
    lines, first = [], {}
    for name in arguments.only:
        variant, begin = VARIANTS[name], time.perf_counter()
        try:
            plain = Variant(variant.kind.__bases__[0], variant.cut) if "compiled" in name else variant  # quicker
            exact, (rate, loss, before) = bench.exact(plain), bench.speed(variant)
        except Exception as error:  # one that cannot run here says so, and the others go on
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:200]}", flush=True)
            continue
        finally:
            torch.compiler.reset()
            if device.type == "cuda":
                torch.cuda.empty_cache()
        base = first.setdefault(variant.cut, (exact, loss))  # a cut vocabulary has another loss: compared among those
        apart = max(abs(a / b - 1) for a, b in zip(exact, base[0], strict=True))
        rates = first.setdefault("rate", rate)
        verdict = "same" if apart < 1e-3 and abs(loss / base[1] - 1) < 0.05 else "DIFFERENT"
        checked = f"{exact[0]:10.5f} {apart:9.1e} {loss:8.4f} {verdict:9}"
        lines.append(f"{name:30} {rate:8.1f} {rate / rates:6.2f} {checked} {before:5.1f}")
        print(f"{lines[-1]}   ({time.perf_counter() - begin:.0f} s)", flush=True)
    print(f"\n{'variant':30} {'steps/s':>8} {'ratio':>6} {'exact loss':>10} {'apart':>9} {'loss':>8} {'':9} warm-up s")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
