"""The search of T5 gives the library's logits, whatever the kind of T5, however long, and with rows dropped."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
    UMT5Config,
    UMT5ForConditionalGeneration,
)

from csl.seq2seq.t5 import ENCODED, T5Search, searchable

from .conftest import make_bart, save_t5

SIZES = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2, "vocab_size": 30}
PLACES = 16  # of keys and values on a CPU, at first
SPECIAL = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}


def new_t5(**options: Any) -> PreTrainedModel:
    torch.manual_seed(1)
    network = T5ForConditionalGeneration(T5Config(**{**SIZES, **SPECIAL, **options}))
    for block in (*network.encoder.block, *network.decoder.block):  # of a deviation that matters
        torch.nn.init.normal_(block.layer[0].SelfAttention.q.weight)
    return network.eval()


def inputs(rows: int, wide: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    mask = (torch.arange(wide) < torch.randint(1, wide + 1, (rows, 1))).long()
    return torch.randint(2, 30, (rows, wide)) * mask, mask


@pytest.mark.parametrize("act", ["relu", "gated-gelu", "gated-silu"])
@torch.inference_mode()
def test_logits_are_those_of_the_library(act: str) -> None:
    network = new_t5(feed_forward_proj=act, num_decoder_layers=3)
    (source, mask), before = inputs(ENCODED + 3, 9), torch.randint(2, 30, (ENCODED + 3, 2 * PLACES + 2))
    wanted = network(input_ids=source, attention_mask=mask, decoder_input_ids=before).logits
    search = T5Search(network, source, mask)
    for tokens, logits in zip(before.T, wanted.transpose(0, 1), strict=True):
        assert torch.allclose(search.next_logits(tokens), logits, atol=1e-4)


@torch.inference_mode()
def test_rows_that_are_kept_have_the_logits_they_had() -> None:
    network, (source, mask) = new_t5(), inputs(6, 5)
    before = torch.randint(2, 30, (6, PLACES + 3))
    wanted = network(input_ids=source, attention_mask=mask, decoder_input_ids=before).logits
    search, rows = T5Search(network, source, mask), torch.arange(6)
    for step, kept in enumerate([[0, 1, 2, 3, 4, 5], [0, 5, 2, 3], [3, 1], *[[0, 1]] * PLACES]):
        rows = rows[kept]
        search.keep(torch.tensor(kept))
        assert torch.allclose(search.next_logits(before[rows, step]), wanted[rows, step], atol=1e-4)


def test_which_networks_it_knows(tmp_path: Path) -> None:
    tied, untied = new_t5(), save_t5(tmp_path / "untied", 30)
    make_bart(tmp_path / "bart")
    bart = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "bart").eval()
    assert [searchable(network) for network in (tied, untied, bart)] == [True, True, False]
    other = UMT5ForConditionalGeneration(UMT5Config(**SIZES, **SPECIAL)).eval()
    torch.nn.init.normal_(other.decoder.block[1].layer[0].SelfAttention.relative_attention_bias.weight)
    assert not searchable(other)  # each of its layers has its own biases
    tied.decoder.block[1].layer[2].DenseReluDense.wo = torch.nn.Sequential(
        tied.decoder.block[1].layer[2].DenseReluDense.wo
    )
    assert not searchable(tied)  # an adapter, say


@torch.inference_mode()
def test_in_bf16_weights_are_cast_once() -> None:
    network, (source, mask) = new_t5(), inputs(3, 4)
    before = torch.randint(2, 30, (3, 4))
    with torch.autocast("cpu", torch.bfloat16):
        wanted = network(input_ids=source, attention_mask=mask, decoder_input_ids=before).logits
        search = T5Search(network, source, mask)
        found = torch.stack([search.next_logits(tokens) for tokens in before.T], dim=1)
    assert found.dtype == torch.bfloat16
    assert (found - wanted).abs().max() < 0.03 * wanted.abs().max()


@pytest.mark.parametrize("works", [True, False])
@torch.inference_mode()
def test_steps_are_replayed_as_graphs(
    works: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The graph of this test computes a step from what is in its places, as one of CUDA would."""
    (source, mask), network = inputs(5, 4), new_t5()
    before, replayed = torch.randint(2, 30, (5, PLACES + 6)), list[int]()
    wanted = network(input_ids=source, attention_mask=mask, decoder_input_ids=before).logits
    search = T5Search(network, source, mask)
    search._capturing = True

    class Graph:
        def replay(self) -> None:
            replayed.append(len(search._tokens))
            search._logits.copy_(search._step())

    def capture(graph: Graph) -> AbstractContextManager[None]:
        if not works:
            raise RuntimeError("operation not permitted when stream is capturing\nand more")
        return nullcontext()

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    rows = torch.arange(5)
    for step in range(PLACES + 6):
        if step == 3:
            rows = torch.tensor([4, 1])
            search.keep(rows)
        assert torch.allclose(search.next_logits(before[rows, step]), wanted[rows, step], atol=1e-4)
    assert replayed == ([5] * 2 + [2] * (PLACES - 4) + [2] * 5 if works else [])
    assert ("not captured" in caplog.text) == (not works)


def test_a_gpu_drops_rows_when_that_is_worth_another_graph() -> None:
    search = T5Search(new_t5(), *inputs(80, 4))
    assert [search.drops(going) for going in (80, 79, 20)] == [False, True, True]
    search._capturing = True
    assert [search.drops(going) for going in (80, 79, 20)] == [False, False, True]
    search.keep(torch.arange(20))
    assert not search.drops(1)
