"""Encoders give a vector for each word and one for what follows the last."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from csl.baselines.nqg.encoder import Encoder
from csl.errors import InputError

from .tiny_encoders import bert, t5

SOURCES = [("ab", "c", "def"), ("c",), ("?", "ab")]


@pytest.mark.parametrize("make", [bert, t5])
def test_vectors_are_those_of_first_pieces_and_of_the_end(tmp_path: Path, make: object) -> None:
    encoder = Encoder.load(make(tmp_path)).eval()  # type: ignore[operator]
    found = encoder(SOURCES)
    assert [tuple(vectors.shape) for vectors in found] == [(4, 16), (2, 16), (3, 16)]
    for source, vectors in zip(SOURCES, found, strict=True):  # alone, without padding, looked up by hand
        pieces = ["<s>", *(piece for word in source for piece in (encoder.tokenizer.tokenize(word))), "</s>"]
        ids = torch.tensor([encoder.tokenizer.convert_tokens_to_ids(pieces)])
        states = encoder.network(input_ids=ids).last_hidden_state[0]
        places = [1 + sum(len(w) if w != "?" else 1 for w in source[:k]) for k in range(len(source) + 1)]
        torch.testing.assert_close(vectors, states[places], atol=1e-5, rtol=1e-4)


def test_of_weights_that_are_missing_only_the_pooler_may(tmp_path: Path) -> None:
    path = bert(tmp_path / "bert") / "model.safetensors"
    weights = load_file(path)
    save_file({name: w for name, w in weights.items() if "pooler" not in name}, path, {"format": "pt"})
    first, second = (Encoder.load(path.parent).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    save_file({name: w for name, w in weights.items() if "query" not in name}, path, {"format": "pt"})
    with pytest.raises(InputError, match="query"):
        Encoder.load(path.parent)


def test_without_a_token_that_ends_inputs_the_last_piece_serves(tmp_path: Path) -> None:
    encoder = Encoder.load(bert(tmp_path, end=False)).eval()
    vectors = encoder([("ab", "c"), ("a",)])
    torch.testing.assert_close(vectors[0][2], vectors[0][1])
    torch.testing.assert_close(vectors[1][1], vectors[1][0])


def test_what_is_cut_off_has_the_vector_of_the_end(tmp_path: Path) -> None:
    encoder = Encoder.load(bert(tmp_path)).eval()
    encoder.tokenizer.model_max_length = 4  # <s> a ##b </s>
    (vectors,) = encoder([("ab", "c", "d")])
    assert len(vectors) == 4
    torch.testing.assert_close(vectors[1], vectors[3])


@pytest.mark.parametrize("missing", ["folder", "weights"])
def test_what_is_no_encoder_is_refused_in_one_line(tmp_path: Path, missing: str) -> None:
    if missing == "weights":
        (bert(tmp_path) / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match="Hugging Face") as caught:
        Encoder.load(tmp_path / "none" if missing == "folder" else tmp_path)
    assert "\n" not in str(caught.value)
