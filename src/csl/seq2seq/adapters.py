"""LoRA (Hu et al. 2021): small matrices beside the linear layers are trained, and added to them at the end.

So a trained model is an ordinary checkpoint, which needs neither peft nor the weights that it started from. Checkpoints
of an unfinished training hold the small matrices alone.
"""

import warnings
from typing import TYPE_CHECKING, Any

import torch

from csl.hub import need_peft

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Adapters:
    """The adapters of all linear layers of a network, except its output layer; all other weights are frozen."""

    def __init__(self, network: "PreTrainedModel", rank: int, seed: int) -> None:
        need_peft()
        from peft import LoraConfig, get_peft_model

        torch.manual_seed(seed)
        options = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it transposes the matrices of GPT-2, as it must
            self._wrapper: Any = get_peft_model(network, options)

    def merge(self) -> None:
        """Add the adapters to the weights of the network, and remove them."""
        self._wrapper.merge_and_unload()
        for parameter in self._wrapper.get_base_model().parameters():
            parameter.requires_grad_(True)
