"""Readers of what `csl train` writes: checkpoints and models. Torch is imported when they are used."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .reader import Files, Reader, content_of

TEXTS = ["jump", "run left", "JUMP ( RUN )", "{ é }"]


@cache
def checkpoint_files() -> Files:
    """Give a checkpoint."""
    import torch

    from csl.seq2seq.checkpoint import save_tensors

    with TemporaryDirectory() as name:
        tensors = {"w/a": torch.arange(6.0).reshape(2, 3), "o/0": torch.tensor([1, 2])}
        save_tensors(Path(name) / "c.safetensors", tensors, {"step": 3, "numbers": {"0/step": 1.0}})
        return content_of(Path(name))


def load_checkpoint(folder: Path) -> Any:
    """Read a checkpoint."""
    from csl.seq2seq.checkpoint import load_tensors

    return load_tensors(folder / "c.safetensors")


def check_checkpoint(folder: Path, found: Any) -> None:
    """What is read is what was written."""
    tensors, about = found
    assert {name: tensor.tolist() for name, tensor in tensors.items()} == {
        "w/a": [[0, 1, 2], [3, 4, 5]],
        "o/0": [1, 2],
    }
    assert about == {"step": 3, "numbers": {"0/step": 1.0}}


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
    Reader("checkpoint of training", checkpoint_files, ("c.safetensors",), load_checkpoint, check_checkpoint),
    Reader("model of training", model_files, FILES, load_model, check_model, weight=0.01),
]
if not find_spec("torch"):
    READERS = []  # without the extra seq2seq there are no such files
