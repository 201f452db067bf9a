"""Where a training stands, in one file: weights and optimizer as safetensors, the rest as JSON in its header.

Nothing is pickled. The file is replaced as a whole, so that a run that is killed has the last one or the one before. It
has a checksum, so that a damaged one is known.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from csl.errors import InputError
from csl.files import atomic_write, parse_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Weights = dict[str, torch.Tensor]


class DamagedError(InputError):
    """A file of tensors that is not as it was written."""


def save_tensors(path: Path, tensors: Mapping[str, torch.Tensor], about: Mapping[str, object]) -> None:
    """Write tensors, and `about`, which must be JSON, atomically."""
    from safetensors.torch import save

    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path) as file:
        file.write(save(tensors, {"about": json.dumps(about), "sha256": _checksum(tensors, about)}))


def load_tensors(path: Path) -> tuple[Weights, dict[str, Any]]:
    """Read what `save_tensors` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata()
        about = parse_json(metadata["about"])
        if metadata["sha256"] != _checksum(tensors, about):
            raise ValueError("the checksum is another")
        return tensors, dict(about)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError("damaged file; start over with --no-resume", path) from error


def _checksum(tensors: Mapping[str, torch.Tensor], about: Mapping[str, object]) -> str:
    digest = hashlib.sha256(json.dumps(about).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def weights_of(network: "PreTrainedModel") -> Weights:
    """Give the weights of a network, each once: tied ones are one parameter."""
    return dict(network.named_parameters())


def set_weights(network: "PreTrainedModel", weights: Weights) -> None:
    """Put weights back."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weights[name])


def optimizer_state(optimizer: torch.optim.Optimizer) -> tuple[Weights, dict[str, float]]:
    """Give the tensors and the plain numbers of an optimizer's state, by `parameter/name`."""
    items = {
        f"{index}/{name}": value
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }
    tensors = {key: value for key, value in items.items() if isinstance(value, torch.Tensor)}
    return tensors, {key: value for key, value in items.items() if key not in tensors}


def set_optimizer_state(optimizer: torch.optim.Optimizer, tensors: Weights, numbers: Mapping[str, float]) -> None:
    """Put the state of an optimizer back."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in (*tensors.items(), *numbers.items()):
        index, _, name = key.partition("/")
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
