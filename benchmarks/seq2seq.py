"""Training a sequence-to-sequence model: steps a second as it is written, captured as CUDA graphs, and in pieces.

    python benchmarks/seq2seq.py [--model FOLDER] [--batch-size N] TRAIN [SYNTHETIC]

TRAIN and SYNTHETIC are files of examples, mixed half and half; without them SCAN is generated. Without a model a new T5
with the sizes of T5-small is made. The first 96 steps warm up. Pieces are pairs of like length within a batch, whose
gradients are summed. Without a GPU nothing is captured.
"""

import argparse
import time
from pathlib import Path

from accelerate import Accelerator

from csl.datasets.registry import data_set
from csl.examples import Example, read_examples
from csl.seq2seq.batches import Batches
from csl.seq2seq.codec import new_codec
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.network import new_network
from csl.seq2seq.train import encode
from csl.seq2seq.update import Updater, own_stream

WARM, STEPS = 96, 256
SMALL = {"layers": 8, "heads": 6, "d_model": 512, "d_ff": 1024}


def measure(config: TrainConfig, batches: Batches, vocabulary: int, captured: bool, warm: int, steps: int) -> float:
    """Give the steps a second after a warm-up."""
    accelerator = Accelerator()
    with own_stream(accelerator.device):
        updater = Updater(new_network(config, vocabulary), config, accelerator, capture=captured)
        updater.network.train()
        for step in range(warm):
            updater(batches[step], step)
        updater.take_loss(1)  # waits for the device
        start = time.perf_counter()
        for step in range(WARM, WARM + steps):
            updater(batches[step], step)
        updater.take_loss(steps)
        return steps / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a checkpoint folder or name; default: new weights")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("files", nargs="*", type=Path, metavar="TRAIN [SYNTHETIC]")
    arguments = parser.parse_args()
    options = {"model": arguments.model} if arguments.model else SMALL
    config = TrainConfig.model_validate({"batch_size": arguments.batch_size, **options})
    parts = [list(read_examples(path)) for path in arguments.files] or [
        list(data_set("scan").prepare(None, "jump").train)
    ]
    original, synthetic = [*parts, list[Example]()][:2]
    start = time.perf_counter()
    codec = new_codec(config, (text for e in (*original, *synthetic) for text in (e.source_text, e.target_text)))
    made = (encode(codec, original, "original", print), encode(codec, synthetic, "synthetic", print))
    print(f"tokenised {len(original) + len(synthetic):,} pairs in {time.perf_counter() - start:.1f} s")
    batches = Batches(*made, 0.5, config.batch_size, config.seed, codec.tokenizer.pad_token_id or 0)
    start = time.perf_counter()
    for step in range(STEPS):
        list(batches[step].pieces(1))
    print(f"batches only: {STEPS / (time.perf_counter() - start):,.0f} a second")
    gpu, first = Accelerator().device.type == "cuda", None
    for captured, number in [(False, 1), *[(True, 1)] * gpu, (gpu, 2), (gpu, 4)]:
        piece = config.batch_size // number
        padded = sum(p.source.size + p.labels.size for step in range(64) for p in batches[step].pieces(number)) / 64
        steps, warm = (STEPS, WARM) if captured else (64, 4) if gpu else (3, 1)
        rate = measure(config.model_copy(update={"piece": piece}), batches, len(codec.tokenizer), captured, warm, steps)
        first = first or rate
        print(
            f"{'captured' if captured else 'plain loop'}, {piece} pairs a piece: {rate:.3g} steps a second of "
            f"{config.batch_size}, {rate / first:.1f} times the first; {padded:,.0f} tokens a step with padding",
            flush=True,
        )


if __name__ == "__main__":
    main()
