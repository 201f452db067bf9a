"""T5's passes over packed pairs in few operations, for training.

The library's passes are many small kernels: seven for a norm, eight for GELU, a cast before each product. A small
network on a GPU spends most of a step on them. Here norms and activations are one operation each, states are cast once,
and so are all weights together. Losses and gradients are those of the library but for rounding; dropout is in the same
places. `csl.seq2seq.loss.packable` tries that for a network.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import dropout, linear, rms_norm

from csl.seq2seq.t5 import activation, output_scale

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Tensors = tuple[torch.Tensor, ...]


class PackedT5:
    """One pass of a T5, in the precision of autocast, if that is on."""

    def __init__(self, network: "PreTrainedModel") -> None:
        self._network, kind = network, network.device.type
        self._dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32
        layers = [module for module in network.modules() if type(module) is torch.nn.Linear]
        weights: Tensors = tuple(layer.weight for layer in layers)
        if self._dtype != weights[0].dtype:
            weights = _Cast.apply(self._dtype, *weights)  # type: ignore[no-untyped-call]
        self._weights = dict(zip(layers, weights, strict=True))

    def logits(
        self, source: torch.Tensor, before: torch.Tensor, own: tuple[torch.Tensor, torch.Tensor], across: torch.Tensor
    ) -> torch.Tensor:
        """Give the logits [rows, T, V] after `before`.

        Masks [rows, 1, places, places] say what sees what: both sides their `own`, outputs inputs `across`.
        """
        network, zero = self._network, torch.zeros((), device=source.device)
        read = self._states(network.get_encoder(), source, own[0])
        found = self._states(network.get_decoder(), before, own[1], read, _added(across, zero))
        return self._linear(network.lm_head, found * output_scale(network))

    def _states(self, stack: Any, ids: torch.Tensor, own: torch.Tensor, *across: torch.Tensor) -> torch.Tensor:
        """Give the states of the encoder, or of the decoder `across` the states it reads, with what is added there."""
        states, places = stack.dropout(stack.embed_tokens(ids)), ids.shape[1]
        added = _added(own, stack.block[0].layer[0].SelfAttention.compute_bias(places, places))
        for block in stack.block:
            first, *others, last = block.layer
            normed = self._normed(first.layer_norm, states)
            states = states + first.dropout(self._attended(first.SelfAttention, normed, normed, added))
            for layer in others:
                normed = self._normed(layer.layer_norm, states)
                states = states + layer.dropout(self._attended(layer.EncDecAttention, normed, *across))
            normed = self._normed(last.layer_norm, states)
            states = states + last.dropout(self._transformed(last.DenseReluDense, normed))
        made: torch.Tensor = stack.dropout(self._normed(stack.final_layer_norm, states))
        return made

    def _normed(self, norm: Any, states: torch.Tensor) -> torch.Tensor:
        return rms_norm(states, norm.weight.shape, norm.weight, norm.variance_epsilon).to(self._dtype)

    def _linear(self, layer: torch.nn.Module, states: torch.Tensor) -> torch.Tensor:
        """Give the product with the weights of a layer; one with an adapter is called."""
        weight = self._weights.get(layer)  # type: ignore[call-overload]
        made: torch.Tensor = layer(states) if weight is None else linear(states, weight)
        return made

    def _attended(self, attention: Any, states: torch.Tensor, read: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            self._linear(layer, seen).view(*seen.shape[:2], attention.n_heads, -1).transpose(1, 2)
            for layer, seen in ((attention.q, states), (attention.k, read), (attention.v, read))
        )
        weights = (query @ key.transpose(2, 3) + added).softmax(-1)
        found = dropout(weights, attention.dropout, attention.training) @ value
        return self._linear(attention.o, found.transpose(1, 2).flatten(2))

    def _transformed(self, forward: Any, states: torch.Tensor) -> torch.Tensor:
        inputs = (forward.wi_0, forward.wi_1) if hasattr(forward, "wi_0") else (forward.wi,)
        first, *gates = (self._linear(layer, states) for layer in inputs)
        inner = activation(forward)(first)
        for gate in gates:
            inner = inner * gate
        return self._linear(forward.wo, forward.dropout(inner))


class _Cast(torch.autograd.Function):
    """Tensors in another precision, in one operation; so are their gradients."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *tensors: torch.Tensor) -> Tensors:
        ctx.dtype = tensors[0].dtype
        return _cast_all(tensors, dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, *_cast_all(gradients, ctx.dtype)


def _cast_all(tensors: Tensors, dtype: torch.dtype) -> Tensors:
    made = tuple(torch.empty_like(tensor, dtype=dtype) for tensor in tensors)
    torch._foreach_copy_(made, tensors)
    return made


def _added(mask: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Give what is added to the scores of attention."""
    return torch.where(mask, bias, -torch.inf)
