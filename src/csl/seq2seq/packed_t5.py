"""T5's passes over packed pairs in few operations, for training.

The library's passes are many small kernels: seven for a norm, eight for GELU, a cast before each product. A small
network on a GPU spends most of a step on them. Here norms, attention and activations are one operation each, and states
are cast once. Losses and gradients are those of the library but for rounding; dropout is in the same places.
`csl.seq2seq.loss.packable` tries that for a network.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import dropout, rms_norm

from csl.seq2seq.t5 import activation, output_scale

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def packed_logits(
    network: "PreTrainedModel",
    source: torch.Tensor,
    before: torch.Tensor,
    own: tuple[torch.Tensor, torch.Tensor],
    across: torch.Tensor,
) -> torch.Tensor:
    """Give the logits [rows, T, V] after `before`.

    Masks [rows, 1, places, places] say what sees what: inputs and outputs their `own` side, outputs `across` inputs.
    """
    read = _states(network.get_encoder(), source, own[0])
    found = _states(network.get_decoder(), before, own[1], read, _added(across, torch.zeros((), device=source.device)))
    logits: torch.Tensor = network.lm_head(found * output_scale(network))
    return logits


def _states(stack: Any, ids: torch.Tensor, own: torch.Tensor, *across: torch.Tensor) -> torch.Tensor:
    """Give the states of the encoder, or of the decoder `across` the states that it reads, with what is added there."""
    states, places = stack.dropout(stack.embed_tokens(ids)), ids.shape[1]
    added = _added(own, stack.block[0].layer[0].SelfAttention.compute_bias(places, places))
    for block in stack.block:
        first, *others, last = block.layer
        normed = _normed(first.layer_norm, states)
        states = states + first.dropout(_attended(first.SelfAttention, normed, normed, added))
        for layer in others:
            normed = _normed(layer.layer_norm, states)
            states = states + layer.dropout(_attended(layer.EncDecAttention, normed, *across))
        states = states + last.dropout(_transformed(last.DenseReluDense, _normed(last.layer_norm, states)))
    return stack.dropout(_normed(stack.final_layer_norm, states))


def _normed(norm: Any, states: torch.Tensor) -> torch.Tensor:
    return _computed(rms_norm(states, norm.weight.shape, norm.weight, norm.variance_epsilon))


def _computed(states: torch.Tensor) -> torch.Tensor:
    """Cast to the precision of matrix products."""
    kind = states.device.type
    return states.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else states


def _added(mask: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Give what is added to the scores of attention."""
    return torch.where(mask, bias, -torch.inf)


def _attended(attention: Any, states: torch.Tensor, read: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    query, key, value = (
        made.unflatten(2, (attention.n_heads, -1)).transpose(1, 2)
        for made in (attention.q(states), attention.k(read), attention.v(read))
    )
    weights = (query @ key.transpose(2, 3) + added).softmax(-1)
    found = dropout(weights, attention.dropout, attention.training) @ value
    made: torch.Tensor = attention.o(found.transpose(1, 2).flatten(2))
    return made


def _transformed(forward: Any, states: torch.Tensor) -> torch.Tensor:
    act = activation(forward)
    inner = act(forward.wi_0(states)) * forward.wi_1(states) if hasattr(forward, "wi_0") else act(forward.wi(states))
    made: torch.Tensor = forward.wo(forward.dropout(inner))
    return made
