"""With a mask, models of any tokenizer write outputs of the CFG alone: the likeliest of them."""

import importlib.util
from itertools import product
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from csl.errors import InputError, LimitWarning
from csl.grammar.output_cfg import OutputCfg
from csl.seq2seq.codec import new_codec
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.network import new_network
from csl.seq2seq.predictor import Seq2Seq

from .conftest import PAIRS, TINY, changed, make_bart, save_t5

pytest.importorskip("llguidance")
from csl.seq2seq.mask import OutputMask

CPU = torch.device("cpu")
INPUTS = ["a b", "once", "", "many many four d"]
CFG = OutputCfg.parse(
    ["ROOT => ##X ##Y", "ROOT => ##X", "X => a", "X => b c", "X => once", "Y => four ##X", "Y => d", "X => many"]
)
SIGNS = OutputCfg.parse(["ROOT => {a} ##X ~", "ROOT => f(2) ##X", "X => <b", r"X => \\ \\^x", "X => answer ing"])


def byte_level(folder: Path) -> None:
    """Write an untrained T5 with a tokenizer of bytes, so that some characters are several tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<pad>", "</s>", "<unk>", *alphabet, "Ġa", "Ġo", "nc"]
    made = Tokenizer(
        models.BPE({word: i for i, word in enumerate(words)}, [("Ġ", "a"), ("Ġ", "o"), ("n", "c")], unk_token="<unk>")
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=made, **special).save_pretrained(folder)
    save_t5(folder, len(words) + 5)  # as in T5, the network has more outputs than the tokenizer has tokens


@pytest.fixture(scope="module", params=["new", "pieces", "words", "bytes"])
def model(request: pytest.FixtureRequest, pretrained: Path, tmp_path_factory: pytest.TempPathFactory) -> Seq2Seq:
    """An untrained model of each kind of tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    make = {"words": make_bart, "bytes": byte_level}.get(request.param)
    if make:
        make(folder)
    name = {"new": "scratch", "pieces": str(pretrained)}.get(request.param, str(folder))
    return untrained(changed(TINY, model=name, max_target=24), CFG)


def untrained(config: TrainConfig, cfg: OutputCfg) -> Seq2Seq:
    codec = new_codec(config, [" ".join(texts) for texts in outputs(cfg)])
    return Seq2Seq(new_network(config, len(codec.tokenizer)), codec, config, CPU)


def outputs(cfg: OutputCfg) -> list[tuple[str, ...]]:
    """All outputs of a CFG without recursion."""

    def expand(category: str) -> list[tuple[str, ...]]:
        sides = [p.rhs for p in cfg.productions if p.lhs.name == category]
        parts = [[[(s,)] if isinstance(s, str) else expand(s.name) for s in rhs] for rhs in sides]
        return [sum(choice, ()) for part in parts for choice in product(*part)]

    return expand("ROOT")


def test_every_output_is_one_of_the_cfg(model: Seq2Seq) -> None:
    mask = OutputMask(CFG, model.codec)
    for options in ({}, {"beams": 3}, {"beams": 3, "k": 3, "scores": True}, {"batch_size": 1}):
        for found in model.predict(INPUTS, mask=mask, **options):
            assert 1 <= len(found) <= options.get("k", 1)
            assert all(CFG.accepts(p.text.split()) for p in found), found


def test_many_beams_find_the_likeliest_output_of_the_cfg(model: Seq2Seq) -> None:
    texts = [" ".join(tokens) for tokens in outputs(CFG)]
    mask = OutputMask(CFG, model.codec)
    for source in INPUTS[::2]:
        [found] = model.predict([source], beams=40, k=4, scores=True, mask=mask)
        assert {p.text for p in found} <= set(texts)
        best = max(texts, key=lambda text: log_prob(model, source, text))
        assert found[0].log_prob >= log_prob(model, source, best) - 1e-3


def log_prob(model: Seq2Seq, source: str, text: str) -> float:
    [ids], [start] = model.codec.encode_targets([text]), model.codec.encode_sources([source])
    begin = model.network.generation_config.decoder_start_token_id
    with torch.inference_mode():
        logits = model.network.eval()(
            input_ids=torch.tensor([start]), decoder_input_ids=torch.tensor([[begin, *ids[:-1]]])
        ).logits[0]
    return sum(float(row.log_softmax(-1)[i]) for row, i in zip(logits, ids, strict=True))


def test_the_library_without_a_cache_to_select_from_gives_the_same(
    model: Seq2Seq, monkeypatch: pytest.MonkeyPatch
) -> None:
    mask = OutputMask(CFG, model.codec)
    greedy = model.predict(INPUTS, mask=mask)
    monkeypatch.setattr(model, "_greedy", lambda *_: None)
    assert model.predict(INPUTS, mask=mask) == greedy


def test_a_mask_allows_the_outputs_of_the_cfg_and_no_others(model: Seq2Seq) -> None:
    mask = OutputMask(CFG, model.codec)
    valid = [" ".join(tokens) for tokens in outputs(CFG)]
    assert all(mask.accepts(ids) for ids in model.codec.encode_targets(valid))
    others = ["a a", "d", "b", "once c", "a d d", "many four", ""]
    assert not any(mask.accepts(ids) for ids in model.codec.encode_targets(others))
    assert not any(mask.accepts(ids[:-1]) for ids in model.codec.encode_targets(valid))  # without an end


def test_a_right_output_is_not_changed(learned: Path) -> None:
    model = Seq2Seq.load(learned, "cpu")
    cfg = OutputCfg.parse(sorted({f"ROOT => {pair.target_text}" for pair in PAIRS}))
    inputs = [pair.source_text for pair in PAIRS]
    assert model.predict(inputs, mask=OutputMask(cfg, model.codec)) == model.predict(inputs)


@pytest.mark.parametrize("joint", ["space", "optional", "none"])
def test_characters_that_the_tokenizer_lacks_are_masked_as_what_they_stand_for(pretrained: Path, joint: str) -> None:
    model = untrained(changed(TINY, model=str(pretrained), max_target=64), SIGNS)
    assert model.codec.swaps
    mask = OutputMask(SIGNS, model.codec, joint)
    between = {"space": [" "], "optional": [" ", ""], "none": [""]}[joint]
    texts = {gap.join(tokens) for tokens in outputs(SIGNS) for gap in between}
    assert all(mask.accepts(ids) for ids in model.codec.encode_targets(sorted(texts)))
    for found in model.predict(INPUTS, beams=2, k=2, mask=mask):
        assert {p.text.replace(" ", "") for p in found} <= {"".join(tokens) for tokens in outputs(SIGNS)}
        assert joint == "optional" or {p.text for p in found} <= texts


def test_what_the_model_cannot_write_is_never_begun() -> None:
    model = untrained(TINY, OutputCfg.parse(["ROOT => a b", "ROOT => c d"]))
    cfg = OutputCfg.parse(["ROOT => a b", "ROOT => c ##X", "X => unknown", "X => ##X ##X"])
    found = model.predict(["a", "c", "c c"], mask=OutputMask(cfg, model.codec))
    assert [[p.text for p in outputs] for outputs in found] == [["a b"]] * 3
    with pytest.raises(InputError, match="unknown"):
        OutputMask(OutputCfg.parse(["ROOT => a ##X", "X => unknown"]), model.codec)


def test_where_a_grammar_of_texts_has_no_token_left_there_is_no_output() -> None:
    model = untrained(TINY, OutputCfg.parse(["ROOT => a b"]))
    mask = OutputMask('start: root\nroot: "a" " " "unknown"\n', model.codec)
    for beams in (1, 2):
        with pytest.warns(LimitWarning, match="1 of 1"):
            [[found]] = model.predict(["a"], beams=beams, mask=mask)
        assert found.text == ""


def test_an_output_that_is_not_complete_is_none() -> None:
    model = untrained(changed(TINY, max_target=8), OutputCfg.parse(["ROOT => a b c d e f g h"]))
    cfg = OutputCfg.parse(["ROOT => a b c d e f g h"])
    for beams in (1, 2):
        with pytest.warns(LimitWarning, match="2 of 2"):
            found = model.predict(["a", "b"], beams=beams, mask=OutputMask(cfg, model.codec))
        assert [outputs[0].text for outputs in found] == ["", ""]


def test_parts_of_characters_are_tokens_too(tmp_path: Path) -> None:
    byte_level(tmp_path)
    cfg = OutputCfg.parse(["ROOT => ½ ##X", "X => é", "X => 東京"])
    model = untrained(changed(TINY, model=str(tmp_path), max_target=24), cfg)
    for [found] in model.predict(INPUTS, mask=OutputMask(cfg, model.codec)):
        assert cfg.accepts(found.text.split())


def test_tokens_are_what_they_add_to_a_text(model: Seq2Seq) -> None:
    tokens = model.codec.token_bytes()
    text = "a b c once four many d"
    [ids] = model.codec.encode_targets([text])
    assert b"".join(tokens[i] for i in ids).decode().strip() == text


def test_without_the_library_it_says_what_to_install(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llguidance" else find(name))
    with pytest.raises(InputError, match=r"pip install '.*\[seq2seq\]'"):
        OutputMask(CFG, model.codec)
