"""Whether synthetic pairs help a decoder: accuracy of one model trained without and with them.

    csl run scan/length --until sample --source DATA --runs runs    # or csl augment train.tsv --out RUN, of raw text
    python benchmarks/smollm2.py smollm2
    python benchmarks/decoder.py RUN --model smollm2 [--test FILE] [--set KEY=VALUE] [--seeds 0,1]

RUN is a run folder with data and samples. Both trainings take the same number of steps; half of the second are
synthetic pairs. FILE has the test examples where the run has none; `--most N` takes N of them, evenly. Without
`--model`, a new Llama with a tokenizer made from the data is trained from scratch. `--tiny` is a smoke test of that.
Needs the libraries of csl[seq2seq], not Numba, so RUN can be made on another machine.
"""

import argparse
import logging
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from csl.examples import Example, read_examples
from csl.examples.score import by_category, score
from csl.options import parse_setting
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.train import Training

OPTIONS = {"steps": 1000, "batch_size": 64, "learning_rate": 3e-4, "schedule": "linear", "warmup": 50}
NEW = OPTIONS | {"steps": 4000, "learning_rate": 1e-3}
TINY = OPTIONS | {"steps": 60, "batch_size": 16, "learning_rate": 3e-3, "max_target": 64}
SIZES = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 4}
TINY_SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def new_decoder(folder: str, texts: Iterable[str], sizes: dict[str, int]) -> str:
    """Write a new network with a tokenizer made from texts."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    options: dict[str, Any] = {"special_tokens": ["<|end|>"], "show_progress": False}
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=2000, initial_alphabet=alphabet, **options))
    PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>").save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=made.get_vocab_size(), bos_token_id=None, eos_token_id=0, **sizes)
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def measure(config: TrainConfig, train: list[Example], made: list[Example], test: list[Example]) -> str:
    """Train, predict, and give the accuracy of all and of each category."""
    start = time.perf_counter()
    model = Training(train, config, synthetic=made).run().model
    trained = time.perf_counter()
    outputs = [found[0].text for found in model.predict([example.source_text for example in test])]
    took = f"training {trained - start:.0f} s, prediction {time.perf_counter() - trained:.0f} s"
    each = {"all": range(len(test))} | by_category(test)
    parts = {name: score([test[i] for i in places], [outputs[i] for i in places])[0] for name, places in each.items()}
    return ", ".join(f"{name} {100 * part.accuracy:.1f}" for name, part in parts.items()) + f" ({took})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--test", type=Path)
    parser.add_argument("--most", type=int, default=10**6)
    parser.add_argument("--seeds", default="0", help="as 0,1,2")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of training")
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    run = arguments.run
    train, made = (list(read_examples(path)) for path in (run / "data" / "train.tsv", run / "samples.tsv"))
    test = list(read_examples(arguments.test or run / "data" / "test.tsv", columns=("category",)))
    test = test[:: -(-len(test) // arguments.most)]
    print(f"{run}: {len(train):,} pairs, {len(made):,} synthetic, {len(test):,} tested", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        texts = (text for pair in (*train, *made) for text in (pair.source_text, pair.target_text))
        model = arguments.model or new_decoder(folder, texts, TINY_SIZES if arguments.tiny else SIZES)
        options = TINY if arguments.tiny else OPTIONS if arguments.model else NEW
        for seed in map(int, arguments.seeds.split(",")):
            config = TrainConfig.model_validate(
                options | dict(map(parse_setting, arguments.set)) | {"model": model, "seed": seed}
            )
            for name, some in (("without", []), ("with", made)):
                found = measure(config, train, some, test)
                print(f"{arguments.model or 'new'}, seed {seed}, {name} synthetic pairs: {found}", flush=True)


if __name__ == "__main__":
    main()
