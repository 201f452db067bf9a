"""Search in T5's decoder, without what the library does again at each step.

For every token, the library makes masks and biases, and copies all keys and values to make room for one more; a GPU
spends most of its time on launching many small kernels. Here keys and values have places, which double when all are
taken, and biases come from a table. So a step has the shapes of the one before, and a GPU runs it as a CUDA graph. The
beams of an input read the same keys and values of it, which stay where they are.
Weights are cast to the precision of the search once. Logits are those of the library but for the order of sums;
`searchable` tries that for a network.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import gelu, linear, pad

from csl.hub import first_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LOG = logging.getLogger("csl.predict")
PLACES = {"cpu": 16, "cuda": 64}  # of keys and values, at first; on a GPU, places cost less than another graph
FEW = 64  # rows; fewer take a GPU as long
ENCODED = 32  # inputs that a CPU encodes at a time: of similar length, so with little padding
LARGE = 10**9  # parameters; a larger network keeps a GPU busy as it is, and a copy of it takes memory


class T5Search:
    """The rows of a batch in search, by T5 and networks of its kind."""

    def __init__(self, network: "PreTrainedModel", source: torch.Tensor, mask: torch.Tensor, beams: int = 1) -> None:
        self._device, self._beams = source.device, beams
        self._capturing = self._device.type == "cuda"
        one = torch.ones(1, 1, device=self._device)
        dtype, decoder = (one @ one).dtype, network.get_decoder()
        self._blocks = [_Block(block, dtype) for block in decoder.block]
        self._embedding, self._norm = decoder.embed_tokens, decoder.final_layer_norm
        self._bias_of = decoder.block[0].layer[0].SelfAttention.compute_bias
        self._output = _weight(network.lm_head, dtype)
        self._scale = output_scale(network)
        self._padding = torch.zeros(mask.shape, device=self._device).masked_fill(mask == 0, -torch.inf)[:, None, None]
        self._encode(network.get_encoder(), source, mask)
        self._length = self._places = 0
        self._grow(PLACES.get(self._device.type, 16))

    def _encode(self, encoder: Any, source: torch.Tensor, mask: torch.Tensor) -> None:
        """Find the keys and values of inputs."""
        size = ENCODED if self._device.type == "cpu" else len(source)
        found = []
        for begin in range(0, len(source), size):
            some = slice(begin, begin + size)
            wide = int(mask[some].sum(1).max())
            states = encoder(input_ids=source[some, :wide], attention_mask=mask[some, :wide])[0]
            rest = 0, 0, 0, source.shape[1] - wide
            found.append([[pad(each, rest) for each in block.across.keys_values(states)] for block in self._blocks])
        for block, *parts in zip(self._blocks, *found, strict=True):
            block.across.keys, block.across.values = (torch.cat(part) for part in zip(*parts, strict=True))

    @property
    def _rows(self) -> int:
        return len(self._padding) * self._beams

    def _grow(self, places: int) -> None:
        """Make room for more tokens."""
        rows = self._rows
        for block in self._blocks:
            block.own.grow(rows, places - self._places)
        bias = self._bias_of(places, places)[0].transpose(0, 1)  # [queries, heads, keys]
        later = torch.ones(places, places, dtype=torch.bool, device=self._device).triu(1)
        self._bias, self._places = bias.masked_fill(later[:, None], -torch.inf)[:, :, None], places
        self._new_shapes(rows)

    def _new_shapes(self, rows: int) -> None:
        self._graph: torch.cuda.CUDAGraph | None = None
        self._steps = 0  # with these shapes
        self._tokens = torch.zeros(rows, 1, dtype=torch.long, device=self._device)
        self._place = torch.zeros(1, dtype=torch.long, device=self._device)

    def next_logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """Give the logits [rows, V] after one more token a row; they change with the next step."""
        if self._length == self._places:
            self._grow(2 * self._places)
        self._tokens.copy_(tokens[:, None])
        self._place.fill_(self._length)
        self._length += 1
        if self._capturing and self._steps == 1:  # the first time as it is: libraries set themselves up
            self._capture()
        self._steps += 1
        if not self._graph:
            return self._step()
        self._graph.replay()
        return self._logits

    def _capture(self) -> None:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self._logits = self._step()
            self._graph = graph
        except RuntimeError as error:
            LOG.warning(f"not captured as a CUDA graph, and slower: {first_line(error)}")
            self._capturing = False

    def _step(self) -> torch.Tensor:
        """Give the logits after `_tokens`, which are at `_place`; nothing here depends on values: graphs need that."""
        states = self._embedding(self._tokens)
        bias = self._bias.index_select(0, self._place)
        for block in self._blocks:
            states = block.own(states, bias, self._place)
            beams = states.view(len(self._padding), self._beams, -1)
            states = block.across(beams, self._padding).view(states.shape)
            states = block.forward(states)
        return linear(self._norm(states) * self._scale, self._output)[:, 0]

    def drops(self, going: int) -> bool:
        """Tell whether dropping rows pays when so many are not complete: on a GPU it takes another graph."""
        rows = self._rows
        return FEW < rows >= 4 * going if self._capturing else going < rows

    def keep(self, rows: torch.Tensor) -> None:
        """Put these rows in the place of all; only those are moved that are not in their places."""
        inputs, before = rows[:: self._beams] // self._beams, self._rows
        for kept, attentions in (
            (rows, [block.own for block in self._blocks]),
            (inputs, [block.across for block in self._blocks]),
        ):
            to = (kept != torch.arange(len(kept), device=self._device)).nonzero()[:, 0]
            for attention in attentions:
                for places in (attention.keys, attention.values):
                    places[to] = places[kept[to]]
                attention.keys, attention.values = attention.keys[: len(kept)], attention.values[: len(kept)]
        if len(rows) < before:
            self._padding = self._padding[inputs]
            self._new_shapes(len(rows))


class _Block:
    """A layer of the decoder."""

    def __init__(self, block: Any, dtype: torch.dtype) -> None:
        own, across, forward = block.layer
        self.own = _Attention(own.SelfAttention, own.layer_norm, dtype)
        self.across = _Attention(across.EncDecAttention, across.layer_norm, dtype)
        self.forward = _FeedForward(forward.DenseReluDense, forward.layer_norm, dtype)


class _Attention:
    """An attention, with its keys and values [rows, heads, places, dimensions]."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, module: Any, norm: Any, dtype: torch.dtype) -> None:
        self._norm, self._heads, self._dtype = norm, module.n_heads, dtype
        self._q, self._k, self._v, self._o = (_weight(getattr(module, name), dtype) for name in "qkvo")

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        return states.view(*states.shape[:2], self._heads, -1).transpose(1, 2)

    def keys_values(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Give the keys and values of states [rows, places, d]."""
        states = states.to(self._dtype)
        return self._split(linear(states, self._k)), self._split(linear(states, self._v))

    def grow(self, rows: int, places: int) -> None:
        """Make room for more keys and values."""
        if not hasattr(self, "keys"):
            shape = rows, self._heads, 0, len(self._k) // self._heads
            self.keys, self.values = (torch.empty(shape, dtype=self._dtype, device=self._k.device) for _ in range(2))
        self.keys, self.values = (pad(each, (0, 0, 0, places)) for each in (self.keys, self.values))

    def __call__(self, states: torch.Tensor, bias: torch.Tensor, place: torch.Tensor | None = None) -> torch.Tensor:
        """Add to states [rows, 1, d] what they attend to; their own keys and values go to a place, if there is one."""
        normed = self._norm(states).to(self._dtype)
        if place is not None:
            key, value = self.keys_values(normed)
            self.keys.index_copy_(2, place, key)
            self.values.index_copy_(2, place, value)
        scores = self._split(linear(normed, self._q)) @ self.keys.transpose(2, 3) + bias
        found = scores.softmax(-1) @ self.values
        return states + linear(found.transpose(1, 2).flatten(2), self._o)


class _FeedForward:
    """The rest of a layer."""

    def __init__(self, module: Any, norm: Any, dtype: torch.dtype) -> None:
        self._norm, self._dtype = norm, dtype
        gated = hasattr(module, "wi_0")
        self._inner = [_weight(each, dtype) for each in ((module.wi_0, module.wi_1) if gated else (module.wi,))]
        self._outer = _weight(module.wo, dtype)
        self._act = activation(module)

    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        normed = self._norm(states).to(self._dtype)
        first, *gates = (linear(normed, each) for each in self._inner)
        inner = self._act(first)
        for gate in gates:
            inner = inner * gate
        return states + linear(inner, self._outer)


def activation(forward: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """Give the activation of a feed-forward layer, as one operation where the library has several."""
    act: Callable[[torch.Tensor], torch.Tensor] = forward.act
    return partial(gelu, approximate="tanh") if type(act).__name__ == "NewGELUActivation" else act


def output_scale(network: "PreTrainedModel") -> float:
    """Give the factor of the decoder's states before they meet the output embeddings."""
    config = network.config
    scaled = getattr(config, "scale_decoder_outputs", config.tie_word_embeddings)
    return float(config.d_model**-0.5) if scaled else 1.0


def _weight(module: torch.nn.Module, dtype: torch.dtype) -> torch.Tensor:
    """Give the weights of a linear layer, which may not be an adapter or the like."""
    if type(module) is not torch.nn.Linear or module.bias is not None:
        raise TypeError(type(module).__name__)
    return module.weight.to(dtype)


@torch.inference_mode()
def searchable(network: "PreTrainedModel") -> bool:
    """Tell whether `T5Search` gives the logits that the network gives."""
    device = network.device
    if device.type != "cpu" and sum(each.numel() for each in network.parameters()) > LARGE:
        return False
    source, before = (
        torch.tensor(rows, device=device) for rows in ([[1, 2, 1, 2], [2, 1, 0, 0]], [[0, 2, 1], [0, 1, 2]])
    )
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], device=device)
    try:
        with torch.autocast(device.type, enabled=False):
            wanted = network(input_ids=source, attention_mask=mask, decoder_input_ids=before, use_cache=False).logits
            search = T5Search(network, source, mask)
            found = torch.stack([search.next_logits(tokens).clone() for tokens in before.T], dim=1)
    except (RuntimeError, ValueError, TypeError, AttributeError):  # not of T5's kind
        return False
    return found.shape == wanted.shape and bool((found - wanted).abs().max() < 1e-4 * wanted.abs().max())
