"""Encoders so small that they are made on the spot: untrained, with a tokenizer that cuts words into letters."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, T5Config, T5Model

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]


def write_tokenizer(folder: Path, *, end: bool = True) -> None:
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = {piece: i for i, piece in enumerate([*SPECIAL, *letters, *(f"##{c}" for c in letters)])}
    made = Tokenizer(models.WordPiece(pieces, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if end:
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
        )
    PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", unk_token="<unk>").save_pretrained(folder)


def bert(folder: Path, *, end: bool = True) -> Path:
    """An encoder."""
    torch.manual_seed(0)
    sizes = BertConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )  # fmt: skip
    BertModel(sizes).save_pretrained(folder)
    write_tokenizer(folder, end=end)
    return folder


def t5(folder: Path) -> Path:
    """An encoder-decoder."""
    torch.manual_seed(0)
    T5Model(T5Config(vocab_size=60, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)).save_pretrained(folder)
    write_tokenizer(folder)
    return folder
