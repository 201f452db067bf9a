"""Masks of tokens: what a model may write next, so that its output is one of an output CFG.

The CFG is turned into a grammar of texts (`csl.grammar.export`), and llguidance walks it beside the model, token by
token. A token of the model counts as the text that it adds to an output; where an output may be cut into tokens in
several ways, all are allowed. A greedy search only asks for a mask where the likeliest token is not allowed: checking
one token costs microseconds, a mask tens of them. `benchmarks/decoding.py` measures both.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from csl.errors import CslError, InputError
from csl.files import read_lines
from csl.grammar.export import Joint, to_lark, with_leading_space
from csl.grammar.output_cfg import ROOT, OutputCfg
from csl.hub import need_llguidance
from csl.seq2seq.codec import Codec

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

NOTHING_FITS = "NoExtensionBias"  # llguidance: the model has no token that could be next
LIMITS = {"max_items_in_row": 10**5, "step_max_items": 10**6}  # of llguidance's parser; large CFGs exceed its own

Bools = npt.NDArray[np.bool_]


class OutputMask:
    """The outputs of a CFG, in the tokens of a codec: `model.predict(inputs, mask=OutputMask(cfg, model.codec))`.

    Productions with tokens that the model cannot write are left out, so that it never starts what it cannot finish. A
    Lark grammar, as `csl.grammar.export` writes it, is taken as it is.
    """

    def __init__(self, cfg: OutputCfg | str, codec: Codec, joint: Joint = "space") -> None:
        need_llguidance()
        from llguidance import LLMatcher, LLParserLimits

        if codec.end is None:
            raise InputError("the model's tokenizer has no end token, so its outputs cannot be masked; use --no-mask")
        self.end, self.lead = codec.end, codec.lead
        if isinstance(cfg, OutputCfg):
            cfg = to_lark(_writable(cfg, codec), joint)
        self._start = LLMatcher(
            _vocabulary(codec),
            LLMatcher.grammar_from_lark(with_leading_space(cfg)),
            log_level=0,
            limits=LLParserLimits(**LIMITS),
        )
        _check(self._start)

    @classmethod
    def read(cls, path: Path, codec: Codec, joint: Joint | None = None) -> "OutputMask":
        """Read an output CFG, or a Lark grammar (`.lark`), which has its joints in it."""
        if path.suffix != ".lark":
            return cls(OutputCfg.read(path), codec, joint or "space")
        if joint:
            raise InputError("is a Lark grammar, which says what is between tokens; leave out --joint", path)
        return cls("".join(f"{line}\n" for _, line in read_lines(path)), codec)

    def start(self) -> "Prefix":
        """Give the prefix of all outputs."""
        return Prefix(self, self._start, 0)

    def accepts(self, ids: Sequence[int]) -> bool:
        """Tell whether ids, after the start symbol and with their end, are an output."""
        prefix: Prefix | None = self.start()
        for token in ids:
            if prefix is None:
                return False
            if token == self.end:
                return prefix.allows(token)
            prefix = prefix.followed_by(token)
        return False


class Prefix:
    """The beginning of an output."""

    def __init__(self, mask: OutputMask, matcher: "LLMatcher", length: int) -> None:
        self._mask, self._matcher, self._length = mask, matcher, length

    def allows(self, token: int) -> bool:
        """Tell whether a token may be next."""
        if self._length < len(self._mask.lead):
            return token == self._mask.lead[self._length]
        if token == self._mask.end:
            return bool(self._matcher.is_accepting())
        return bool(self._matcher.validate_tokens([token]))

    def followed_by(self, token: int) -> "Prefix | None":
        """Give the longer prefix; None if the token is not allowed, or ends the output."""
        if token == self._mask.end or not self.allows(token):
            return None
        matcher = self._matcher.deep_copy()
        if self._length >= len(self._mask.lead):
            matcher.consume_token(token)
        return Prefix(self._mask, matcher, self._length + 1)

    def allowed(self, vocabulary: int) -> Bools:
        """Give the mask of the next token; the end where nothing else is allowed."""
        found = np.zeros(vocabulary, np.bool_)
        if self._length < len(self._mask.lead):
            found[self._mask.lead[self._length]] = True
            return found
        bits = np.unpackbits(np.frombuffer(self._matcher.compute_bitmask(), np.uint8), bitorder="little")
        if NOTHING_FITS not in self._matcher.get_error():
            _check(self._matcher)
            found[: len(bits)] = bits[:vocabulary]
        found[self._mask.end] = self._matcher.is_accepting() or not found.any()
        return found


class GreedyMask:
    """The prefixes of the rows of a batch, in greedy search."""

    def __init__(self, mask: OutputMask, rows: int) -> None:
        self._prefixes: list[Prefix | None] = [mask.start() for _ in range(rows)]

    def choose(self, logits: torch.Tensor) -> torch.Tensor:
        """Give the likeliest token of each row that is allowed, and move on."""
        chosen = logits.argmax(-1)
        for i, (prefix, token) in enumerate(zip(self._prefixes, chosen.tolist(), strict=True)):
            if prefix and not prefix.allows(token):
                allowed = torch.from_numpy(prefix.allowed(logits.shape[-1])).to(logits.device)
                chosen[i] = logits[i].masked_fill(~allowed, -torch.inf).argmax()
        self._prefixes = [
            prefix and prefix.followed_by(token) for prefix, token in zip(self._prefixes, chosen.tolist(), strict=True)
        ]
        return chosen

    def keep(self, rows: torch.Tensor) -> None:
        """Drop all rows but these."""
        self._prefixes = [self._prefixes[i] for i in rows.tolist()]


class BeamMask:
    """The prefixes of beams, also as a logits processor of `generate`; rows with the same prefix share its state."""

    def __init__(self, mask: OutputMask, before: int = 1) -> None:
        """`before` tokens come before an output: the start symbol, or a prompt."""
        self._end, self._before = mask.end, before
        self._known: dict[tuple[int, ...], Prefix | None] = {(): mask.start()}

    def __call__(self, written: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Give −∞ to the tokens that are not allowed after what was written."""
        rows = [tuple(row[self._before :]) for row in written.tolist()]
        known = self._known
        self._known = {row: known.get(row) if row in known else self._longer(known, row) for row in set(rows)}
        size = scores.shape[-1]
        masks = {row: prefix.allowed(size) if prefix else self._only_end(size) for row, prefix in self._known.items()}
        allowed = torch.from_numpy(np.stack([masks[row] for row in rows])).to(scores.device)
        return scores.masked_fill(~allowed, -torch.inf)

    @staticmethod
    def _longer(known: dict[tuple[int, ...], Prefix | None], row: tuple[int, ...]) -> Prefix | None:
        before = known.get(row[:-1])
        return before.followed_by(row[-1]) if before else None

    def _only_end(self, size: int) -> Bools:
        return np.arange(size) == self._end


def _writable(cfg: OutputCfg, codec: Codec) -> OutputCfg:
    """Leave out what needs a token that the model cannot write."""
    tokens = sorted({s for p in cfg.productions for s in p.rhs if isinstance(s, str)})
    back = codec.decode(codec.encode_targets(tokens))
    lost = {token for token, text in zip(tokens, back, strict=True) if token != text}
    kept = OutputCfg(p for p in cfg.productions if lost.isdisjoint(p.rhs)).trimmed()
    if ROOT.name not in {p.lhs.name for p in kept.productions}:
        example = next(s for p in cfg.productions for s in p.rhs if s in lost)
        raise InputError(f"the model can write no output of the CFG: it has no token for {example!r}, for example")
    return kept


def _vocabulary(codec: Codec) -> "LLTokenizer":
    from llguidance import LLTokenizer, TokenizerWrapper

    return LLTokenizer(TokenizerWrapper(_Tokens(codec)), slices=[])


class _Tokens:
    """What llguidance asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, codec: Codec) -> None:
        special = {*codec.tokenizer.all_special_ids, codec.end}
        self.eos_token_id = codec.end
        self.special_token_ids = sorted(special)
        self.tokens = codec.token_bytes()
        for i in special:
            self.tokens[i] = b"\xff" + str(i).encode()  # its way to mark what is no text

    def __call__(self, text: Any) -> list[int]:
        return []  # only asked where the grammar forces tokens, which it does not


def _check(matcher: "LLMatcher") -> None:
    if matcher.is_error():
        reason = matcher.get_error().strip().splitlines()[0]
        raise CslError(f"the output CFG cannot be used to mask outputs: {reason}; use --no-mask or a smaller CFG")
