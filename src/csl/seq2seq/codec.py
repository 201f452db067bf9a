r"""Between texts and token ids, without loss: what a model writes can be read back as the data has it.

A pretrained tokenizer may lack characters of the data (T5's has no `{`, `}`, `<`, `~`, `\`, `^`), or change them
(`½` to `1⁄2`). Each such character is *swapped* for one that the tokenizer has and the data does not, before encoding,
and back after decoding. Spaces stay where they are, and no embedding is added that pretraining has not seen. A new
model has a tokenizer made from the words of the data.
"""

import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from csl.errors import InputError
from csl.files import read_json
from csl.hub import loading
from csl.seq2seq.architectures import MODEL_REMEDY, is_decoder
from csl.seq2seq.batches import LENGTHS, rounded
from csl.seq2seq.config import SCRATCH, TrainConfig
from csl.seq2seq.prompts import Frame, frame_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PREFIX = "semanticparse: "  # of encoder-decoders, as in the paper
CODEC = "codec.json"  # beside the files of a checkpoint
SPECIAL = ["<pad>", "</s>", "<unk>"]  # ids 0, 1 and 2, as in T5


class Codec:
    """A tokenizer, what it swaps, the prefix of inputs and the limits of length."""

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerBase",
        swaps: dict[str, str] | None = None,
        *,
        prefix: str = "",
        max_source: int = 512,
        max_target: int = 256,
    ) -> None:
        self.tokenizer, self.swaps, self.prefix = tokenizer, dict(swaps or {}), prefix
        self.end: int | None = tokenizer.eos_token_id
        around = tokenizer("").input_ids
        self.lead: list[int] = around[: around.index(self.end)] if self.end in around else around  # of every output
        self.max_source, self.max_target = max_source, max_target
        back = {new: old for old, new in self.swaps.items()}
        self._there = str.maketrans(self.swaps | back)  # a character that stands for another is not known itself
        self._back = str.maketrans(back)

    def limit(self, positions: int) -> None:
        """Bound the lengths by the number of positions that a model knows, in widths that batches are padded to."""
        self.max_source, self.max_target = (min(n, width(positions)) for n in (self.max_source, self.max_target))

    @property
    def never(self) -> list[int]:
        """Special tokens that are no part of an output: decoding would hide them."""
        return [i for i in self.tokenizer.all_special_ids if i not in self.lead and i != self.end]

    def encode_sources(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of inputs, with prefix and end, cut to the limit."""
        return self._encode([self.prefix + text for text in texts], self.max_source)

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of outputs, with end, cut to the limit."""
        ids, end = self._encode(texts, self.max_target), self.end
        return [row if end is None or end in row else [*row[: self.max_target - 1], end] for row in ids]

    def _encode(self, texts: Sequence[str], limit: int) -> list[list[int]]:
        if not texts:
            return []
        ids: list[list[int]] = self.tokenizer(self.swapped(texts), truncation=True, max_length=limit).input_ids
        return ids

    def swapped(self, texts: Iterable[str]) -> list[str]:
        """Put characters that the tokenizer has in place of those that it lacks."""
        return [text.translate(self._there) for text in texts]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Give the texts of ids, words separated by single spaces."""
        if not ids:
            return []
        texts = self.tokenizer.batch_decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return [" ".join(text.translate(self._back).split()) for text in texts]

    def token_bytes(self) -> list[bytes]:
        """Give what each token adds to a text that goes on; nothing for special tokens and parts of characters."""
        ids = range(len(self.tokenizer))
        special = set(self.tokenizer.all_special_ids)
        try:
            from llguidance.hf import from_tokenizer

            whole = from_tokenizer(self.tokenizer, slices=[])  # knows tokenizers of bytes
            found = [whole.decode_bytes([i]) for i in ids]
        except ValueError:  # all others have whole characters
            options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
            decode = self.tokenizer.batch_decode
            first = next(i for i in ids if i not in special and decode([[i]], **options)[0].strip())
            [begin] = decode([[first]], **options)
            texts = decode([[first, i] for i in ids], **options)
            found = [text.removeprefix(begin).encode() if text.startswith(begin) else b"" for text in texts]
        return [b"" if i in special else self._swapped_back(found[i]) for i in ids]

    def _swapped_back(self, text: bytes) -> bytes:
        try:
            return text.decode().translate(self._back).encode()
        except UnicodeDecodeError:  # a part of a character
            return text


class PromptCodec(Codec):
    """The codec of a decoder: an input is a prompt, and its output follows."""

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerBase",
        frame: Frame,
        swaps: dict[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(tokenizer, swaps, **options)
        self.frame, self.lead, self.end = frame, [], tokenizer.convert_tokens_to_ids(frame.end)
        self._after = len(self._ids([frame.after])[0])

    def limit(self, positions: int) -> None:
        """Bound the lengths: prompt and output share the positions."""
        super().limit(positions)
        if rounded(self.max_source) + rounded(self.max_target) > positions:
            self.max_target = min(self.max_target, width(positions // 2))
            self.max_source = min(self.max_source, width(positions - rounded(self.max_target)))

    def encode_sources(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of prompts; of one that is too long, the input is cut, not what follows it."""
        inputs = self.swapped(self.prefix + text for text in texts)
        rows = self._ids([self.frame.before + text + self.frame.after for text in inputs])
        room = self.max_source - self._after
        return [row if len(row) <= self.max_source else [*row[: max(0, room)], *row[-self._after :]] for row in rows]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of outputs, with end, cut to the limit."""
        return [[*row[: self.max_target - 1], self.end or 0] for row in self._ids(self.swapped(texts))]

    def _ids(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        found: list[list[int]] = self.tokenizer(texts, add_special_tokens=False, verbose=False).input_ids
        return found


def width(positions: int) -> int:
    """Give the largest width of batches that a number of positions is enough for."""
    return int(LENGTHS[positions >= LENGTHS].max(initial=1)) if positions < LENGTHS[-1] else positions // 256 * 256


def codec_of(
    config: TrainConfig, tokenizer: "PreTrainedTokenizerBase", swaps: dict[str, str], frame: Frame | None = None
) -> Codec:
    """Make the codec of a config. A new model has one task: no prefix, which would only slow its learning."""
    limits = {"max_source": config.max_source, "max_target": config.max_target}
    if frame:
        return PromptCodec(tokenizer, frame, swaps, prefix=config.prefix or "", **limits)
    prefix = PREFIX if config.prefix is None else config.prefix
    return Codec(tokenizer, swaps, prefix="" if config.model == SCRATCH else prefix, **limits)


def new_codec(config: TrainConfig, texts: Iterable[str]) -> Codec:
    """Make the codec of a model for texts, inputs and outputs; refuse texts that it cannot write."""
    words = sorted({word for text in texts for word in text.split()})
    swaps: dict[str, str] = {}
    frame = None
    if config.model != SCRATCH:
        tokenizer = load_tokenizer(config.model)
        frame = frame_of(tokenizer, config.system) if is_decoder(config.model) else None
        swaps = find_swaps(tokenizer, words, _swaps_of(Path(config.model) / CODEC))
    else:
        tokenizer = words_tokenizer(words)
    rows = [" ".join(words[i : i + 20]) for i in range(0, len(words), 20)]
    whole = codec_of(config.model_copy(update={"max_target": 10**6}), tokenizer, swaps, frame)
    for row, back in zip(rows, whole.decode(whole.encode_targets(rows)), strict=True):
        if row != back:
            wrong = next((word for word in row.split() if whole.decode(whole.encode_targets([word])) != [word]), row)
            raise InputError(f"the tokenizer of {config.model} cannot write {wrong!r}; replace it in the data")
    return codec_of(config, tokenizer, swaps, frame)


def _swaps_of(path: Path) -> dict[str, str]:
    """Give the swaps of a model that was trained before, none if it was not trained here."""
    try:
        return dict(read_json(path)["swaps"]) if path.exists() else {}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("damaged file; train the model again", path) from error


def find_swaps(
    tokenizer: "PreTrainedTokenizerBase", words: Iterable[str], known: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Find the characters of the words, and of ASCII, that the tokenizer loses, and one to put in place of each.

    A model that is trained further has learnt the swaps that are `known`; they stay, unless the data has the character.
    """
    present = {character for word in words for character in word}
    kept = {old: new for old, new in known.items() if new not in present}
    wanted = [*sorted(present), *sorted(set(string.printable.strip()) - present)]  # those of the data come first
    lost = [c for c in wanted if c not in kept and not _survives(tokenizer, c)]
    return kept | dict(zip(lost, _unused(tokenizer, present | {*kept.values()}), strict=False)) if lost else kept


def _survives(tokenizer: "PreTrainedTokenizerBase", character: str) -> bool:
    """Tell whether a character comes back, alone and inside a word."""
    text = f"x {character} x{character}x"
    ids = tokenizer(text, add_special_tokens=False).input_ids
    return bool(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False) == text)


def _unused(tokenizer: "PreTrainedTokenizerBase", present: set[str]) -> list[str]:
    """List characters that are tokens of their own and not in the data, those that pretraining saw least first."""
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: -item[1])  # the last ids are the rarest
    single = {token.removeprefix("▁"): number for token, number in vocabulary}
    found = [c for c in single if len(c) == 1 and not c.isascii() and c.isprintable() and c not in present]
    found = [c for c in found if _survives(tokenizer, c)]
    return sorted(found, key=lambda c: -single[c])


def words_tokenizer(words: Iterable[str]) -> "PreTrainedTokenizerBase":
    """Make a tokenizer with one id for each word."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    known = [*SPECIAL, *sorted(set(words) - set(SPECIAL))]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        clean_up_tokenization_spaces=False,
    )  # fmt: skip


def load_tokenizer(name: str | Path) -> "PreTrainedTokenizerBase":
    """Load the tokenizer of a checkpoint, by name or folder."""
    from transformers import AutoTokenizer

    with loading(name, "no tokenizer found", MODEL_REMEDY):
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(name)
    if not set(tokenizer.get_vocab()) - {*tokenizer.all_special_tokens, "▁"}:  # made up where there is no file
        raise InputError(f"no tokenizer found: no file holds a vocabulary; {MODEL_REMEDY}", name)
    return tokenizer
