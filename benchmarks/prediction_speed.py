"""Prediction with T5-small: `generate` of transformers against the search of `csl predict`, in one run.

    PYTHONPATH=src python benchmarks/prediction_speed.py [MODEL INPUTS] [--device D] [--threads N] [-n INPUTS]
                                                         [--beams N] [--tiny]

330 inputs and outputs with the lengths of GeoQuery. The network has the sizes of Flan-T5-small, and weights that are
made: each token but the first has one successor, and the input chooses the first token of the output, so that outputs
have given lengths. With MODEL, a folder of `csl train`, and INPUTS, one a line, that model is measured instead. On a
GPU every way is called three times: in bf16, where it sets itself up; in bf16 again; and in fp32, where all ways must
give the same outputs. In bf16 the first token of a few is another one, as their two best are all but equal. A CPU is
measured in fp32. Needs torch, transformers and numpy; on a CPU it takes a minute or two, on an H200 some seconds.

generate   the library's search: all rows, until the last is complete
rows       the library's decoder, without rows that are complete: `csl predict` before, and now for models like BART
predict    the decoder of `csl predict`: places for keys and values; on a GPU, a step is a CUDA graph
"""

import argparse
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from transformers import T5Config, T5ForConditionalGeneration

try:
    import pydantic  # noqa: F401
except ModuleNotFoundError:  # the options' defaults are all that is needed of it
    sys.modules["pydantic"] = SimpleNamespace(BaseModel=object, ConfigDict=dict, Field=lambda **_: None)  # type: ignore[assignment]

from csl.seq2seq.codec import Codec, words_tokenizer
from csl.seq2seq.predictor import Seq2Seq
from training_speed import ORIGINAL, SMALL, TINY, new_config

WAYS = ("generate", "rows", "predict")
LENGTHS = [*ORIGINAL, *ORIGINAL, (22, 62)]  # of inputs and outputs, as T5's tokenizer cuts them


def new_network(sizes: dict[str, int], vocabulary: int) -> T5ForConditionalGeneration:
    """Make a network whose outputs are chains of tokens, with the lengths of outputs."""
    torch.manual_seed(0)
    options = {"feed_forward_proj": "gated-gelu", "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    network = T5ForConditionalGeneration(T5Config(vocab_size=vocabulary, dropout_rate=0.0, **sizes, **options))
    embeddings = torch.nn.functional.normalize(torch.randn(vocabulary, sizes["d_model"]))
    output, last, token = torch.zeros_like(embeddings), embeddings[1].clone(), 3
    for _, length in LENGTHS:
        choice = embeddings[2] + 0.5 * torch.nn.functional.normalize(torch.randn(sizes["d_model"]), dim=0)
        output[token] = choice - (choice @ embeddings[0] - 1) * embeddings[0]
        for before in range(token, token + length - 2):
            output[before + 1] = 2 * embeddings[before]
        token += length - 1
        embeddings[token - 1] = last
    output[1] = 2 * last
    with torch.no_grad():
        network.shared.weight.copy_(embeddings * sizes["d_model"] ** 0.5)
    network.lm_head.weight = torch.nn.Parameter(output)
    network.config.scale_decoder_outputs = False
    return network.eval()


def new_model(tiny: bool, number: int, device: torch.device) -> tuple[Seq2Seq, list[str]]:
    sizes, vocabulary = (TINY | {"d_model": 128}, 2_000) if tiny else (SMALL, 32_128)
    words = [f"w{number:05}" for number in range(3, vocabulary)]
    chance = np.random.default_rng(0)
    lengths = [LENGTHS[i][0] for i in chance.integers(0, len(LENGTHS), number)]
    inputs = [" ".join(words[i] for i in chance.integers(0, len(words), length - 1)) for length in lengths]
    network = new_network(sizes, vocabulary).to(device)
    return Seq2Seq(network, Codec(words_tokenizer(words)), new_config(), device), inputs


def choose(model: Seq2Seq, way: str) -> None:
    """Let a model search in a way."""
    if way == "generate":
        model._greedy = model._beams = lambda *_: None  # type: ignore[method-assign]
    elif way == "rows":
        model._architecture._t5 = False  # type: ignore[attr-defined]


def outputs_of(model: Seq2Seq, inputs: list[str], beams: int) -> list[str]:
    return [outputs[0].text for outputs in model.predict(inputs, beams=beams)]


def alike(found: list[str], wanted: list[str]) -> int:
    return sum(a == b for a, b in zip(found, wanted, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="MODEL INPUTS")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("-n", dest="number", type=int, default=330)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, threads {torch.get_num_threads()}"
    print(f"{name}; torch {torch.__version__}")
    print(f"{'':10} {'first s':>8} {'last s':>8} {'CPU s':>6} {'ratio':>6}  outputs")
    base, wanted = 0.0, list[str]()
    for way in arguments.only:
        if arguments.files:
            model = Seq2Seq.load(arguments.files[0], arguments.device)
            inputs = [line.partition("\t")[0] for line in arguments.files[1].read_text("utf-8").splitlines()]
        else:
            model, inputs = new_model(arguments.tiny, arguments.number, device)
        choose(model, way)
        if device.type == "cpu":
            object.__setattr__(model.config, "precision", "fp32")
        took, used = [], 0.0
        for _ in range(2 if device.type == "cuda" else 1):
            start, cpu = time.perf_counter(), time.process_time()
            quick = outputs_of(model, inputs, arguments.beams)  # waits for the device
            took.append(time.perf_counter() - start)
            used = time.process_time() - cpu
        object.__setattr__(model.config, "precision", "fp32")
        found = outputs_of(model, inputs, arguments.beams) if device.type == "cuda" else quick
        mine = took[-1] if device.type == "cuda" else used
        base, wanted = base or mine, wanted or found
        agree = (
            f"{alike(found, wanted)} of {len(found)} the same, {alike(quick, wanted)} in the precision that was timed"
        )
        print(f"{way:10} {took[0]:8.2f} {took[-1]:8.2f} {used:6.2f} {base / mine:6.2f}  {agree}", flush=True)
    print(f"{np.mean([len(text.split()) for text in wanted]):.1f} words an output")


if __name__ == "__main__":
    main()
