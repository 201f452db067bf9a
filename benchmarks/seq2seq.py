"""Training a sequence-to-sequence model: steps a second as it is written and captured as CUDA graphs, in one run.

    python benchmarks/seq2seq.py [--model FOLDER] [--batch-size N] TRAIN [SYNTHETIC]

TRAIN and SYNTHETIC are files of examples, mixed half and half; without them SCAN is generated. Without a model a new T5
with the sizes of T5-small is made. The first 96 steps warm up. Without a GPU only the plain loop is measured.
"""

import argparse
import time
from pathlib import Path

from accelerate import Accelerator

from csl.data import Example, read_examples
from csl.datasets.registry import data_set
from csl.seq2seq.batches import Batches
from csl.seq2seq.codec import new_codec
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.network import new_network
from csl.seq2seq.train import encode
from csl.seq2seq.update import Updater, own_stream

WARM, STEPS = 96, 256
SMALL = {"layers": 8, "heads": 6, "d_model": 512, "d_ff": 1024}


def measure(config: TrainConfig, batches: Batches, vocabulary: int, captured: bool, steps: int) -> float:
    """Give the steps a second after a warm-up."""
    accelerator = Accelerator()
    with own_stream(accelerator.device):
        update = Updater(new_network(config, vocabulary), config, accelerator, capture=captured)
        update.network.train()
        for step in range(WARM if captured else 4):
            update(batches[step], step)
        update.take_loss(1)  # waits for the device
        start = time.perf_counter()
        for step in range(WARM, WARM + steps):
            update(batches[step], step)
        update.take_loss(steps)
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
    shapes = {(batches[step].source.shape, batches[step].labels.shape) for step in range(STEPS)}
    print(f"batches alone: {STEPS / (time.perf_counter() - start):,.0f} a second; {len(shapes)} shapes in {STEPS}")
    gpu = Accelerator().device.type == "cuda"
    plain = measure(config, batches, len(codec.tokenizer), captured=False, steps=64 if gpu else 8)
    print(f"plain loop: {plain:.1f} steps a second of {config.batch_size}")
    if gpu:
        captured = measure(config, batches, len(codec.tokenizer), captured=True, steps=STEPS)
        print(f"captured: {captured:.1f} steps a second, {captured / plain:.1f} times as many")


if __name__ == "__main__":
    main()
