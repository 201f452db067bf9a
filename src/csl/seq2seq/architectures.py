"""How networks are called: an encoder-decoder reads its input apart, a decoder before the output that it writes.

For both, `before` [rows, T] is a start symbol and all of an output but its last token, and the logits [rows, T, V] are
those of the output's tokens. A decoder starts from the last token of its prompt, so inputs are padded on the left: all
end in the same column, and positions are counted from the first token that is no padding.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch

from csl.hub import loading
from csl.seq2seq.t5 import T5Search, searchable

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MODEL_REMEDY = "give a folder with a Hugging Face seq2seq or causal model, or the name of one on the hub"

Network = Callable[..., Any]  # a network, or one that several processes share


class Search(Protocol):
    """The rows of a batch in search: those of an input, a row a beam, are side by side."""

    def next_logits(self, tokens: torch.Tensor) -> torch.Tensor | None:
        """Give the logits [rows, V] after one more token a row; None where rows of the cache cannot be moved."""

    def drops(self, going: int) -> bool:
        """Tell whether dropping rows pays when so many are not complete."""

    def keep(self, rows: torch.Tensor) -> None:
        """Put these rows in the place of all; with beams, as many of each input that is kept as there are beams."""


class Architecture(Protocol):
    """A way to call a network."""

    left: bool  # whether inputs are padded on the left

    def start(self, source: torch.Tensor) -> torch.Tensor:
        """Give the token [rows] before each output."""

    def logits(self, network: Network, source: torch.Tensor, mask: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """Give the logits of all tokens of outputs."""

    def search(self, source: torch.Tensor, mask: torch.Tensor, beams: int = 1) -> Search:
        """Begin a search."""

    def prompt(self, source: torch.Tensor) -> int:
        """Give the number of columns that `generate` returns before the start symbol."""


class EncoderDecoder:
    """T5, BART and the like."""

    left = False

    def __init__(self, network: "PreTrainedModel") -> None:
        self._network, self._start = network, network.generation_config.decoder_start_token_id
        self._t5: bool | None = None  # not known yet

    def start(self, source: torch.Tensor) -> torch.Tensor:
        """Give the start symbol, as in prediction; some networks would begin otherwise in training."""
        return torch.full_like(source[:, 0], self._start)

    def logits(self, network: Network, source: torch.Tensor, mask: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """Give the logits of all tokens of outputs."""
        made = network(input_ids=source, attention_mask=mask, decoder_input_ids=before, use_cache=False)
        found: torch.Tensor = made.logits
        return found

    def search(self, source: torch.Tensor, mask: torch.Tensor, beams: int = 1) -> Search:
        """Begin a search."""
        if self._t5 is None:
            self._t5 = searchable(self._network)
        return (T5Search if self._t5 else _EncoderDecoderSearch)(self._network, source, mask, beams)

    def prompt(self, source: torch.Tensor) -> int:
        """Nothing: inputs are read apart."""
        return 0


class _EncoderDecoderSearch:
    def __init__(self, network: "PreTrainedModel", source: torch.Tensor, mask: torch.Tensor, beams: int) -> None:
        self._network, self._mask, self._cache = network, mask.repeat_interleave(beams, 0), None
        self._states = network.get_encoder()(input_ids=source, attention_mask=mask)
        self._states.last_hidden_state = self._states.last_hidden_state.repeat_interleave(beams, 0)

    def next_logits(self, tokens: torch.Tensor) -> torch.Tensor | None:
        from transformers import EncoderDecoderCache

        made = self._network(
            encoder_outputs=self._states, attention_mask=self._mask, decoder_input_ids=tokens[:, None],
            past_key_values=self._cache, use_cache=True,
        )  # fmt: skip
        self._cache = made.past_key_values
        return made.logits[:, -1] if isinstance(self._cache, EncoderDecoderCache) else None

    def drops(self, going: int) -> bool:
        return going < len(self._mask)

    def keep(self, rows: torch.Tensor) -> None:
        self._mask, self._states.last_hidden_state = self._mask[rows], self._states.last_hidden_state[rows]
        self._cache.batch_select_indices(rows)  # type: ignore[attr-defined]


class Decoder:
    """GPT-2, Llama and the like."""

    left = True

    def __init__(self, network: "PreTrainedModel") -> None:
        self._network, self._arguments = network, inspect.signature(network.forward).parameters.keys()

    def start(self, source: torch.Tensor) -> torch.Tensor:
        """Give the last token of each prompt."""
        return source[:, -1]

    def logits(self, network: Network, source: torch.Tensor, mask: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """Give the logits of all tokens of outputs; what pads an output comes after it, and no token sees it."""
        seen = torch.cat([mask[:, :-1], torch.ones_like(before)], dim=1)
        options = self.options(seen, source.shape[1] - 1 + before.shape[1], before.shape[1])
        made = network(input_ids=torch.cat([source[:, :-1], before], dim=1), use_cache=False, **options)
        found: torch.Tensor = made.logits[:, -before.shape[1] :]
        return found

    def options(self, mask: torch.Tensor, new: int, wanted: int) -> dict[str, Any]:
        """Give the mask, the positions of the last `new` tokens, and of how many of them logits are `wanted`."""
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -new:]
        known = {"attention_mask": mask, "position_ids": positions, "logits_to_keep": wanted}
        return {name: value for name, value in known.items() if self.takes(name)}

    def takes(self, argument: str) -> bool:
        """Tell whether the network has an argument of this name."""
        return argument in self._arguments

    def search(self, source: torch.Tensor, mask: torch.Tensor, beams: int = 1) -> Search:
        """Begin a search."""
        return _DecoderSearch(self, self._network, source.repeat_interleave(beams, 0), mask.repeat_interleave(beams, 0))

    def prompt(self, source: torch.Tensor) -> int:
        """All of the prompt but its last token."""
        return source.shape[1] - 1


class _DecoderSearch:
    def __init__(
        self, architecture: Decoder, network: "PreTrainedModel", source: torch.Tensor, mask: torch.Tensor
    ) -> None:
        from transformers import DynamicCache
        from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

        self._architecture, self._network = architecture, network
        self._droppable = DynamicLayer, DynamicSlidingWindowLayer
        self._new, self._mask, self._cache = source[:, :-1], mask[:, :-1], DynamicCache(config=network.config)

    def next_logits(self, tokens: torch.Tensor) -> torch.Tensor | None:
        if not self._architecture.takes("past_key_values"):  # a state, such as Mamba's
            return None
        new = torch.cat([self._new, tokens[:, None]], dim=1)
        self._mask = torch.cat([self._mask, torch.ones_like(tokens[:, None])], dim=1)
        options = self._architecture.options(self._mask, new.shape[1], 1)
        made = self._network(input_ids=new, past_key_values=self._cache, use_cache=True, **options)
        self._new = new[:, :0]
        return made.logits[:, -1] if all(type(layer) in self._droppable for layer in self._cache.layers) else None

    def drops(self, going: int) -> bool:
        return going < len(self._mask)

    def keep(self, rows: torch.Tensor) -> None:
        self._new, self._mask = self._new[rows], self._mask[rows]
        self._cache.batch_select_indices(rows)


def architecture_of(network: "PreTrainedModel") -> Architecture:
    """Find out how to call a network."""
    return EncoderDecoder(network) if network.config.is_encoder_decoder else Decoder(network)


def is_decoder(name: str | Path) -> bool:
    """Tell whether a checkpoint, by name or folder, is of a decoder without an encoder."""
    from transformers import AutoConfig

    with loading(name, "no model could be loaded", MODEL_REMEDY):
        return not AutoConfig.from_pretrained(name).is_encoder_decoder
