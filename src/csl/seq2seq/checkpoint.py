"""The state of an unfinished training: weights and optimizer as arrays in one file, the rest as JSON beside them.

Nothing is pickled. The file is replaced as a whole and has a checksum (`csl.arrays`).
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch

from csl.arrays import DamagedError, load_arrays, save_arrays

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Tensors = dict[str, torch.Tensor]


class Checkpoint(Protocol):
    """Where a training stores its state."""

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        """Return the last state, if there is one."""

    def save(self, tensors: Tensors, about: Mapping[str, object]) -> None:
        """Replace the last state."""

    def remove(self) -> None:
        """Remove the state: training is complete, or starts over."""


class CheckpointFile:
    """A checkpoint of the training with this key, in one file; a damaged one is reported, and training starts over."""

    def __init__(self, path: Path, key: str = "") -> None:
        self._path, self._key = path, key

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        """Read the state, if there is one."""
        if not self._path.exists():
            return None
        try:
            arrays, about = load_arrays(self._path, "training restarts from the beginning")
        except DamagedError as error:
            logging.getLogger("csl.train").warning(str(error))
            return None
        if about.pop("key", None) != self._key:
            return None
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, about

    def save(self, tensors: Tensors, about: Mapping[str, object]) -> None:
        """Write the state atomically; `about` must be JSON."""
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
        save_arrays(self._path, arrays, {**about, "key": self._key})

    def remove(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)


def weights_of(network: "PreTrainedModel") -> Tensors:
    """Give the weights of a network that are trained, each once: tied ones are one parameter."""
    return {name: weight for name, weight in network.named_parameters() if weight.requires_grad}


def set_weights(network: "PreTrainedModel", weights: Tensors) -> None:
    """Put weights back."""
    with torch.no_grad():
        for name, parameter in weights_of(network).items():
            parameter.copy_(weights[name])


def optimizer_state(optimizer: torch.optim.Optimizer) -> tuple[Tensors, dict[str, float]]:
    """Give the tensors and the plain numbers of an optimizer's state, by `parameter/name`."""
    items = {
        f"{index}/{name}": value
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }
    tensors = {key: value for key, value in items.items() if isinstance(value, torch.Tensor)}
    return tensors, {key: value for key, value in items.items() if key not in tensors}


def set_optimizer_state(optimizer: torch.optim.Optimizer, tensors: Tensors, numbers: Mapping[str, float]) -> None:
    """Put the state of an optimizer back."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in (*tensors.items(), *numbers.items()):
        index, _, name = key.partition("/")
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
