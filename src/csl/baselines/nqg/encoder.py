"""A pretrained encoder: a vector for each word of an input, and one for what follows the last.

Any encoder of Hugging Face serves, also the encoder of an encoder-decoder. The vector of a word is that of its first
piece; what follows the last word is the token that ends the input, if the tokenizer has one, else the last piece.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from csl.errors import InputError
from csl.hub import loading, refuse_gaps

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

REMEDY = "give a folder with a Hugging Face encoder or encoder-decoder, or the name of one on the hub"


class Encoder(torch.nn.Module):
    """A network and its tokenizer."""

    def __init__(self, network: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", sizes: Any) -> None:
        super().__init__()
        self.network, self.tokenizer, self.sizes = network, tokenizer, sizes
        self.width = int(getattr(sizes, "hidden_size", 0) or sizes.d_model)

    @classmethod
    def load(cls, name: str | Path, *, new_weights: bool = False) -> "Encoder":
        """Load an encoder by name or folder; with `new_weights`, only its sizes and tokenizer."""
        from transformers import AutoConfig, AutoModel, AutoTokenizer  # noqa: PLC0415 — it takes seconds to import

        with loading(name, "no encoder could be loaded", REMEDY), torch.random.fork_rng():
            torch.manual_seed(0)  # for the pooler, which some checkpoints lack, and nothing here uses
            sizes, tokenizer = AutoConfig.from_pretrained(name), AutoTokenizer.from_pretrained(name)
            if new_weights:
                whole, missing = AutoModel.from_config(sizes), []
            else:
                whole, found = AutoModel.from_pretrained(name, use_safetensors=True, output_loading_info=True)
                missing = [key for key in found["missing_keys"] if not key.startswith("pooler.")]
        refuse_gaps(name, missing, REMEDY)
        if not tokenizer.is_fast:
            raise InputError(f"its tokenizer cannot tell which piece is of which word; {REMEDY}", name)
        network = whole.get_encoder() if sizes.is_encoder_decoder else whole
        return cls(network.float(), tokenizer, sizes)

    def forward(self, sources: Sequence[Sequence[str]]) -> list[torch.Tensor]:
        """Give the vectors of inputs, of n words each: n + 1 rows."""
        batch = self.tokenizer(
            [list(source) for source in sources], is_split_into_words=True, truncation=True, padding=True,
            return_tensors="pt",
        )  # fmt: skip
        device = next(self.parameters()).device
        ids, mask = batch["input_ids"].to(device), batch["attention_mask"].to(device)
        states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
        masks = batch["attention_mask"].tolist()
        return [states[k, _places(batch.word_ids(k), masks[k], len(source))] for k, source in enumerate(sources)]


def _places(word_of: Sequence[int | None], mask: Sequence[int], words: int) -> list[int]:
    """Give the place of the first piece of each word, and of what follows the last.

    A word without pieces, or one that was cut off, has the place of what comes next.
    """
    pieces = [p for p, word in enumerate(word_of) if word is not None]
    last = pieces[-1] if pieces else 0
    place = last + 1 if last + 1 < len(mask) and mask[last + 1] else last
    first = {word_of[p]: p for p in reversed(pieces)}
    places = [place]
    for word in reversed(range(words)):
        place = first.get(word, place)
        places.append(place)
    return places[::-1]
