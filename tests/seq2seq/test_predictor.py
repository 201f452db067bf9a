"""Predictions keep the order of inputs, depend on nothing but model and input, and have the scores they say."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from csl.errors import CslError, InputError
from csl.examples import Example
from csl.seq2seq.batches import Encoded
from csl.seq2seq.codec import new_codec
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.network import new_network
from csl.seq2seq.predictor import Seq2Seq, choose_device
from csl.seq2seq.t5 import T5Search

from .conftest import PAIRS, PLACES, TINY, changed, make_bart

CPU = torch.device("cpu")
TEXTS = [text for pair in PAIRS for text in (pair.source_text, pair.target_text)]
INPUTS = ["texas", "how many", "name the largest city in ohio and name the largest city in utah", "does", "", "is iowa"]


def untrained(config: TrainConfig) -> Seq2Seq:
    codec = new_codec(config, TEXTS)
    return Seq2Seq(new_network(config, len(codec.tokenizer)), codec, config, CPU)


@pytest.fixture(scope="module")
def model(learned: Path) -> Seq2Seq:
    return Seq2Seq.load(learned, "cpu")


@dataclass
class Spy:
    """What went into the network and what came out, batch by batch."""

    shapes: list[tuple[int, ...]] = field(default_factory=list)
    written: dict[tuple[int, ...], list[list[int]]] = field(default_factory=dict)  # by the ids of the input


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch, model: Seq2Seq) -> Spy:
    seen, write = Spy(), model._write

    def watched(source: torch.Tensor, mask: torch.Tensor, beams: int, k: int, *options: Any) -> Any:
        found, sums = write(source, mask, beams, k, *options)
        seen.shapes.append(tuple(source.shape))
        for number, row in enumerate(source.tolist()):
            ids = [i for i in row if i != model.codec.tokenizer.pad_token_id]
            seen.written[tuple(ids)] = found[number * k : (number + 1) * k].tolist()
        return found, sums

    monkeypatch.setattr(model, "_write", watched)
    return seen


def log_prob(model: Seq2Seq, source: str, ids: list[int]) -> float:
    """Add up log p of each token given those before, one pair at a time and without padding."""
    [start] = model.codec.encode_sources([source])
    with torch.inference_mode():
        logits = model.network.eval()(
            input_ids=torch.tensor([start]), decoder_input_ids=torch.tensor([[0, *ids[:-1]]])
        ).logits[0]
    return sum(float(row.log_softmax(-1)[i]) for row, i in zip(logits, ids, strict=True))


# which outputs


def test_each_input_has_its_output_in_any_order(model: Seq2Seq) -> None:
    pairs = Random(0).sample([*PAIRS, *PAIRS], 2 * len(PAIRS))
    found = model.predict([pair.source_text for pair in pairs], batch_size=9)
    assert [outputs[0].text for outputs in found] == [pair.target_text for pair in pairs]
    assert {len(outputs) for outputs in found} == {1}


@pytest.mark.parametrize("beams", [1, 3])
def test_the_size_of_batches_changes_nothing(model: Seq2Seq, beams: int) -> None:
    inputs = [*INPUTS, *(pair.source_text for pair in PAIRS[::5])]
    alone = [model.predict([text], beams=beams)[0] for text in inputs]
    assert len({outputs[0].text for outputs in alone}) > len(inputs) / 2
    for size in (1, 4, 128):
        assert model.predict(inputs, beams=beams, batch_size=size) == alone


def test_the_longest_inputs_come_first(model: Seq2Seq, spy: Spy) -> None:
    inputs = ["does", "is iowa larger than ohio or than utah or than maine", "states next to ohio", "is"]
    model.predict(inputs, batch_size=1)
    assert spy.shapes == [(1, 16), (1, 8), (1, 8), (1, 8)]


@pytest.mark.parametrize("beams", [1, 2, 5])
@pytest.mark.parametrize("kind", ["learned", "untrained", "pretrained", "bart"])
def test_search_writes_what_generate_writes(
    kind: str, beams: int, model: Seq2Seq, pretrained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = [*INPUTS, *(pair.source_text for pair in PAIRS[::5])]
    if kind == "bart":
        make_bart(tmp_path)
        inputs = ["a", "b c", "many d a", "once"]
    if kind != "learned":
        name = {"untrained": "scratch", "pretrained": str(pretrained), "bart": str(tmp_path)}[kind]
        config = changed(TINY, model=name, prefix="", max_target=30)
        codec = new_codec(config, inputs)
        model = Seq2Seq(new_network(config, len(codec.tokenizer)), codec, config, CPU)
    found = model.predict(inputs, beams=beams, k=beams, scores=True)
    assert isinstance(model._architecture.search(torch.ones(1, 1, dtype=torch.long), torch.ones(1, 1)), T5Search) == (
        kind != "bart"
    )
    monkeypatch.setattr(model, "_greedy", lambda *_: None)
    monkeypatch.setattr(model, "_beams", lambda *_: None)
    for wanted, outputs in zip(model.predict(inputs, beams=beams, k=beams, scores=True), found, strict=True):
        assert [output.text for output in outputs] == [output.text for output in wanted]
        scores = [output.log_prob for output in wanted]
        assert [output.log_prob for output in outputs] == pytest.approx(scores, abs=1e-3)


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("share", [0, 4])
def test_rows_that_are_complete_need_not_be_dropped(
    model: Seq2Seq, share: int, beams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = [*INPUTS, *(pair.source_text for pair in PAIRS[::2])]
    found = model.predict(inputs, beams=beams, k=beams)
    monkeypatch.setattr(T5Search, "drops", lambda search, going: share * going > 0 and search._rows >= share * going)
    assert model.predict(inputs, beams=beams, k=beams) == found


def test_an_input_that_comes_up_again_is_predicted_once(model: Seq2Seq, spy: Spy) -> None:
    done: list[int] = []
    found = model.predict(["is iowa", "texas", "is iowa", "is iowa"], batch_size=1, progress=done.append)
    assert [len(outputs) for outputs in found] == [1] * 4
    assert found[0] == found[2] == found[3] == model.predict(["is iowa"])[0]
    assert len(spy.shapes) == 3
    assert done == [3, 4]


def test_short_inputs_come_in_larger_batches(model: Seq2Seq, spy: Spy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csl.seq2seq.predictor.TOKENS", 8)
    monkeypatch.setattr("csl.seq2seq.predictor.ROWS", 3)
    model.predict(["does iowa border utah", "states next to ohio", *(f"is {place}" for place in PLACES[:5])])
    assert [rows for rows, _ in spy.shapes] == [1, 1, 2, 2, 1]


def test_progress_hears_how_many_are_done(model: Seq2Seq) -> None:
    done: list[int] = []
    model.predict(["does", "is", "texas", "states", "name"], batch_size=2, progress=done.append)
    assert done == [2, 4, 5]
    assert model.predict([], beams=3, k=3, scores=True) == []


def test_a_model_in_training_predicts_without_dropout() -> None:
    model = untrained(changed(TINY, dropout=0.8))
    model.network.train()
    once = model.predict(INPUTS, scores=True)
    model.network.train()
    assert model.predict(INPUTS, scores=True) == once


def test_signs_that_the_tokenizer_lacks_are_restored(pretrained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{ x | x \\in ~A } ^ f<2>"
    config = TrainConfig(model=str(pretrained))
    codec = new_codec(config, [text])
    model = Seq2Seq(new_network(config, 0), codec, config, CPU)
    [ids] = codec.encode_targets([text])
    monkeypatch.setattr(model, "_write", lambda *_: (torch.tensor([[0, *ids, 0, 0]]), None))
    assert model.predict(["anything"])[0][0].text == text


def limited(model: Seq2Seq, max_target: int) -> Seq2Seq:
    config = changed(model.config, max_target=max_target)
    return Seq2Seq(model.network, new_codec(config, TEXTS), config, CPU)


def test_outputs_are_no_longer_than_the_limit(model: Seq2Seq) -> None:
    found = limited(model, 5).predict([pair.source_text for pair in PAIRS])
    assert [outputs[0].text for outputs in found] == [" ".join(pair.target[:5]) for pair in PAIRS]


# k best and scores


@pytest.mark.parametrize(("beams", "k"), [(1, 1), (4, 1), (4, 4)])
def test_scores_are_the_log_probabilities_of_what_was_written(model: Seq2Seq, spy: Spy, beams: int, k: int) -> None:
    inputs = [*(pair.source_text for pair in PAIRS[::7]), *INPUTS]
    found = model.predict(inputs, beams=beams, k=k, scores=True, batch_size=5)
    for source, outputs in zip(inputs, found, strict=True):
        written = spy.written[tuple(model.codec.encode_sources([source])[0])]
        assert len(outputs) == len(written) == k
        for output, ids in zip(outputs, written, strict=True):
            end = ids.index(1) if 1 in ids else len(ids)
            assert output.log_prob == pytest.approx(log_prob(model, source, ids[1 : end + 1]), abs=1e-3)
            assert output.text == model.codec.decode([ids[:end]])[0]


@pytest.mark.parametrize("beams", [1, 2])
def test_search_scores_what_it_writes(model: Seq2Seq, beams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = model.predict(INPUTS, beams=beams, scores=True)
    monkeypatch.setattr(model, "_log_probs", lambda *_: pytest.fail("a second pass"))
    assert model.predict(INPUTS, beams=beams, scores=True) == wanted


def test_scores_take_bounded_memory(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, seen = [pair.source_text for pair in PAIRS[:9]], list[int]()
    monkeypatch.setattr(model, "_beams", lambda *_: None)  # `generate` does not tell log p
    wanted, some = model.predict(inputs, beams=2, scores=True), model._some_log_probs

    def watched(source: torch.Tensor, mask: torch.Tensor, written: torch.Tensor) -> list[float]:
        seen.append(written.numel())
        return some(source, mask, written)

    monkeypatch.setattr(model, "_some_log_probs", watched)
    monkeypatch.setattr("csl.seq2seq.predictor.LOGITS", 40 * len(model.codec.tokenizer))
    found = model.predict(inputs, beams=2, scores=True)
    assert max(seen) <= 40 < sum(seen)
    assert [one.log_prob for [one] in found] == pytest.approx([one.log_prob for [one] in wanted], abs=1e-4)


def test_given_outputs_are_scored_in_any_order(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csl.seq2seq.predictor.ROWS", 4)
    pairs = [Example(a.source, b.target) for a, b in zip(PAIRS[:9], PAIRS[3:12], strict=True)]
    sources = model.codec.encode_sources([pair.source_text for pair in pairs])
    targets = model.codec.encode_targets([pair.target_text for pair in pairs])
    found = model.log_probs(Encoded(sources, targets))
    expected = [log_prob(model, pair.source_text, ids) for pair, ids in zip(pairs, targets, strict=True)]
    assert found == pytest.approx(expected, abs=1e-3)
    assert model.log_probs(Encoded([], [])) == []


def test_an_output_that_was_cut_is_scored_without_an_end(model: Seq2Seq) -> None:
    short = limited(model, 3)
    for source in ("what is the capital of ohio", "states next to utah"):
        [[output]] = short.predict([source], scores=True)
        ids = model.codec.encode_targets([output.text])[0][:-1]
        assert len(ids) == 3
        assert output.log_prob == pytest.approx(log_prob(model, source, ids), abs=1e-3)


def test_the_best_of_several_beams_is_right_too(model: Seq2Seq) -> None:
    inputs = [pair.source_text for pair in PAIRS]
    greedy, found = model.predict(inputs, scores=True), model.predict(inputs, beams=4, k=3, scores=True)
    assert [outputs[0].text for outputs in found] == [pair.target_text for pair in PAIRS]
    for [one], outputs in zip(greedy, found, strict=True):
        scores = [output.log_prob for output in outputs]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] >= one.log_prob - 1e-3
    assert model.predict(["does"], beams=2, k=2)[0][1].log_prob is None  # unless asked for


def test_scores_have_the_last_word_on_the_order(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_beams", lambda *_: None)
    monkeypatch.setattr(model, "_log_probs", lambda source, mask, written: [-3.0, -1.0, -2.0])
    assert [p.log_prob for p in model.predict(["texas"], beams=3, k=3, scores=True)[0]] == [-1, -2, -3]


def test_bad_arguments_are_refused(model: Seq2Seq) -> None:
    with pytest.raises(InputError, match="list of inputs"):
        model.predict("texas")
    for option in ("beams", "k", "batch_size"):
        for value in (0, -1):
            with pytest.raises(InputError, match="at least 1"):
                model.predict(["texas"], **{option: value})
    with pytest.raises(InputError, match=r"at most .* 2"):
        model.predict(["does"], beams=2, k=3)


# files


@pytest.mark.parametrize("kind", ["scratch", "pretrained"])
def test_a_model_is_the_same_after_saving_and_loading(kind: str, pretrained: Path, tmp_path: Path) -> None:
    model_name = str(pretrained) if kind == "pretrained" else kind
    config = changed(TINY, model=model_name, prefix="parse: ", max_source=9, max_target=7)
    codec = new_codec(config, [*TEXTS, "{ a } < b"])
    model = Seq2Seq(new_network(config, len(codec.tokenizer)), codec, config, CPU)
    model.save(tmp_path)
    back = Seq2Seq.load(tmp_path, "cpu")
    assert back.config == config
    assert back.codec.swaps == codec.swaps
    texts = [*TEXTS, "{ a } < b", "a b c unknown ~", ""]
    assert back.codec.encode_sources(texts) == codec.encode_sources(texts)
    assert back.codec.encode_targets(texts) == codec.encode_targets(texts)
    assert back.predict(INPUTS, scores=True) == model.predict(INPUTS, scores=True)


def test_a_model_is_loaded_from_its_run_folder_or_its_own(learned: Path) -> None:
    one, other = Seq2Seq.load(learned), Seq2Seq.load(str(learned / "model"))
    assert one.predict(INPUTS) == other.predict(INPUTS)


def test_a_model_of_another_version_may_have_other_options(learned: Path, tmp_path: Path) -> None:
    shutil.copytree(learned / "model", tmp_path, dirs_exist_ok=True)
    about = json.loads((tmp_path / "codec.json").read_text("utf-8"))
    about["config"]["piece"] = 32
    (tmp_path / "codec.json").write_text(json.dumps(about), "utf-8")
    assert Seq2Seq.load(tmp_path).config == Seq2Seq.load(learned).config


def test_classes_of_others_load_it_too(learned: Path) -> None:
    network = AutoModelForSeq2SeqLM.from_pretrained(learned / "model").eval()
    tokenizer = AutoTokenizer.from_pretrained(learned / "model")
    pair = PAIRS[7]
    ids = tokenizer(f"semanticparse: {pair.source_text}", return_tensors="pt").input_ids
    written = network.generate(input_ids=ids, max_new_tokens=30)[0]
    assert tokenizer.decode(written, skip_special_tokens=True) == pair.target_text


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def turn_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-7] ^= 1
    path.write_bytes(content)


def without_swaps(path: Path) -> None:
    about = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({"config": about["config"]}), "utf-8")


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "codec cut": ("codec.json", cut),
    "codec empty": ("codec.json", lambda path: path.write_text("[]")),
    "no swaps": ("codec.json", without_swaps),
    "no codec": ("codec.json", Path.unlink),
    "weights cut": ("model.safetensors", cut),
    "a bit of the weights": ("model.safetensors", turn_a_bit),
    "no weights": ("model.safetensors", Path.unlink),
    "tokenizer cut": ("tokenizer.json", cut),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_refused(damage: str, learned: Path, tmp_path: Path) -> None:
    name, act = DAMAGES[damage]
    shutil.copytree(learned, tmp_path / "run")
    act(tmp_path / "run" / "model" / name)
    with pytest.raises(InputError) as caught:
        Seq2Seq.load(tmp_path / "run")
    assert str(caught.value).startswith(str(tmp_path / "run" / "model"))
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_model_or_its_tokenizer_is_refused(learned: Path, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match="csl train"):
            Seq2Seq.load(folder)
    shutil.copytree(learned / "model", tmp_path / "model")
    (tmp_path / "model" / "tokenizer.json").unlink()
    (tmp_path / "model" / "tokenizer_config.json").unlink()
    with pytest.raises(InputError):
        Seq2Seq.load(tmp_path)


def test_a_device_that_is_not_there_is_refused(learned: Path) -> None:
    assert choose_device("cpu") == CPU
    with pytest.raises(InputError, match=r"'warp'.*--device cpu"):
        Seq2Seq.load(learned, "warp")


def test_a_device_without_memory_is_named_with_what_to_lower(learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Seq2Seq.load(learned, "cpu")

    def search(*_: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.94 GiB.")

    monkeypatch.setattr(model, "_beams", search)
    with pytest.raises(CslError, match="lower batch_size, now 7"):
        model.predict(["states next to ohio"], beams=2, batch_size=7)
