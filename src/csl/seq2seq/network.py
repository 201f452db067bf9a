"""The network: any encoder-decoder of Hugging Face, from a checkpoint or with new weights.

A new network is a T5 with the sizes of the config. Its embeddings are tied and drawn with deviation 1, as T5 has it;
that trains only because the decoder's output is scaled by d_model^-1/2 before it meets them (`scale_decoder_outputs`).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from csl.errors import InputError
from csl.seq2seq.codec import MODEL_REMEDY, first_line
from csl.seq2seq.config import SCRATCH, TrainConfig

if TYPE_CHECKING:
    from transformers import PreTrainedModel

D_KV = 64  # dimensions of an attention head


def new_network(config: TrainConfig, vocabulary: int) -> "PreTrainedModel":
    """Load the network of a checkpoint, or make one; new weights are drawn with the seed of the config."""
    if config.model != SCRATCH:
        return load_network(config.model, config.dropout)
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = T5Config(
        vocab_size=vocabulary, d_model=config.d_model, d_kv=D_KV, d_ff=config.d_ff, num_layers=config.layers,
        num_heads=config.heads, dropout_rate=config.dropout, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    torch.manual_seed(config.seed)
    return T5ForConditionalGeneration(sizes)


def load_network(name: str | Path, dropout: float | None = None) -> "PreTrainedModel":
    """Load an encoder-decoder by name or folder, in fp32."""
    from transformers import AutoConfig, AutoModelForSeq2SeqLM

    try:
        with _quiet():
            sizes = AutoConfig.from_pretrained(name)
            if dropout is not None:
                for key in ("dropout_rate", "dropout"):  # T5's name, and the others'
                    if hasattr(sizes, key):
                        setattr(sizes, key, dropout)
            network: PreTrainedModel = AutoModelForSeq2SeqLM.from_pretrained(name, config=sizes, dtype=torch.float32)
    except Exception as error:  # what a missing, foreign or damaged checkpoint raises differs by library and version
        raise InputError(f"no seq2seq model could be loaded: {first_line(error)}; {MODEL_REMEDY}", name) from error
    return network


def save_network(network: "PreTrainedModel", folder: Path) -> None:
    """Write a checkpoint folder; untied embeddings stay untied when it is loaded."""
    embedding, output = network.get_input_embeddings(), network.get_output_embeddings()
    network.config.tie_word_embeddings = output.weight is embedding.weight
    with _quiet():
        network.save_pretrained(folder)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's progress bars and hints out of our output."""
    from transformers.utils import logging as noise

    bars, level = noise.is_progress_bar_enabled(), noise.get_verbosity()
    noise.disable_progress_bar()
    noise.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        noise.set_verbosity(level)
        if bars:
            noise.enable_progress_bar()
