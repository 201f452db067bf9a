"""GECA, "Good-Enough Compositional Data Augmentation" (Andreas 2020; paper, appendix "Comparison with GECA").

Fragments of examples that fill one template are interchangeable: if f and g both fill it, and f is also
in an example u, then u with g in the place of f is a new pair. Fragments that share a token are not swapped, and pairs
of the training set are no results. Nothing is recursive: a result is one swap away from a training example.

What a fragment and a template are, and how they are joined, is in `csl.kernels.geca`. A swap is a
triple (u, f, g). All swaps have numbers, and are made in a random order that is computed, not stored.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from csl.baselines.config import GecaConfig
from csl.engine import ONE_THREAD
from csl.errors import InputError
from csl.examples import Example
from csl.grammar.vocabulary import Vocabulary
from csl.kernels.geca import (
    Sequences,
    Swaps,
    collect,
    draw_swaps,
    interchangeable,
    locate,
    mark_shared,
    sequence_keys,
)
from csl.kernels.hashing import build_table
from csl.kernels.sample import keep_new, missing

MOST_PAIRS = 5 * 10**9  # of fragments in one template; some minutes
CHUNK = 4096  # swaps made together
PATIENCE = 25  # chunks after which is looked at how many new pairs they brought
SCARCE = 0.001  # if they add less than this share to what was found, or nothing, there are no more


@dataclass(frozen=True, slots=True)
class Swap:
    """A new pair, the place of the training example that it is made from (counted from 1), and two fragments."""

    example: Example
    parent: int
    old: int
    new: int


class Geca:
    """The swaps that a training set allows."""

    def __init__(
        self, train: Sequence[Example], config: GecaConfig, progress: Callable[[str], None] = lambda _: None
    ) -> None:
        """Find fragments and what they can be swapped for; `progress` is called with what is being done."""
        self.config = config
        self.exhausted = False  # whether the last stream ended because there were no more pairs
        first = {example: k for k, example in reversed(list(enumerate(train, start=1)))}
        distinct = list(dict.fromkeys(train))
        self._lines = [first[example] for example in distinct]
        vocabulary = Vocabulary()
        vocabulary.add("")  # the separator, SEPARATOR
        self._sequences = Sequences(*vocabulary.encode((*e.source, "", *e.target) for e in distinct))
        self._tokens = np.array([vocabulary.token(i) for i in range(len(vocabulary))], object)
        sequences, window = self._sequences, config.window

        progress("looking for templates that fragments share …")
        bits = _bits(distinct, window)
        call = ONE_THREAD.call
        shared = call(mark_shared, sequences, window, bits)
        templates, hashes = _shared(call(collect, sequences, window, shared, bits))
        fragments, members = _numbered(hashes)
        progress(f"looking for the places of {len(fragments):,} fragments …")
        table = build_table(fragments, np.arange(len(fragments)))
        sizes, spans, places = call(locate, sequences, window, table, len(fragments))
        groups = np.flatnonzero(np.concatenate([[True], templates[1:] != templates[:-1], [True]]))
        if (pairs := int((np.diff(groups) ** 2).sum())) > MOST_PAIRS:
            raise InputError(f"{pairs:,} pairs of fragments to compare: too many; lower window")
        number = np.repeat(np.arange(len(groups) - 1, dtype=np.int32), np.diff(groups))
        homes = _by_key(members, number, len(fragments))
        progress("joining fragments …")
        others = Sequences(*call(interchangeable, sequences, window, spans, Sequences(members, groups), homes))
        ends = np.cumsum(sizes * np.diff(others.offsets))
        self._swaps = Swaps(spans, _by_key(places[:, 0], places[:, 1], len(fragments)), others, ends)

    @property
    def swaps(self) -> int:
        """The number of swaps; some lead to the same pair, or to one of the training set."""
        return int(self._swaps.ends[-1]) if len(self._swaps.ends) else 0

    @property
    def fragments(self) -> int:
        """The number of fragments that can be swapped for another."""
        return int(np.count_nonzero(np.diff(self._swaps.others.offsets)))

    def stream(self, count: int) -> Iterator[Swap]:
        """Make `count` swaps, fewer if there are not so many; then `exhausted` is true.

        Without `unique` a pair comes up as often as there are swaps that lead to it.
        """
        _, slots, known = keep_new(sequence_keys(*self._sequences), np.zeros(1 << 16, np.uint64), 0)
        found, fresh, self.exhausted = 0, 0, False
        for start in range(0, self.swaps if count > 0 else 0, CHUNK):
            stop = min(start + CHUNK, self.swaps)
            values, begin, rows = draw_swaps(self._sequences, self._swaps, self.config.seed, start, stop)
            keys = sequence_keys(values, begin)
            if self.config.unique:
                good, slots, known = keep_new(keys, slots, known)
            else:
                good = missing(keys, slots)
            fresh += int(good.sum())
            for i in np.flatnonzero(good):
                yield self._swap(values[begin[i] : begin[i + 1]], *rows[i])
                found += 1
                if found == count:
                    return
            if (start // CHUNK + 1) % PATIENCE == 0:
                if fresh < max(1, SCARCE * min(found, PATIENCE * CHUNK)):
                    break
                fresh = 0
        self.exhausted = found < count

    def _swap(self, sequence: npt.NDArray[np.int32], parent: int, old: int, new: int) -> Swap:
        tokens = self._tokens[sequence].tolist()
        middle = tokens.index("")
        example = Example(tuple(tokens[:middle]), tuple(tokens[middle + 1 :]))
        return Swap(example, self._lines[parent], int(old), int(new))

    def fragment(self, f: int) -> tuple[str, ...]:
        """Give the spans of a fragment as texts."""
        s, *spans = self._swaps.spans[f]
        values, offsets = self._sequences
        starts = ((offsets[s] + p, n) for p, n in (spans[:2], spans[2:]) if n)
        return tuple(" ".join(self._tokens[values[p : p + n]]) for p, n in starts)


def _bits(examples: Sequence[Example], window: int) -> int:
    """Choose the size of a set of bits: about eight a fragment, from 8 kB to 256 MB."""
    fragments = sum(window**2 * len(example.source) * len(example.target) for example in examples)
    return min(31, max(16, (8 * fragments).bit_length()))


def _shared(found: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Sort (template, fragment), and keep those of templates with more than one fragment, each once."""
    found = found[np.lexsort((found[:, 1], found[:, 0]))]
    again = (found[1:] == found[:-1]).all(axis=1)
    found = found[np.concatenate([[True], ~again])[: len(found)]]
    same = found[1:, 0] == found[:-1, 0]
    more = np.concatenate([[False], same])[: len(found)] | np.concatenate([same, [False]])[: len(found)]
    return found[more, 0].copy(), found[more, 1].copy()


def _numbered(hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """Give hashes numbers as they come up: those of a template are then close together in memory."""
    known, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(known), np.int32)
    number[order] = np.arange(len(known), dtype=np.int32)
    return known[order], number[which]


def _by_key(keys: npt.NDArray[Any], values: npt.NDArray[Any], number: int) -> Sequences:
    """Sort values by keys 0 … number − 1."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=number))]).astype(np.int64)
    return Sequences(values[np.argsort(keys, kind="stable")], offsets)
