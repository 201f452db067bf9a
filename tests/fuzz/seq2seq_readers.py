"""Readers of models that `csl train` writes. Torch is imported when they are used."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .reader import Files, Reader, content_of

TEXTS = ["jump", "run left", "JUMP ( RUN )", "{ é }"]


@cache
def model_files() -> Files:
    """Give a model that was not trained."""
    import torch

    from csl.seq2seq.codec import new_codec
    from csl.seq2seq.config import TrainConfig
    from csl.seq2seq.network import new_network
    from csl.seq2seq.predictor import Seq2Seq

    config = TrainConfig(layers=1, heads=1, d_model=8, d_ff=8, max_target=4)
    codec = new_codec(config, TEXTS)
    with TemporaryDirectory() as name:
        network = new_network(config, len(codec.tokenizer))
        Seq2Seq(network, codec, config, torch.device("cpu")).save(Path(name))
        return content_of(Path(name))


def load_model(folder: Path) -> Any:
    """Read a model."""
    from csl.seq2seq.predictor import Seq2Seq

    return Seq2Seq.load(folder, "cpu")


def check_model(folder: Path, model: Any) -> None:
    """It has the vocabulary that it was made with."""
    ids = model.codec.encode_targets(TEXTS)
    assert model.codec.decode(ids)


FILES = ("codec.json", "config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
READERS = [
    Reader("model of training", model_files, FILES, load_model, check_model, weight=0.01),
]
if not find_spec("torch"):
    READERS = []  # without the extra seq2seq there are no such files
