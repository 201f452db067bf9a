"""Synthetic pairs beside the training pairs nearest to them, by the edit distance of tokens.

All samples are counted, some are shown. An input is compared with all training inputs at once: each of its tokens gives
a row of the usual table, for all of them together. That costs the product of the input's length, the number of
training inputs and their longest length, in numpy: for 24,000 inputs of up to 30 tokens about 50 ms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

import numpy as np
import numpy.typing as npt

from csl.examples import Example
from csl.grammar.vocabulary import Vocabulary
from csl.report.derivations import Derivations, Preorder, as_lines, evenly
from csl.report.raw import PLAIN, Belief, Texts

SHOWN, NEAREST = 60, 3


@dataclass(frozen=True)
class Neighbour:
    """A training pair, and the number of tokens to insert, delete or replace to get from one input to the other."""

    input: str
    output: str
    distance: int


@dataclass(frozen=True)
class Sample:
    """A synthetic pair, the lines of the rules of its derivation in preorder, and the nearest training pairs."""

    input: str
    output: str
    rules: list[int]  # empty if it has no derivation
    nearest: list[Neighbour]
    belief: Belief | None = None  # of a pair of raw text


@dataclass(frozen=True)
class Synthetic:
    """The samples of a run, and some of them."""

    total: int
    distinct: int
    new: int | None  # samples that are not training pairs; None without the training data
    pairs: list[Sample]


def choose_samples(
    samples: Sequence[Example], derivations: Derivations, texts: Texts = PLAIN
) -> list[tuple[Example, Preorder]]:
    """Choose samples evenly, each once, with the derivations that they were drawn with, or else the best ones."""
    chosen = list(dict.fromkeys(evenly(samples, SHOWN)))
    found = derivations.best(texts.known(chosen))
    if texts.preparation:  # drawn from another grammar, that of phrases
        return list(zip(chosen, found, strict=True))
    return [(example, _drawn(example, derivations) or rules) for example, rules in zip(chosen, found, strict=True)]


def _drawn(example: Example, derivations: Derivations) -> Preorder:
    """Give the derivation that stands beside a sample; empty if there is none, or none of this grammar."""
    numbers = example.meta.get("derivation", "").split()
    if not all(number.isdecimal() and 0 < int(number) <= len(derivations.rules) for number in numbers):
        return ()
    rules = tuple(int(number) - 1 for number in numbers)
    missing = list(accumulate((derivations.rules[r].arity - 1 for r in rules), initial=1))  # after each rule
    return rules if missing[-1] == 0 and 0 not in missing[:-1] else ()


def describe_samples(
    samples: Sequence[Example],
    shown: Sequence[tuple[Example, Preorder]],
    train: Sequence[Example],
    beliefs: Sequence[Belief | None] = (),
) -> Synthetic:
    """Count the samples, and describe those that are shown, with what speaks for each."""
    known, near = set(train), Nearest(train)
    return Synthetic(
        len(samples),
        len(set(samples)),
        sum(example not in known for example in samples) if train else None,
        [
            Sample(e.source_text, e.target_text, as_lines(rules), near.nearest(e.source, NEAREST), belief)
            for (e, rules), belief in zip_longest(shown, beliefs)
        ],
    )


class Nearest:
    """Training pairs with distinct inputs, ready to be compared with."""

    def __init__(self, train: Sequence[Example]) -> None:
        first = {example.source: example for example in reversed(train)}
        self._train = [first[source] for source in dict.fromkeys(example.source for example in train)]
        self._vocabulary = Vocabulary()
        values, offsets = self._vocabulary.encode(example.source for example in self._train)
        self._length = np.diff(offsets)
        self._table = np.zeros((len(self._train), int(self._length.max(initial=0))), np.int32)
        self._table[np.arange(self._table.shape[1]) < self._length[:, None]] = values

    def distances(self, source: Sequence[str]) -> npt.NDArray[np.int16]:
        """Give the edit distance between an input and each training input."""
        columns = np.arange(self._table.shape[1] + 1, dtype=np.int16)
        row = np.repeat(columns[None], len(self._table), axis=0)  # row i, column j: the first i and j tokens
        for i, token in enumerate(source, start=1):
            change = row[:, :-1] + (self._table != (self._vocabulary.get(token) or -1))
            row[:, 1:] = np.minimum(row[:, 1:] + 1, change)
            row[:, 0] = i
            row = np.minimum.accumulate(row - columns, axis=1) + columns  # insertions, one after the other
        found: npt.NDArray[np.int16] = row[np.arange(len(row)), self._length]
        return found

    def nearest(self, source: Sequence[str], number: int) -> list[Neighbour]:
        """Give the nearest training pairs; among equals those that come first in training."""
        distances = self.distances(source)
        return [
            Neighbour(self._train[k].source_text, self._train[k].target_text, int(distances[k]))
            for k in np.argsort(distances, kind="stable")[:number]
        ]
