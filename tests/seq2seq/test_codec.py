"""Texts survive the way to token ids and back, whatever signs a tokenizer lacks, or are refused."""

import shutil
import string
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import processors
from transformers import PreTrainedTokenizerBase

from csl.errors import InputError
from csl.seq2seq.codec import Codec, find_swaps, load_tokenizer, new_codec, words_tokenizer
from csl.seq2seq.config import TrainConfig

from .conftest import LACKING, PAIRS, SPARE, make_pretrained

ASCII = string.printable.strip()
PROGRAMS = [
    "( Yield :output ( Execute :intention ( refer ( ^(Dynamic) roleConstraint ( Path.apply \"place\" ) ) ) ) )",
    "lambda $0 e ( and ( < ( size:i $0 ) ~ ) { x | x \\in A } )",
    "a{b}c <~> \\^ {{}} .(){}<> costs ½ …",
]  # fmt: skip
WORDS = sorted({word for text in PROGRAMS for word in text.split()})
lists_of_words = st.lists(st.text(ASCII, min_size=1, max_size=6), min_size=1, max_size=8)


def round_trip(codec: Codec, texts: Iterable[str]) -> list[str]:
    return codec.decode(codec.encode_targets(list(texts)))


@pytest.fixture(scope="module")
def tokenizer(pretrained: Path) -> PreTrainedTokenizerBase:
    return load_tokenizer(pretrained)


@pytest.fixture(scope="module")
def codec(pretrained: Path) -> Codec:
    return new_codec(TrainConfig(model=str(pretrained), max_target=1000), PROGRAMS)


# pretrained


def test_the_tokenizer_of_these_tests_does_lack_signs(tokenizer: PreTrainedTokenizerBase) -> None:
    plain = Codec(tokenizer)
    assert round_trip(plain, ["a{b", "f ( x )", "½"]) == ["ab", "f ( x )", "1⁄2".replace("⁄", "")]


def test_only_what_is_lost_is_swapped_for_what_the_data_has_not(codec: Codec) -> None:
    assert set(codec.swaps) == {*LACKING, "½", "…"}
    assert len(set(codec.swaps.values())) == len(codec.swaps)
    assert set(codec.swaps.values()) <= set(SPARE)


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(ASCII, min_size=1, max_size=6), min_size=1).map(" ".join))
def test_the_words_of_the_data_and_all_of_ascii_come_back(codec: Codec, text: str) -> None:
    assert round_trip(codec, [text]) == [text]


@settings(deadline=None)
@given(st.lists(st.text(f"ab(){LACKING}½ßé×ł¿", min_size=1, max_size=5), min_size=1, max_size=6))
def test_any_data_come_back_also_with_characters_that_could_be_spared(
    tokenizer: PreTrainedTokenizerBase, words: list[str]
) -> None:
    codec = Codec(tokenizer, find_swaps(tokenizer, words))
    assert round_trip(codec, [" ".join(words)]) == [" ".join(words)]


def test_every_token_of_a_swapped_text_is_known(codec: Codec) -> None:
    ids = codec.encode_targets([*PROGRAMS, ASCII])
    assert codec.tokenizer.unk_token_id not in {i for row in ids for i in row}


def test_a_tokenizer_that_lacks_nothing_swaps_nothing(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(make_pretrained(tmp_path, LACKING + SPARE))
    assert find_swaps(tokenizer, ["f(x)", "{a}"]) == {}


@pytest.mark.parametrize("word", ["a{b}", "½", "x\N{COMBINING ACUTE ACCENT}", "{"])
def test_a_word_that_cannot_be_written_is_named(tmp_path: Path, word: str) -> None:
    config = TrainConfig(model=str(make_pretrained(tmp_path, "")))
    with pytest.raises(InputError, match="replace it in the data") as caught:
        new_codec(config, ["f ( x )", f"g ( x {word}"])
    assert repr(word) in str(caught.value)


def test_a_character_that_stands_for_another_is_not_known_itself(codec: Codec) -> None:
    other = codec.swaps["{"]
    assert codec.encode_sources(["{"]) != codec.encode_sources([other])
    assert codec.tokenizer.unk_token_id in codec.encode_sources([other])[0]


def test_a_model_that_is_trained_further_keeps_its_swaps(pretrained: Path, tmp_path: Path) -> None:
    shutil.copytree(pretrained, tmp_path, dirs_exist_ok=True)
    (tmp_path / "codec.json").write_text('{"swaps": {"}": "ß", "{": "é"}}', "utf-8")
    config = TrainConfig(model=str(tmp_path))
    found = new_codec(config, ["a { }"]).swaps
    assert (found["}"], found["{"]) == ("ß", "é")
    assert len(set(found.values())) == len(found)
    assert new_codec(config, ["a { } é"]).swaps["{"] not in ("é", "ß")
    (tmp_path / "codec.json").write_text("[]", "utf-8")
    with pytest.raises(InputError, match=r"codec\.json: damaged file; train the model again"):
        new_codec(config, ["a"])


def test_outputs_have_an_end_even_if_the_tokenizer_adds_none(pretrained: Path) -> None:
    tokenizer = load_tokenizer(pretrained)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A")
    assert tokenizer("a").input_ids[-1] != 1
    rows = Codec(tokenizer, max_target=4).encode_targets(["a", "a b c d e", ""])
    assert [row[-1] for row in rows] == [1, 1, 1]
    assert max(map(len, rows)) == 4


@pytest.mark.parametrize(("positions", "limit"), [(7, 1), (64, 64), (100, 96), (600, 512), (1024, 1024), (10**6, 2000)])
def test_lengths_are_bounded_by_positions(pretrained: Path, positions: int, limit: int) -> None:
    codec = Codec(load_tokenizer(pretrained), max_source=2000, max_target=2000)
    codec.limit(positions)
    assert (codec.max_source, codec.max_target) == (limit, limit)


@pytest.mark.parametrize("word", ["a}b", "½"])
def test_characters_of_the_data_come_before_others(tmp_path: Path, word: str) -> None:
    codec = new_codec(TrainConfig(model=str(make_pretrained(tmp_path, "§"))), ["f ( x )", word])
    assert round_trip(codec, [word]) == [word]


# made from the data


def test_a_new_tokenizer_writes_its_data() -> None:
    texts = [*PROGRAMS, *(text for pair in PAIRS for text in (pair.source_text, pair.target_text))]
    codec = new_codec(TrainConfig(max_target=1000), texts)
    assert codec.swaps == {}
    assert round_trip(codec, texts) == texts
    ids = [i for row in codec.encode_targets(texts) + codec.encode_sources(texts) for i in row]
    assert codec.tokenizer.unk_token_id not in ids
    assert 0 <= min(ids) <= max(ids) < len(codec.tokenizer)
    assert [len(row) for row in codec.encode_targets(["answer", "answer ("])] == [2, 3]  # a token a word, and the end


@settings(deadline=None)
@given(lists_of_words, st.randoms(use_true_random=False))
def test_words_come_back_in_any_order(words: list[str], chance: Random) -> None:
    codec = Codec(words_tokenizer(words))
    other = chance.sample(words, len(words))
    if not any(special in word for word in words for special in ("<pad>", "</s>", "<unk>")):
        assert round_trip(codec, [" ".join(other)]) == [" ".join(other)]


def test_the_same_texts_give_the_same_tokenizer_in_any_order() -> None:
    texts = [text for pair in PAIRS for text in (pair.source_text, pair.target_text)]
    one, other = (
        new_codec(TrainConfig(), order).tokenizer.backend_tokenizer.to_str() for order in (texts, texts[::-1])
    )
    assert one == other


@pytest.mark.parametrize("word", ["</s>", "<unk>", "x</s>y"])
def test_a_word_that_means_something_else_is_refused(word: str) -> None:
    with pytest.raises(InputError, match=repr(word)):
        new_codec(TrainConfig(), [f"a {word} b"])


# prefix and limits


@pytest.mark.parametrize("prefix", ["parse this: ", ""])
def test_only_inputs_of_a_pretrained_model_have_the_prefix(pretrained: Path, prefix: str) -> None:
    config = TrainConfig(model=str(pretrained) if prefix else "scratch", prefix="parse this: ")
    codec = new_codec(config, ["walk twice"])
    assert codec.decode(codec.encode_sources(["walk twice"])) == [f"{prefix}walk twice"]
    assert codec.decode(codec.encode_targets(["walk twice"])) == ["walk twice"]


def test_what_is_too_long_is_cut_before_the_end_sign() -> None:
    codec = new_codec(TrainConfig(max_source=4, max_target=3), ["a b c d"])
    [source], [target] = codec.encode_sources(["a b c d"]), codec.encode_targets(["a b c d"])
    assert (codec.decode([source]), codec.decode([target])) == (["a b c"], ["a b"])
    assert source[-1] == target[-1] == codec.tokenizer.eos_token_id
    assert codec.encode_targets(["a b", "a b c d"]) == [target, target]


def test_nothing_in_nothing_out(codec: Codec) -> None:
    assert codec.encode_sources([]) == codec.encode_targets([]) == []
    assert codec.decode([]) == []
    assert codec.decode([[]]) == [""]
    assert round_trip(codec, [""]) == [""]
