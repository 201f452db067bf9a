"""Tiny decoders with untrained weights, and tokenizers for them: of words, or of characters with a chat template."""

import string
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{% for message in messages %}{{ '<|start|>' + message['role'] + '\n' + message['content'] + '<|stop|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant\n' }}{% endif %}"
)


def words_decoder(folder: Path, words: list[str], **sizes: Any) -> Path:
    """Write a GPT-2 with a tokenizer of words, which begins texts with `<s>`, has no padding, and drops newlines."""
    known = ["<s>", "</s>", "<unk>", *words]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=made, **special).save_pretrained(folder)
    torch.manual_seed(1)
    some = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64} | sizes
    dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.1)
    config = GPT2Config(vocab_size=len(known), bos_token_id=0, eos_token_id=1, **some, **dropout)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def chat_decoder(folder: Path) -> Path:
    """Write a Llama with a tokenizer of bytes and a chat template, whose turns do not end with the end token."""
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|end|>", "<|start|>", "<|stop|>"]
    known = [*special, *signs, *(f"Ġ{c}" for c in string.ascii_lowercase)]
    merges = [("Ġ", c) for c in string.ascii_lowercase]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(known)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(special)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|end|>", additional_special_tokens=special[1:], chat_template=TEMPLATE
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(known), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=128, bos_token_id=None, eos_token_id=0, pad_token_id=None,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
