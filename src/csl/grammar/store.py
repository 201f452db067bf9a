"""All rules that a search has met, each once, as integers (the layout is that of `csl.kernels.store`)."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from csl.engine.engine import Growing
from csl.grammar.symbols import Rule
from csl.grammar.vocabulary import IntArray, OffsetArray, Vocabulary
from csl.kernels.store import intern, sides, take, weights

EncodedRules = tuple[IntArray, OffsetArray, OffsetArray]
"""(values, begin, middle): rule r is `values[begin[r]:begin[r + 1]]`, its source ends at `middle[r]`."""


class RuleStore:
    """Distinct rules with ids 0, 1, …; nothing is ever taken out."""

    def __init__(self) -> None:
        self._count = 0
        self._values = np.empty(1024, np.int32)
        self._begin = np.zeros(65, np.int64)
        self._middle = np.empty(64, np.int64)
        self._following = np.empty(64, np.int32)  # chains of rules with one hash
        self._keys = np.zeros(128, np.uint64)  # hash table of their first ones
        self._first = np.full(128, -1, np.int32)
        self.growing = Growing(lambda: self.arrays)  # for engines

    def __len__(self) -> int:
        return self._count

    @property
    def arrays(self) -> EncodedRules:
        """(values, begin, middle) for kernels; when rules are added, they grow at their ends."""
        begin = self._begin[: self._count + 1]
        return self._values[: begin[-1]], begin, self._middle[: self._count]

    def add(self, values: IntArray, begin: OffsetArray, middle: OffsetArray) -> IntArray:
        """Add encoded rules; return their ids."""
        ids: IntArray
        ids, self._count, self._values, self._begin, self._middle, self._following, self._keys, self._first = intern(
            self._values, self._begin, self._middle, self._following, self._count, self._keys, self._first,
            values, begin, middle,
        )  # fmt: skip
        return ids

    def add_rules(self, rules: Iterable[Rule], vocabulary: Vocabulary) -> IntArray:
        """Add rules; return their ids."""
        values, offsets = vocabulary.encode(side for rule in rules for side in (rule.source, rule.target))
        return self.add(values, offsets[::2], offsets[1::2])

    def add_sides(self, other: "RuleStore", rules: IntArray, side: int) -> IntArray:
        """Add one side of rules of another store, indices erased, as rules that are all source; return their ids."""
        values, offsets = sides(*other.arrays, rules, side)
        return self.add(np.maximum(values, np.int32(-1)), offsets, offsets[1:])

    def select(self, rules: IntArray) -> EncodedRules:
        """Return some rules as `add` takes them."""
        values, begin, middle = self.arrays
        taken, offsets = take(values, begin, rules)
        return taken, offsets, offsets[:-1] + (middle[rules] - begin[rules])

    def sizes(self, terminal: int, nonterminal: int, start: int) -> npt.NDArray[np.int64]:
        """|α| + |β| of the rules from `start` on, with these costs a symbol."""
        values, begin, _ = self.arrays
        sizes: npt.NDArray[np.int64] = weights(values, begin, start, self._count, terminal, nonterminal)
        return sizes

    def rule(self, i: int, vocabulary: Vocabulary) -> Rule:
        """Decode a rule."""
        values, begin, middle = self.arrays
        return Rule(
            vocabulary.decode(values[begin[i] : middle[i]]), vocabulary.decode(values[middle[i] : begin[i + 1]])
        )
