"""Prediction with a mask of valid outputs: time a token against prediction without, by output CFG and tokenizer.

    python benchmarks/decoding.py [MODEL INPUTS OUTPUT_CFG]

MODEL is a folder of `csl train`, INPUTS a file of examples, and OUTPUT_CFG a CFG or a Lark grammar, such as the
`prepared/decoding.lark` of a run on raw text. Without them: a new T5 with the sizes of T5-small and random weights, on
nested lists. Such a model is wrong at nearly every step, so that a mask is computed at nearly every step: the worst
case. CPU time, on one thread; tokens are those that are written, without padding.
"""

import argparse
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import torch

from csl.examples import read_examples
from csl.grammar.output_cfg import OutputCfg
from csl.seq2seq.codec import new_codec
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.mask import OutputMask
from csl.seq2seq.network import new_network
from csl.seq2seq.predictor import Seq2Seq

WORDS = [f"w{i}" for i in range(1000)]
LISTS = ["ROOT => [ ##ITEMS ]", "ITEMS => ##ITEM", "ITEMS => ##ITEM , ##ITEMS", "ITEM => ##ROOT"]
LISTS += [f"ITEM => {word}" for word in WORDS]
SMALL = {"layers": 8, "heads": 6, "d_model": 512, "d_ff": 1024, "max_target": 64}


def new_model() -> Seq2Seq:
    config = TrainConfig.model_validate(SMALL)
    codec = new_codec(config, [" ".join([*WORDS, "[", "]", ","])])
    return Seq2Seq(new_network(config, len(codec.tokenizer)), codec, config, torch.device("cpu"))


def measure(model: Seq2Seq, inputs: list[str], **options: Any) -> tuple[float, int]:
    """Give the seconds of a prediction, and how many tokens it wrote."""
    tokens, write = 0, model._write

    def counted(*arguments: Any) -> Any:
        nonlocal tokens
        written, sums = write(*arguments)
        tokens += int((written[:, 1:] != model.codec.tokenizer.pad_token_id).sum())
        return written, sums

    model._write = counted  # type: ignore[method-assign]
    start = time.process_time()
    model.predict(inputs, **options)
    seconds = time.process_time() - start
    del model._write
    return seconds, tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="MODEL INPUTS OUTPUT_CFG")
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 4])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if arguments.files:
        folder, file, cfg_file = arguments.files
        model = Seq2Seq.load(folder, "cpu")
        make = partial(OutputMask.read, cfg_file, model.codec)
        inputs = [example.source_text for example in read_examples(file)]
    else:
        model = new_model()
        make = partial(OutputMask, OutputCfg.parse(LISTS), model.codec)
        inputs = [" ".join(WORDS[i : i + 9]) for i in range(64)]
    print(f"{len(model.codec.tokenizer):,} tokens, {len(inputs):,} inputs")
    start = time.process_time()
    mask = make()
    print(f"making the mask: {time.process_time() - start:.2f} s")
    for beams in arguments.beams:
        each = []
        for label, options in (("plain", {}), ("masked", {"mask": mask})):
            seconds, tokens = measure(model, inputs, beams=beams, **options)
            each.append(seconds / tokens)
            print(f"beams {beams}, {label}: {seconds:.1f} s, {tokens:,} tokens, {each[-1] * 1e3:.2f} ms a token")
        print(f"beams {beams}: a token with the mask takes {each[1] / each[0]:.2f} times as long", flush=True)


if __name__ == "__main__":
    main()
