"""Networks start as they should, depend on the seed alone, and are the same after saving and loading."""

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    BertConfig,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
    UMT5Config,
    UMT5ForConditionalGeneration,
)
from transformers.utils import logging

from csl.errors import InputError
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.network import load_network, new_network, positions, save_network

from .conftest import TINY, changed, save_t5


def batch(vocabulary: int) -> dict[str, torch.Tensor]:
    chance = torch.Generator().manual_seed(0)
    return {
        "input_ids": torch.randint(3, vocabulary, (8, 12), generator=chance),
        "labels": torch.randint(3, vocabulary, (8, 20), generator=chance),
    }


def logits(network: torch.nn.Module, vocabulary: int) -> torch.Tensor:
    with torch.inference_mode():
        return network.eval()(**batch(vocabulary)).logits


def says_tied(folder: Path) -> bool:
    """What other versions of the library go by."""
    return bool(json.loads((folder / "config.json").read_text("utf-8"))["tie_word_embeddings"])


@pytest.mark.parametrize(("d_model", "vocabulary"), [(64, 50), (256, 1000)])
def test_a_new_network_gives_all_words_much_the_same_chance(d_model: int, vocabulary: int) -> None:
    network = new_network(TrainConfig(d_model=d_model, d_ff=128, layers=2), vocabulary).eval()
    with torch.inference_mode():
        found = network(**batch(vocabulary))
    # tied embeddings favour the token before, which costs some nats; without scaling it would be 30 and more
    assert found.loss.item() == pytest.approx(math.log(vocabulary), abs=3)
    assert found.logits.std().item() == pytest.approx(1, abs=0.3)
    assert network.shared.weight is network.lm_head.weight


def test_heads_of_a_new_network_have_a_side_and_half_of_them_a_neighbour() -> None:
    network = new_network(TrainConfig(heads=8, d_model=64, d_ff=64, layers=1), 30)
    for stack, wanted in ((network.encoder, [9, 11, 8, 12]), (network.decoder, [9, 8, 7, 6])):
        bias = stack.block[0].layer[0].SelfAttention.compute_bias(20, 20)[0]  # [head, from, to]
        bias = bias[:, 10, : 11 if stack is network.decoder else 20]
        assert bias[:4].argmax(-1).tolist() == wanted
        assert bias.max() < 5  # a start, not a rule
        if stack is network.encoder:
            left, right = bias[:, :10].mean(1), bias[:, 11:].mean(1)
            assert (left > right + 3).tolist() == [True, False] * 4
            assert (right > left + 3).tolist() == [False, True] * 4
        assert bias[4:].max() < 1  # no neighbour


def test_sizes_are_those_of_the_config() -> None:
    config = TrainConfig(layers=2, heads=3, d_model=32, d_ff=48, dropout=0.25)
    network = new_network(config, 77)
    assert network.shared.weight.shape == (77, 32)
    for stack in (network.encoder, network.decoder):
        assert len(stack.block) == 2
        assert stack.block[0].layer[0].SelfAttention.q.weight.shape == (3 * 64, 32)
        assert stack.block[1].layer[-1].DenseReluDense.wi_0.weight.shape == (48, 32)
        assert stack.dropout.p == 0.25


def test_the_seed_alone_decides_the_weights() -> None:
    torch.manual_seed(1)
    one = new_network(TINY, 30).state_dict()
    torch.manual_seed(2)
    again, other = new_network(TINY, 30).state_dict(), new_network(changed(TINY, seed=4), 30).state_dict()
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["shared.weight"], other["shared.weight"])


def test_a_new_network_is_the_same_after_saving_and_loading(tmp_path: Path) -> None:
    network = new_network(TINY, 30)
    save_network(network, tmp_path)
    back = load_network(tmp_path)
    assert torch.equal(logits(back, 30), logits(network, 30))
    assert back.shared.weight is back.lm_head.weight
    assert says_tied(tmp_path)


def test_an_output_matrix_of_its_own_stays_so(tmp_path: Path) -> None:
    made = save_t5(tmp_path / "given", 30)
    first = load_network(tmp_path / "given")
    save_network(first, tmp_path / "saved")
    second = load_network(tmp_path / "saved")
    for network in (first, second):
        assert torch.equal(network.lm_head.weight, made.lm_head.weight)
        assert torch.equal(network.shared.weight, made.shared.weight)
        assert not torch.equal(network.lm_head.weight, network.shared.weight)
        assert torch.equal(logits(network, 30), logits(made, 30))
    assert {"shared.weight", "lm_head.weight"} <= load_file(tmp_path / "saved" / "model.safetensors").keys()
    assert not says_tied(tmp_path / "saved")
    plain = T5ForConditionalGeneration.from_pretrained(tmp_path / "saved")  # as others load it
    assert torch.equal(logits(plain, 30), logits(made, 30))


def test_a_network_has_the_dropout_of_the_config_or_of_its_checkpoint_or_none(tmp_path: Path) -> None:
    fresh = new_network(TrainConfig(d_model=16, d_ff=16, layers=1), 30)
    assert {module.p for module in fresh.modules() if isinstance(module, torch.nn.Dropout)} == {0.0}
    save_t5(tmp_path, 30)
    network = new_network(TrainConfig(model=str(tmp_path), dropout=0.4), 0)
    assert {m.p for m in network.modules() if isinstance(m, torch.nn.Dropout)} == {0.4}
    assert load_network(tmp_path).config.dropout_rate == 0.1  # as it was saved
    assert new_network(TrainConfig(model=str(tmp_path)), 0).config.dropout_rate == 0.1


def test_both_parts_of_a_network_of_two_have_it(tmp_path: Path) -> None:
    part = BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, bos_token_id=3
    )
    network = EncoderDecoderModel(EncoderDecoderConfig.from_encoder_decoder_configs(part, part))
    network.config.decoder_start_token_id = 1
    network.save_pretrained(tmp_path)
    found = load_network(tmp_path, 0.4)
    assert {found.config.encoder.hidden_dropout_prob, found.config.decoder.hidden_dropout_prob} == {0.4}
    assert positions(found) == 512
    assert positions(new_network(TINY, 30)) == 10**6


def test_a_decoder_does_not_see_what_is_to_come(tmp_path: Path) -> None:
    """UMT5 loses its mask with the library's default attention."""
    sizes = {"vocab_size": 30, "d_model": 16, "d_ff": 16, "num_layers": 1, "num_heads": 2, "d_kv": 8}
    network = UMT5ForConditionalGeneration(UMT5Config(**sizes, decoder_start_token_id=0)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
    network.save_pretrained(tmp_path)
    found = load_network(tmp_path)
    with torch.inference_mode():
        a, b = (
            found(input_ids=torch.ones(1, 4, dtype=torch.long), decoder_input_ids=torch.tensor([[0, n]]))
            for n in (5, 6)
        )
    assert torch.allclose(a.logits[0, 0], b.logits[0, 0], atol=1e-4)
    assert not torch.allclose(a.logits[0, 1], b.logits[0, 1], atol=1e-4)


def test_more_tokens_than_embeddings_are_refused(tmp_path: Path) -> None:
    save_t5(tmp_path, 30)
    with pytest.raises(InputError, match=r"31 .* 30"):
        new_network(TrainConfig(model=str(tmp_path)), 31)


def test_a_network_that_does_not_know_how_to_start_is_refused(tmp_path: Path) -> None:
    network = save_t5(tmp_path, 30)
    network.config.decoder_start_token_id = network.generation_config.decoder_start_token_id = None
    network.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="decoder_start_token_id"):
        load_network(tmp_path)


def test_weights_are_loaded_in_full_precision(tmp_path: Path) -> None:
    save_t5(tmp_path, 30).bfloat16().save_pretrained(tmp_path)
    assert {p.dtype for p in load_network(tmp_path).parameters()} == {torch.float32}


def test_what_cannot_be_loaded_is_refused_in_one_line(tmp_path: Path) -> None:
    save_t5(tmp_path / "short", 30)
    weights = tmp_path / "short" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    save_t5(tmp_path / "bare", 30)
    (tmp_path / "bare" / "model.safetensors").unlink()
    (tmp_path / "empty").mkdir()
    for name in ("short", "bare", "empty", "absent"):
        with pytest.raises(InputError, match="Hugging Face") as caught:
            load_network(tmp_path / name)
        assert str(caught.value).startswith(str(tmp_path / name))
        assert "\n" not in str(caught.value)


def test_a_checkpoint_without_a_decoder_is_refused(tmp_path: Path) -> None:
    sizes = T5Config(vocab_size=30, d_model=8, d_ff=8, num_layers=1, num_heads=1, d_kv=8)
    T5EncoderModel(sizes).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=str(tmp_path)):
        load_network(tmp_path)


def test_the_library_is_quiet_while_networks_are_loaded_and_as_before_afterwards(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    save_t5(tmp_path, 30)
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    capfd.readouterr()
    save_network(load_network(tmp_path), tmp_path)
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (level, bars)
