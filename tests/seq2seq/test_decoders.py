"""Decoders learn outputs after prompts: loss on outputs only, the same outputs in any batch, the same after a stop."""

import json
import logging
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BertConfig, BertLMHeadModel

from csl.errors import InputError, LimitWarning
from csl.examples import Example
from csl.grammar.output_cfg import OutputCfg
from csl.seq2seq.batches import Batch
from csl.seq2seq.checkpoint import Tensors
from csl.seq2seq.codec import new_codec
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.mask import OutputMask
from csl.seq2seq.network import load_network
from csl.seq2seq.predictor import Seq2Seq
from csl.seq2seq.train import Progress, Training

from .conftest import changed
from .decoders import chat_decoder, words_decoder

WORDS = ["a", "b", "c", "d", "once", "twice", "really", "A", "B", "C", "D"]
PAIRS = [Example.of(f"{n} {w}", " ".join([w.upper()] * k)) for w in "abcd" for k, n in enumerate(("once", "twice"), 1)]
INPUTS = ["a", "twice", "really really really once c", "", *(pair.source_text for pair in PAIRS)]
KINDS = ["words", "chat"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {
        "words": words_decoder(tmp_path_factory.mktemp("words"), WORDS),
        "chat": chat_decoder(tmp_path_factory.mktemp("chat")),
    }


def config_of(folder: Path, **options: Any) -> TrainConfig:
    fast = {"steps": 60, "batch_size": 8, "learning_rate": 0.01, "warmup": 10, "max_target": 16, "seed": 3}
    fast |= {"precision": "fp32"}
    return TrainConfig(model=str(folder), **fast | options)


@pytest.fixture(scope="module")
def learned(folders: dict[str, Path]) -> dict[str, Seq2Seq]:
    return {kind: Training(PAIRS, config_of(folders[kind]), device="cpu").run().model for kind in KINDS}


def untrained(folder: Path, **options: Any) -> Seq2Seq:
    config = config_of(folder, **options)
    return Seq2Seq(load_network(folder), new_codec(config, WORDS), config, torch.device("cpu"))


def log_prob(model: Seq2Seq, source: str, target: str) -> float:
    """Add up log p of the tokens of an output after its prompt, without padding."""
    [prompt], [ids] = model.codec.encode_sources([source]), model.codec.encode_targets([target])
    with torch.inference_mode():
        logits = model.network.eval()(input_ids=torch.tensor([[*prompt, *ids[:-1]]])).logits[0, len(prompt) - 1 :]
    return sum(float(row.log_softmax(-1)[i]) for row, i in zip(logits, ids, strict=True))


# prompts


def test_a_chat_template_frames_the_input(folders: dict[str, Path]) -> None:
    codec = new_codec(config_of(folders["chat"], prefix="do: ", system="be brief"), WORDS)
    [prompt] = codec.encode_sources(["once a"])
    expected = "<|start|>system\nbe brief<|stop|>\n<|start|>user\ndo: once a<|stop|>\n<|start|>assistant\n"
    assert codec.tokenizer.decode(prompt) == expected
    assert codec.tokenizer.decode(codec.encode_targets(["A A"])[0]) == "A A<|stop|>"


def test_without_a_template_an_input_is_a_line_or_ends_with_the_end_token(folders: dict[str, Path]) -> None:
    codec = new_codec(config_of(folders["words"]), WORDS)
    [prompt], [output] = codec.encode_sources(["once a"]), codec.encode_targets(["A A"])
    assert codec.tokenizer.convert_ids_to_tokens(prompt) == ["<s>", "once", "a", "</s>"]  # it drops newlines
    assert codec.tokenizer.convert_ids_to_tokens(output) == ["A", "A", "</s>"]
    tokenizer = AutoTokenizer.from_pretrained(folders["chat"])
    tokenizer.chat_template = None
    tokenizer.save_pretrained(folders["chat"] / "plain")
    (folders["chat"] / "plain" / "config.json").write_bytes((folders["chat"] / "config.json").read_bytes())
    codec = new_codec(config_of(folders["chat"] / "plain"), WORDS)
    assert codec.tokenizer.decode(codec.encode_sources(["once a"])[0]) == "once a\n"
    with pytest.raises(InputError, match="system"):
        new_codec(config_of(folders["words"], system="be brief"), WORDS)


def test_long_inputs_are_cut_and_leave_room_for_outputs(tmp_path: Path) -> None:
    model = untrained(words_decoder(tmp_path, WORDS, n_positions=24), max_target=256)
    assert (model.codec.max_source, model.codec.max_target) == (16, 8)
    [prompt] = model.codec.encode_sources(["really " * 50])
    assert model.codec.tokenizer.convert_ids_to_tokens(prompt) == ["<s>", *["really"] * 14, "</s>"]
    with pytest.warns(LimitWarning, match="1 of 1 inputs"):
        model.predict(["really " * 50], scores=True)


# learning and writing


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_learnt_by_heart_and_survive_files(kind: str, learned: dict[str, Seq2Seq], tmp_path: Path) -> None:
    model = learned[kind]
    model.save(tmp_path)
    for one in (model, Seq2Seq.load(tmp_path)):
        found = one.predict([pair.source_text for pair in PAIRS])
        assert [outputs[0].text for outputs in found] == [pair.target_text for pair in PAIRS]


def test_classes_of_others_load_it_and_stop_at_its_end(learned: dict[str, Seq2Seq], tmp_path: Path) -> None:
    learned["chat"].save(tmp_path)
    network, tokenizer = AutoModelForCausalLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    chat = [{"role": "user", "content": "twice b"}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    written = network.generate(**prompt, max_new_tokens=30, do_sample=False)[0, prompt["input_ids"].shape[1] :]
    assert tokenizer.decode(written) == "B B<|stop|>"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trained", [True, False])
def test_greedy_search_writes_what_generate_writes(
    kind: str, trained: bool, folders: dict[str, Path], learned: dict[str, Seq2Seq], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = learned[kind] if trained else untrained(folders[kind])
    found = model.predict(INPUTS)
    assert found == [model.predict([text])[0] for text in INPUTS]  # whatever it is padded to
    monkeypatch.setattr(model, "_greedy", lambda *_: None)
    assert model.predict(INPUTS) == found


@pytest.mark.parametrize("kind", KINDS)
def test_beam_search_writes_what_generate_writes(
    kind: str, learned: dict[str, Seq2Seq], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = learned[kind]
    found = model.predict(INPUTS, beams=3, k=3, scores=True)
    monkeypatch.setattr(model, "_beams", lambda *_: None)
    for wanted, outputs in zip(model.predict(INPUTS, beams=3, k=3, scores=True), found, strict=True):
        assert [output.text for output in outputs] == [output.text for output in wanted]
        scores = [output.log_prob for output in wanted]
        assert [output.log_prob for output in outputs] == pytest.approx(scores, abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beams", [1, 3])
def test_scores_are_those_of_the_output_alone(kind: str, beams: int, learned: dict[str, Seq2Seq]) -> None:
    inputs = [pair.source_text for pair in PAIRS]
    for source, [output] in zip(inputs, learned[kind].predict(inputs, beams=beams, scores=True), strict=True):
        assert output.log_prob == pytest.approx(log_prob(learned[kind], source, output.text), abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_that_of_outputs_only(kind: str, folders: dict[str, Path]) -> None:
    long = [Example.of("really really really once a", "A"), *PAIRS]
    training = Training(long, config_of(folders[kind], steps=1, batch_size=9, dropout=0 if kind == "words" else None))
    tokens = sum(len(row) for row in training._model.codec.encode_targets([pair.target_text for pair in long]))
    before = -sum(log_prob(training._model, pair.source_text, pair.target_text) for pair in long) / tokens
    reports: list[Progress] = []
    training.run(progress=reports.append)
    assert reports[0].loss == pytest.approx(before, abs=1e-4)


def test_micro_batches_of_left_padded_prompts_lose_nothing() -> None:
    source, mask = torch.tensor([[0, 0, 5], [1, 2, 3]]).numpy(), torch.tensor([[0, 0, 1], [1, 1, 1]]).numpy()
    batch = Batch(source, mask, torch.tensor([[4, -100], [4, 6]]).numpy(), 3, left=True)
    assert [part.source[0, part.mask[0] == 1].tolist() for part in batch.micro_batches(2)] == [[5], [1, 2, 3]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beams", [1, 3])
def test_a_mask_allows_only_outputs_of_the_cfg(kind: str, beams: int, folders: dict[str, Path]) -> None:
    pytest.importorskip("llguidance")
    cfg = OutputCfg.parse("ROOT => A ##X\nROOT => B\nX => C ##X\nX => D\n".splitlines())
    model = untrained(folders[kind])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)  # some may not end
        found = model.predict(INPUTS, mask=OutputMask(cfg, model.codec), beams=beams)
    assert all(re.fullmatch(r"(A (C )*D|B)?", outputs[0].text) for outputs in found)
    assert any(outputs[0].text for outputs in found)


# stopping and adapters


class Memory:
    """A checkpoint that is only remembered."""

    state: tuple[Tensors, dict[str, Any]] | None = None

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        return self.state

    def save(self, tensors: Tensors, about: Mapping[str, object]) -> None:
        self.state = {name: weight.detach().clone() for name, weight in tensors.items()}, json.loads(json.dumps(about))

    def remove(self) -> None:
        self.state = None


class Killed(BaseException):
    pass


def stop_at(step: int) -> Any:
    def progress(report: Progress) -> None:
        if report.step == step:
            raise Killed

    return progress


@pytest.mark.parametrize("lora", [None, 2])
def test_a_stopped_training_resumes_as_if_it_had_not_stopped(lora: int | None, folders: dict[str, Path]) -> None:
    if lora:
        pytest.importorskip("peft")
    config = config_of(folders["words"], steps=9, evaluate_every=3, dropout=0.2, lora=lora)
    checkpoint, parts = Memory(), {"dev": PAIRS[:3], "synthetic": PAIRS[4:], "device": "cpu"}
    whole = Training(PAIRS, config, **parts).run().model.network.state_dict()
    with pytest.raises(Killed):
        Training(PAIRS, config, **parts).run(checkpoint, stop_at(9))
    resumed = Training(PAIRS, config, **parts).run(checkpoint).model.network.state_dict()
    assert checkpoint.state
    assert checkpoint.state[1]["step"] == 6
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(weight, resumed[name]) for name, weight in whole.items())


def test_adapters_alone_are_trained_and_then_merged(folders: dict[str, Path], tmp_path: Path) -> None:
    pytest.importorskip("peft")
    checkpoint = Memory()
    config = config_of(folders["chat"], lora=4, steps=10, evaluate_every=5)
    model = Training(PAIRS, config, device="cpu").run(checkpoint).model
    assert checkpoint.state
    assert all("lora" in name for name in checkpoint.state[0] if name.startswith("weight/"))
    before, after = load_network(folders["chat"]).state_dict(), model.network.state_dict()
    assert before.keys() == after.keys()
    same = {name for name, weight in before.items() if torch.equal(weight, after[name])}
    assert same == {name for name in before if "_proj" not in name}  # embeddings, norms and the output layer
    model.save(tmp_path)
    assert Seq2Seq.load(tmp_path).predict(INPUTS, scores=True) == model.predict(INPUTS, scores=True)


def test_adapters_need_a_pretrained_model() -> None:
    with pytest.raises(InputError, match="lora"):
        Training(PAIRS, TrainConfig(lora=4))


# options


def test_rates_suit_the_kind_of_model(folders: dict[str, Path], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "csl.train")
    config = changed(config_of(folders["words"]), learning_rate=None)
    assert Training(PAIRS, config)._config.rate == 1e-4
    assert changed(config, lora=4).for_decoder().rate == 1e-3
    assert changed(config, learning_rate=0.5).for_decoder().rate == 0.5


def test_a_network_that_sees_what_follows_is_refused(tmp_path: Path) -> None:
    sizes = BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        initializer_range=1.0,
    )  # fmt: skip
    BertLMHeadModel(sizes).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="future"):
        load_network(tmp_path)
