"""The network: any encoder-decoder or decoder of Hugging Face, from a checkpoint or with new weights.

A new network is a T5 with the sizes of the config and, as T5 1.1 has it, gated feed-forward layers. Its embeddings are
tied and drawn with deviation 1; that trains only because the decoder's output is scaled by d_model^-1/2 before it meets
them (`scale_decoder_outputs`). T5 knows positions by relative biases of attention alone. They start near 0 and move by
a learning rate a step, so that a new network reads its input as a bag of words for thousands of steps: here each head
starts with a side, and every second one with a neighbour, to look at instead. Dropout is off unless it is asked for:
counting and other exact tasks, which are what a new network is for, are learnt far more slowly with T5's 10 %.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from csl.errors import CslError, InputError, from_system
from csl.hub import first_line, loading, quiet, refuse_gaps
from csl.seq2seq.architectures import MODEL_REMEDY, architecture_of
from csl.seq2seq.config import SCRATCH, TrainConfig

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

TOKENS = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id")  # special ones of a checkpoint
DROPOUT = (  # its name in T5, in most others, in BERT, and in GPT-2
    "dropout_rate", "dropout", "hidden_dropout_prob", "resid_pdrop", "embd_pdrop", "attn_pdrop",
)  # fmt: skip
POSITIONS = ("max_position_embeddings", "max_encoder_position_embeddings", "max_decoder_position_embeddings")
D_KV = 64  # dimensions of an attention head
PREFERENCE = 4.0  # of a new head for its neighbour: e^4 times the weight of any other place


def new_network(config: TrainConfig, vocabulary: int) -> "PreTrainedModel":
    """Load the network of a checkpoint, or make one; new weights are drawn with the seed of the config."""
    if config.model != SCRATCH:
        network = load_network(config.model, config.dropout)
        known = network.get_input_embeddings().num_embeddings
        if vocabulary > known:
            raise InputError(f"its tokenizer has {vocabulary:,} tokens, but its network knows {known:,}", config.model)
        return network
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = T5Config(
        vocab_size=vocabulary, d_model=config.d_model, d_kv=D_KV, d_ff=config.d_ff, num_layers=config.layers,
        num_heads=config.heads, feed_forward_proj="gated-gelu", dropout_rate=config.dropout or 0.0, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    torch.manual_seed(config.seed)
    network = T5ForConditionalGeneration(sizes)
    _look_around(network)
    return network


@torch.no_grad()
def _look_around(network: "PreTrainedModel") -> None:
    """Let the heads of self-attention look to one side each, the first half of them at one neighbour there.

    The rows of a bias are distances, small ones one by one; in the encoder the second half is to the right. The decoder
    only has one side.
    """
    for stack in (network.encoder, network.decoder):
        bias = stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight  # [distance, head]
        half, heads = bias.shape[0] // 2, bias.shape[1]
        for head in range(heads):
            near, distance = 0, 1 + head % 7
            if stack is network.encoder:
                near, far = (half, 0) if head % 2 else (0, half)
                bias[far : far + half, head] -= PREFERENCE
                distance = 1 + head // 2 % 7
            if head < (heads + 1) // 2:
                bias[near + distance, head] += PREFERENCE


def load_network(name: str | Path, dropout: float | None = None) -> "PreTrainedModel":
    """Load a network by name or folder, in fp32."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationConfig

    with loading(name, "no model could be loaded", MODEL_REMEDY):
        sizes = AutoConfig.from_pretrained(name)
    if dropout is not None:
        known = [(part, key) for part in _parts(sizes) for key in DROPOUT if hasattr(part, key)]
        for part, key in known:
            setattr(part, key, dropout)
        if not known:
            raise InputError("the model has no dropout to set; remove the option dropout", name)
    family = AutoModelForSeq2SeqLM if sizes.is_encoder_decoder else AutoModelForCausalLM
    with loading(name, "no model could be loaded", MODEL_REMEDY):
        for attention in ({}, {"attn_implementation": "eager"}):  # some lose the decoder's mask with faster attention
            network, found = family.from_pretrained(
                name, config=sizes, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **attention
            )
            if causal := _causal(network):
                break
    refuse_gaps(name, found["missing_keys"], MODEL_REMEDY)
    if not causal:
        raise InputError("the decoder of the model sees future tokens; choose another model", name)
    kept = {key: getattr(network.generation_config, key) for key in TOKENS}
    if kept["decoder_start_token_id"] is None:
        kept["decoder_start_token_id"] = kept["bos_token_id"]
    if kept["decoder_start_token_id"] is None and sizes.is_encoder_decoder:
        raise InputError(
            "the model does not say how outputs start: set decoder_start_token_id in its config.json", name
        )
    network.generation_config = GenerationConfig(**kept)  # nothing of another task, such as never to repeat a trigram
    return network


def _parts(sizes: "PreTrainedConfig") -> list["PreTrainedConfig"]:
    """Give the config of a network and, where it is put together from two, those of its parts."""
    return [sizes, *(part for key in ("encoder", "decoder") if (part := getattr(sizes, key, None)) is not None)]


def positions(network: "PreTrainedModel") -> int:
    """Give the length of texts that a network has positions for; T5 and others have no limit."""
    found = (getattr(part, key, None) for part in _parts(network.config) for key in POSITIONS)
    return min((number for number in found if number), default=10**6)


@torch.no_grad()
def _causal(network: "PreTrainedModel") -> bool:
    """Tell whether the first token of an output does not depend on the second."""
    network.eval()
    source, architecture = torch.tensor([[1, 2, 3]]), architecture_of(network)
    first, second = (
        architecture.logits(network, source, torch.ones_like(source), torch.tensor([[0, token]]))[0, 0]
        for token in (1, 2)
    )
    return torch.allclose(first, second, atol=1e-3)


def save_network(network: "PreTrainedModel", folder: Path) -> None:
    """Write a checkpoint folder; untied embeddings stay untied when it is loaded."""
    from safetensors import SafetensorError

    embedding, output = network.get_input_embeddings(), network.get_output_embeddings()
    network.config.tie_word_embeddings = output.weight is embedding.weight
    try:
        with quiet():
            network.save_pretrained(folder)
    except OSError as error:
        raise from_system(error, "cannot be written", folder) from error
    except SafetensorError as error:  # a full disk
        raise CslError(f"{folder}: cannot be written: {first_line(error)}") from error
