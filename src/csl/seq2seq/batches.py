"""Batches of original and synthetic pairs in a fixed proportion, as a function of the step alone.

Each part is an endless stream of permutations, so a small part is seen more often than a large one, and nothing is
copied. Lengths are rounded up, so that a graph captured for one batch serves many. Pairs are not sorted by length:
a model learns to count far worse from batches of one length each (SCAN MCD1 after 4,000 steps: 81 % instead of 97 %).
Within a batch, pairs of similar length form micro-batches with little padding. Only the seed and the step decide a
batch, unless synthetic pairs were chosen for it (`csl.seq2seq.following`): a training that resumes sees the batches
that it would have seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

LENGTHS = np.array([8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512])  # then multiples of 256
IGNORED = -100  # a label that has no loss

Ints = npt.NDArray[np.int64]
Row = Sequence[int] | Ints


@dataclass(frozen=True)
class Batch:
    """Padded ids: `source` [pairs, S] with its `mask`, `labels` [pairs, T]; `tokens` have a loss in the whole batch.

    For a decoder, sources are padded on the `left`.
    """

    source: Ints
    mask: Ints
    labels: Ints
    tokens: int
    left: bool = False

    @property
    def lengths(self) -> tuple[Ints, Ints]:
        """The lengths of inputs and of outputs."""
        return self.mask.sum(1), (self.labels != IGNORED).sum(1)

    def part(self, index: int, parts: int) -> "Batch":
        """Give one of so many equal shares of the pairs, of lengths as mixed as all."""
        source, mask, labels = (np.ascontiguousarray(a[index::parts]) for a in (self.source, self.mask, self.labels))
        return Batch(source, mask, labels, self.tokens, self.left)

    def micro_batches(self, number: int) -> Iterator["Batch"]:
        """Split into so many parts of about equal size, of pairs of similar length and without needless padding."""
        lengths = self.lengths
        for rows in np.array_split(np.argsort(lengths[1], kind="stable"), number):
            wide, long = (rounded(each[rows].max()) for each in lengths)
            there = slice(-wide, None) if self.left else slice(wide)
            source, mask = self.source[rows, there], self.mask[rows, there]
            yield Batch(source, mask, self.labels[rows, :long], self.tokens, self.left)


@dataclass(frozen=True)
class Encoded:
    """The token ids of pairs."""

    sources: Sequence[Row]
    targets: Sequence[Row]

    def __len__(self) -> int:
        return len(self.sources)


class Batches:
    """The batches of a training: `batches[step]`, the first step is 0."""

    def __init__(
        self, original: Encoded, synthetic: Encoded, share: float, size: int, seed: int, pad: int, *, left: bool = False
    ) -> None:
        """`share` is the part of synthetic pairs; where one part is empty, all pairs are of the other."""
        if not len(synthetic) or not len(original):
            share = float(len(synthetic) > 0)
        self._parts = (_Stream(len(original), (seed, 0)), _Stream(len(synthetic), (seed, 1)))
        self._share, self._size, self._pad, self._left = share, size, pad, left
        self._originals = len(original)
        self._chosen = 0, np.empty(0, np.int64)  # synthetic pairs in place of those of the stream, from a place on
        self._sources = [np.asarray(row, np.int64) for row in (*original.sources, *synthetic.sources)]
        self._targets = [np.asarray(row, np.int64) for row in (*original.targets, *synthetic.targets)]

    @property
    def lengths(self) -> tuple[Ints, Ints]:
        """The lengths of all inputs and of all outputs."""
        return lengths_of(self._sources), lengths_of(self._targets)

    def members(self, step: int) -> Ints:
        """Give the numbers of a batch's pairs: originals first, then synthetic ones."""
        begin, end = self._place(step), self._place(step + 1)
        originals = self._parts[0].take(step * self._size - begin, (step + 1) * self._size - end)
        first, chosen = self._chosen
        if first <= begin and end <= first + len(chosen):
            return np.concatenate([originals, chosen[begin - first : end - first]])
        return np.concatenate([originals, self.synthetic(step, step + 1)])

    def _place(self, step: int) -> int:
        """Count the synthetic pairs before a step."""
        return round(self._share * self._size * step)

    def synthetic(self, first: int, last: int, times: int = 1) -> Ints:
        """Give the numbers of the synthetic pairs of steps or, to choose from, of so many times as many pairs."""
        return self._parts[1].take(self._place(first) * times, self._place(last) * times) + self._originals

    def choose(self, first: int, chosen: Ints) -> None:
        """Put these in place of the synthetic pairs from step `first` on."""
        self._chosen = self._place(first), chosen

    def pairs(self, numbers: Ints) -> Encoded:
        """Give the token ids of pairs."""
        return Encoded([self._sources[i] for i in numbers], [self._targets[i] for i in numbers])

    def __getitem__(self, step: int) -> Batch:
        chosen = self.members(step)
        source, mask = padded([self._sources[i] for i in chosen], self._pad, left=self._left)
        labels, real = padded([self._targets[i] for i in chosen], IGNORED)
        return Batch(source, mask, labels, int(real.sum()), self._left)


class _Stream:
    """The numbers below n in random order, then again in another, without end."""

    def __init__(self, n: int, seed: tuple[int, int]) -> None:
        self._n, self._seed = n, seed
        self._order = lru_cache(2)(self._new_order)  # a batch may reach into the next one

    def _new_order(self, epoch: int) -> Ints:
        return np.random.default_rng((*self._seed, epoch)).permutation(self._n)

    def take(self, begin: int, end: int) -> Ints:
        epochs = range(begin // self._n, -(-end // self._n)) if begin < end else range(0)
        parts = [self._order(e)[max(0, begin - e * self._n) : end - e * self._n] for e in epochs]
        return np.concatenate([np.empty(0, np.int64), *parts])


def padded(rows: Sequence[Row], fill: int, *, left: bool = False) -> tuple[Ints, Ints]:
    """Put rows of ids into one array of rounded width; give it and the mask of what is no padding."""
    lengths = lengths_of(rows)
    mask = np.arange(rounded(lengths.max(initial=1))) < lengths[:, None]
    mask = mask[:, ::-1] if left else mask
    ids = np.full(mask.shape, fill, np.int64)
    ids[mask] = np.concatenate(rows)
    return ids, mask.astype(np.int64)


def rounded(lengths: Any) -> Any:
    """Round a length, or an array of lengths, up to one of few."""
    place = np.minimum(np.searchsorted(LENGTHS, lengths), len(LENGTHS) - 1)
    return np.where(lengths <= LENGTHS[-1], LENGTHS[place], -(-lengths // 256) * 256)


def lengths_of(rows: Sequence[Row]) -> Ints:
    """Give the lengths of rows."""
    return np.fromiter((len(row) for row in rows), np.int64, len(rows))
