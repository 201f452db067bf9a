"""Outputs for inputs by a trained model: batched greedy or beam search, k best with log p(y | x).

Inputs are sorted by length, the longest first, so that memory runs out at once or never. An input is dropped when its
outputs are complete; the library's `generate` computes all rows until the last is. T5's steps are made here, too
(`csl.seq2seq.t5`). `benchmarks/prediction_speed.py` compares them.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from csl.errors import CslError, InputError, LimitWarning
from csl.files import hash_file, read_json, write_json
from csl.seq2seq.architectures import architecture_of
from csl.seq2seq.batches import Encoded, lengths_of, padded
from csl.seq2seq.beams import beam_search
from csl.seq2seq.codec import CODEC, Codec, PromptCodec, codec_of, load_tokenizer
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.mask import BeamMask, GreedyMask, OutputMask
from csl.seq2seq.network import load_network, positions, save_network
from csl.seq2seq.predictions import Prediction
from csl.seq2seq.prompts import Frame
from csl.seq2seq.update import autocast

if TYPE_CHECKING:
    from transformers import PreTrainedModel


ROWS, TOKENS = 512, 2**15  # in a batch, at most
LOGITS = 2**27  # at a time, where all of an output's are computed: half a gigabyte


Written = tuple[torch.Tensor, torch.Tensor | None]  # ids [rows, T], and log p [rows]


class Seq2Seq:
    """A trained model: `Seq2Seq.load("run").predict(["jump twice"])`."""

    def __init__(self, network: "PreTrainedModel", codec: Codec, config: TrainConfig, device: torch.device) -> None:
        self.network, self.codec, self.config, self.device = network, codec, config, device
        self._architecture = architecture_of(network)
        codec.limit(positions(network))
        if isinstance(codec, PromptCodec):  # its template says what ends an output, the checkpoint may not
            pad = codec.tokenizer.pad_token_id
            network.generation_config.update(eos_token_id=codec.end, pad_token_id=codec.end if pad is None else pad)

    @classmethod
    def load(cls, folder: Path | str, device: str = "auto") -> "Seq2Seq":
        """Load a model that `csl train` wrote, from its run folder or from the folder `model` in it."""
        folder = Path(folder)
        folder = folder / "model" if (folder / "model").is_dir() else folder
        path = folder / CODEC
        if not path.exists():
            raise InputError("holds no model that `csl train` wrote", folder)
        try:
            about = read_json(path)
            known = TrainConfig.model_fields.keys() & about["config"].keys()  # another version may have other options
            config = TrainConfig(**{key: about["config"][key] for key in known})
            swaps = {str(old): str(new) for old, new in about["swaps"].items()}
            frame = Frame(**about["frame"]) if about.get("frame") else None
            weights = {folder / Path(name).name: digest for name, digest in about["sha256"].items()}
            if any(len(character) != 1 for pair in swaps.items() for character in pair):
                raise ValueError("a swap is of two characters")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError("damaged file; train the model again", path) from error
        for weight, digest in weights.items():
            if hash_file(weight) != digest:
                raise InputError("damaged file; train the model again", weight)
        codec = codec_of(config, load_tokenizer(folder), swaps, frame)
        place = choose_device(device)
        return cls(load_network(folder).to(place), codec, config, place)

    def save(self, folder: Path) -> None:
        """Write a folder that Hugging Face's classes load too."""
        save_network(self.network, folder)
        self.codec.tokenizer.save_pretrained(folder)
        weights = {path.name: hash_file(path) for path in sorted(folder.glob("*.safetensors"))}
        about = {"config": self.config.model_dump(), "swaps": self.codec.swaps, "sha256": weights}
        frame = {"frame": asdict(self.codec.frame)} if isinstance(self.codec, PromptCodec) else {}
        write_json(folder / CODEC, about | frame)

    def predict(
        self,
        inputs: Sequence[str],
        *,
        beams: int = 1,
        k: int = 1,
        scores: bool = False,
        batch_size: int | None = None,
        mask: OutputMask | None = None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[list[Prediction]]:
        """Give the k best outputs of each input, best first; greedily with one beam.

        With a `mask` only outputs of its CFG are searched; there may be fewer than k. `batch_size` inputs are predicted
        at a time, by default as many as have `TOKENS` tokens. `progress` is called with the number of inputs done.
        """
        if isinstance(inputs, str):
            raise InputError("predict needs a list of inputs, not one text; put it in brackets")
        if min(beams, k, batch_size or 1) < 1 or batch_size == 0:
            raise InputError("beams, k and batch_size must be at least 1")
        if k > beams:
            raise InputError(f"k must be at most the number of beams, {beams}")
        ids = self.codec.encode_sources(inputs)
        if full := int((lengths_of(ids) >= self.codec.max_source).sum()):
            line = f"{full:,} of {len(ids):,} inputs reach the limit of {self.codec.max_source} tokens and may be cut"
            warnings.warn(line, LimitWarning, stacklevel=2)
        places: dict[tuple[int, ...], list[int]] = {}  # inputs that come up again are predicted once
        for place, row in enumerate(ids):
            places.setdefault(tuple(row), []).append(place)
        rows = sorted(places, key=lambda row: -len(row))
        found: list[list[Prediction]] = [[] for _ in ids]
        self.network.eval()
        done = 0
        while rows:
            size = batch_size or max(1, min(ROWS, TOKENS // len(rows[0])) // beams)
            some, rows = rows[:size], rows[size:]
            low = enough_memory(f"batch_size, now {size}, or beams, now {beams}")
            with low, torch.inference_mode(), autocast(self.config, self.device):
                outputs = self._batch([list(row) for row in some], beams, k, scores, mask)
            for alike, best in zip(map(places.__getitem__, some), outputs, strict=True):
                for place in alike:
                    found[place] = best
                done += len(alike)
            progress(done)
        if lost := sum(not outputs for outputs in found):
            line = (
                f"{lost:,} of {len(ids):,} inputs get no output: none of {beams} is complete within max_target tokens"
            )
            warnings.warn(line, LimitWarning, stacklevel=2)
        return [outputs or [Prediction("", -inf if scores else None)] for outputs in found]

    def _batch(
        self, ids: list[list[int]], beams: int, k: int, scores: bool, output_mask: OutputMask | None
    ) -> list[list[Prediction]]:
        source, mask = (
            torch.from_numpy(a).to(self.device)
            for a in padded(ids, self.codec.tokenizer.pad_token_id or 0, left=self._architecture.left)
        )
        n = beams if output_mask else k  # some of the beams may not be complete
        written, sums = self._write(source, mask, beams, n, output_mask, scores)
        outputs = [self._output(row) for row in written.tolist()]
        texts = self.codec.decode(outputs)
        known: Sequence[float | None] = [None] * len(texts) if sums is None else sums.tolist()
        log_probs = known if scores else [None] * len(texts)
        if scores and sums is None:
            log_probs = self._log_probs(source.repeat_interleave(n, 0), mask.repeat_interleave(n, 0), written)
        made = [Prediction(text, log_prob) for text, log_prob in zip(texts, log_probs, strict=True)]
        valid = [
            total != -inf and (output_mask is None or output_mask.accepts(ids))
            for total, ids in zip(known, outputs, strict=True)
        ]
        groups = ([made[j] for j in range(i, i + n) if valid[j]] for i in range(0, len(made), n))
        # in bf16 the search and the score may differ in the last digits
        return [sorted(group, key=lambda p: -(p.log_prob or 0))[:k] for group in groups]

    def _write(
        self,
        source: torch.Tensor,
        mask: torch.Tensor,
        beams: int,
        k: int,
        output_mask: OutputMask | None,
        scores: bool,
    ) -> Written:
        """Give the ids of the k best outputs of each input: the start symbol, the output, its end, padding.

        And log p of each, if it is asked for and known from the search.
        """
        search = self._greedy if beams == 1 else partial(self._beams, beams, k)
        if (written := search(source, mask, output_mask, scores)) is not None:
            return written
        prompt = self._architecture.prompt(source)
        options: dict[str, Any] = {"length_penalty": 0.0} if beams > 1 else {}  # 0: the order is that of log p
        options |= {"logits_processor": [BeamMask(output_mask, prompt + 1)]} if output_mask else {}
        found: torch.Tensor = self.network.generate(
            input_ids=source, attention_mask=mask, max_new_tokens=self.codec.max_target, num_beams=beams,
            num_return_sequences=k, do_sample=False, suppress_tokens=self.codec.never, **options,
        )  # fmt: skip
        return found[:, prompt:], None

    def _greedy(
        self, source: torch.Tensor, mask: torch.Tensor, output_mask: OutputMask | None, scores: bool
    ) -> Written | None:
        """Take the likeliest token at each step, as `generate` does; None where rows of the cache cannot be dropped."""
        limit, device = self.codec.max_target, self.device
        ends, never = (torch.tensor(ids, dtype=torch.long, device=device) for ids in (self._ends, self.codec.never))
        pad = self.network.generation_config.pad_token_id or 0
        written = torch.full((len(source), limit + 1), pad, device=device)
        written[:, 0] = self._architecture.start(source)
        sums = torch.zeros(len(source), device=device) if scores else None
        rows = torch.arange(len(source), device=device)
        going = torch.ones_like(rows, dtype=torch.bool)
        guide = GreedyMask(output_mask, len(source)) if output_mask else None
        search = self._architecture.search(source, mask)
        for step in range(limit):
            logits = search.next_logits(written[rows, step])
            if logits is None:
                return None
            if sums is not None:  # log p is over all tokens, also those that are not allowed
                sums[rows] -= logits.float().logsumexp(-1).where(going, 0.0)
            logits.index_fill_(1, never, -torch.inf)
            chosen = guide.choose(logits) if guide else logits.max(-1).indices
            written[rows, step + 1] = chosen.where(going, pad)
            if sums is not None:
                sums[rows] += logits.gather(1, chosen[:, None])[:, 0].float().where(going, 0.0)
            going &= ~torch.isin(chosen, ends)
            count = int(going.sum())
            if not count:
                return written[:, : step + 2], sums
            if search.drops(count):
                kept = _filled(going, count)
                rows, going = rows[kept], going[kept]
                search.keep(kept)
                if guide:
                    guide.keep(kept)
        return written, sums

    def _beams(
        self, beams: int, k: int, source: torch.Tensor, mask: torch.Tensor, output_mask: OutputMask | None, scores: bool
    ) -> Written | None:
        """Take the k best outputs of a beam search; None where rows of the cache cannot be moved."""
        start, never = self._architecture.start(source), torch.tensor(self.codec.never, dtype=torch.long)
        found = beam_search(
            self._architecture.search(source, mask, beams), start, beams, self.codec.max_target, self._ends,
            never.to(self.device), BeamMask(output_mask) if output_mask else None,
        )  # fmt: skip
        if found is None:
            return None
        best = [output for outputs in found for output in (outputs + [(-inf, [])] * k)[:k]]
        pad = self.network.generation_config.pad_token_id or 0
        ids = padded([[0, *ids] for _, ids in best], pad)[0]
        return torch.from_numpy(ids).to(self.device), torch.tensor([total for total, _ in best])

    @property
    def _ends(self) -> list[int]:
        """The tokens that end an output."""
        ends = self.network.generation_config.eos_token_id
        return ends if isinstance(ends, list) else [-1 if ends is None else ends]

    def _output(self, row: list[int]) -> list[int]:
        """Give the ids of an output up to its end; the first of a row is the start symbol."""
        ends = self._ends
        length = next((place for place, token in enumerate(row[1:], 1) if token in ends), len(row))
        return row[1 : length + 1]

    def log_probs(self, pairs: Encoded) -> list[float]:
        """Give log p(output | input) of pairs of ids; those of similar length are computed together."""
        lengths = lengths_of(pairs.sources) + lengths_of(pairs.targets)
        order, found, done = (-lengths).argsort(kind="stable"), [0.0] * len(pairs), 0
        pad = self.codec.tokenizer.pad_token_id or 0
        self.network.eval()
        while done < len(order):
            chosen = order[done : done + max(1, min(ROWS, TOKENS // lengths[order[done]]))]
            sources, targets = ([side[i] for i in chosen] for side in (pairs.sources, pairs.targets))
            source, mask = padded(sources, pad, left=self._architecture.left)
            arrays = [torch.from_numpy(a).to(self.device) for a in (source, mask, padded(targets, pad)[0])]
            with torch.inference_mode(), autocast(self.config, self.device):
                written = torch.cat([self._architecture.start(arrays[0])[:, None], arrays[2]], dim=1)
                some = self._log_probs(arrays[0], arrays[1], written)
            for i, log_prob in zip(chosen, some, strict=True):
                found[i] = log_prob
            done += len(chosen)
        return found

    def _log_probs(self, source: torch.Tensor, mask: torch.Tensor, written: torch.Tensor) -> list[float]:
        """Score what was written: its first column is the start symbol, and what follows the end is padding."""
        size = max(1, LOGITS // (written.shape[1] * self.network.get_input_embeddings().num_embeddings))
        parts = zip(*(torch.split(each, size) for each in (source, mask, written)), strict=True)
        return [log_prob for part in parts for log_prob in self._some_log_probs(*part)]

    def _some_log_probs(self, source: torch.Tensor, mask: torch.Tensor, written: torch.Tensor) -> list[float]:
        labels = written[:, 1:]
        ends = torch.isin(labels, torch.tensor(self._ends, device=self.device)).long()
        real = ends.cumsum(1) - ends == 0
        logits = self._architecture.logits(self.network, source, mask, written[:, :-1])
        each = logits.float().log_softmax(-1).gather(-1, labels[..., None])[..., 0]
        return [float(value) for value in (each * real).sum(1).tolist()]


def _filled(going: torch.Tensor, count: int) -> torch.Tensor:
    """Give the places of the rows that go on, those at the end in place of those that do not: few move.

    >>> _filled(torch.tensor([True, False, True, True]), 3)
    tensor([0, 3, 2])
    """
    kept = torch.arange(count, device=going.device)
    kept[~going[:count]] = going[count:].nonzero()[:, 0] + count
    return kept


def choose_device(name: str) -> torch.device:
    """Find a device by name; auto: a GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.zeros((), device=name).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"no device {name!r} here; try --device cpu") from error


@contextmanager
def enough_memory(options: str) -> Iterator[None]:
    """Name the options to lower if the device runs out of memory."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise CslError(f"the device ran out of memory; lower {options}") from error


def use_threads(number: int | None) -> None:
    """Set the number of torch's CPU threads; None: as torch chooses."""
    if number is not None:
        torch.set_num_threads(number)
