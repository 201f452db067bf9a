"""Tiny models on one thread: 50 pairs, a model that knows them by heart, and a pretrained one that lacks signs."""

import os
import string
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from csl.examples import Example
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.train import Training

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # to the bit the same is a promise of the CPU; child processes know it too

LACKING = "{}<~\\^"  # what T5's tokenizer lacks
SPARE = "¡§°±µ¿×ßéñüøŁłŻżșț"
PLACES = ["texas", "ohio", "utah", "maine", "iowa", "nevada"]
FORMS = {
    "what is the capital of {}": "answer ( capital ( {} ) )",
    "which rivers run through {}": "answer ( river ( traverse ( {} ) ) )",
    "how many people live in {}": "answer ( population ( {} ) )",
    "name the largest city in {}": "answer ( largest ( city ( {} ) ) )",
    "states next to {}": "answer ( state ( border ( {} ) ) )",
}
PAIRS = [Example.of(x.format(place), y.format(place)) for place in PLACES for x, y in FORMS.items()]
PAIRS += [Example.of(f"does {a} border {b}", f"answer ( border ( {a} , {b} ) )") for a, b in combinations(PLACES, 2)]
PAIRS += [
    Example.of(f"is {b} larger than {a}", f"answer ( larger ( {b} , {a} ) )")
    for a, b in list(combinations(PLACES, 2))[::3]
]
TINY = TrainConfig(
    layers=1, heads=2, d_model=16, d_ff=16, dropout=0.1, steps=6, batch_size=4, warmup=2, evaluate_every=2,
    max_target=16, seed=3, precision="fp32",
)  # fmt: skip


def changed(config: TrainConfig, **changes: Any) -> TrainConfig:
    """The config with some values replaced, and all of them checked."""
    return TrainConfig(**{**config.model_dump(), **changes})


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tiny matrices are not worth a second thread."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a model of two layers that was trained on `PAIRS` until it knew them."""
    config = TrainConfig(
        layers=2, heads=4, d_model=32, d_ff=128, dropout=0.0, steps=200, evaluate_every=100, batch_size=16,
        learning_rate=3e-3, warmup=20, max_target=16, seed=2, precision="fp32",
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("learned")
    Training(PAIRS, config, dev=PAIRS, device="cpu").run().model.save(folder / "model")
    return folder


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as others make them, whose tokenizer lacks some signs."""
    return make_pretrained(tmp_path_factory.mktemp("pretrained"), SPARE)


def make_pretrained(folder: Path, spare: str) -> Path:
    """Write a T5 with untrained weights, and a tokenizer with all of ASCII that T5's has, and `spare` characters."""
    signs = [c for c in string.printable.strip() if c not in LACKING]
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), *((c, -9.0) for c in [*signs, *spare])]
    pieces += [(piece, -4.0) for piece in ("▁the", "▁of", "answer", "▁(", "▁)", "ing", "()", "__")]
    made = Tokenizer(models.Unigram(pieces, unk_id=2))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=made, **special).save_pretrained(folder)
    save_t5(folder, len(pieces))
    return folder


def make_bart(folder: Path, **options: Any) -> None:
    """Write an untrained BART with a tokenizer of words, and its usual hints for generation."""
    words = ["<s>", "<pad>", "</s>", "<unk>", *"abcd", "once", "four", "many"]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=made, **special).save_pretrained(folder)
    torch.manual_seed(1)
    layers = {f"{side}_{key}": 1 for side in ("encoder", "decoder") for key in ("layers", "attention_heads")}
    sizes = BartConfig(vocab_size=len(words), d_model=32, encoder_ffn_dim=32, decoder_ffn_dim=32, **layers, **options)
    network = BartForConditionalGeneration(sizes)
    network.generation_config.update(forced_bos_token_id=0, no_repeat_ngram_size=3, early_stopping=True, num_beams=4)
    network.save_pretrained(folder)


def save_t5(folder: Path, vocabulary: int) -> T5ForConditionalGeneration:
    """Write an untrained network whose output matrix is not its embeddings, as that of T5 1.1 and Flan-T5."""
    torch.manual_seed(1)
    sizes = T5Config(
        vocab_size=vocabulary, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
    )  # fmt: skip
    network = T5ForConditionalGeneration(sizes)
    network.lm_head.weight = torch.nn.Parameter(torch.randn(vocabulary, 16))
    network.config.tie_word_embeddings = False  # transformers 5 sets it when the network is made
    network.save_pretrained(folder)
    return network.eval()
