"""The training pairs nearest to an input, by the edit distance of tokens.

One query is compared with all training inputs at once: a row of the usual table is computed for each of its tokens, for
all of them together. That costs the product of the query's length, the number of training inputs and their longest
length, in numpy: for 24,000 inputs of up to 30 tokens about 50 ms.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from csl.examples import Example
from csl.grammar.vocabulary import Vocabulary
from csl.report.schema import Neighbour


class Nearest:
    """Training pairs with distinct inputs, ready to be compared with."""

    def __init__(self, train: Sequence[Example]) -> None:
        first = {example.source: example for example in reversed(train)}
        self._train = [first[source] for source in dict.fromkeys(example.source for example in train)]
        self._vocabulary = Vocabulary()
        values, offsets = self._vocabulary.encode_tokens(example.source for example in self._train)
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
            row = np.minimum.accumulate(row - columns, axis=1) + columns  # tokens put in, one after the other
        found: npt.NDArray[np.int16] = row[np.arange(len(row)), self._length]
        return found

    def nearest(self, source: Sequence[str], number: int) -> list[Neighbour]:
        """Give the nearest training pairs, those that come first in training among equals."""
        distances = self.distances(source)
        return [
            Neighbour(input=self._train[k].source_text, output=self._train[k].target_text, distance=int(distances[k]))
            for k in np.argsort(distances, kind="stable")[:number]
        ]
