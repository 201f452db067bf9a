"""All rules that a search has met, each once, as integers (the layout is that of `csl.kernels.store`)."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from csl.grammar import Rule
from csl.grammar.vocabulary import Vocabulary
from csl.kernels.store import erased_sides, intern, weights


class RuleStore:
    """Distinct rules with ids 0, 1, …; nothing is ever taken out."""

    def __init__(self) -> None:
        self._count = 0
        self._arrays = (
            np.empty(1024, np.int32),  # values
            np.zeros(65, np.int64),  # begin
            np.empty(64, np.int64),  # middle
            np.empty(64, np.int32),  # chains of equal hashes
            np.zeros(128, np.uint64),  # hash table
            np.full(128, -1, np.int32),
        )

    def __len__(self) -> int:
        return self._count

    @property
    def arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(values, begin, middle) for kernels; valid until rules are added."""
        values, begin, middle, *_ = self._arrays
        return values, begin[: self._count + 1], middle[: self._count]

    def add(self, values, begin, middle) -> npt.NDArray[np.int32]:  # type: ignore[no-untyped-def]
        """Add encoded rules; return their ids."""
        v, b, m, f, k, h = self._arrays
        ids, self._count, *arrays = intern(v, b, m, f, self._count, k, h, values, begin, middle)
        self._arrays = tuple(arrays)  # type: ignore[assignment]
        return ids  # type: ignore[no-any-return]

    def add_rules(self, rules: Iterable[Rule], vocabulary: Vocabulary) -> npt.NDArray[np.int32]:
        """Add rules; return their ids."""
        sides = [side for rule in rules for side in (rule.source, rule.target)]
        values, offsets = vocabulary.encode(sides)
        return self.add(values, offsets[::2], offsets[1::2])

    def add_sides(self, other: "RuleStore", rules: npt.NDArray[np.int32], side: int) -> npt.NDArray[np.int32]:
        """Add one side of rules of another store, indices erased; return their ids."""
        values, begin = erased_sides(*other.arrays, rules, side)
        return self.add(values, begin, begin[1:])

    def sizes(self, terminal: float, nonterminal: float, start: int) -> npt.NDArray[np.int64]:
        """Weighted lengths of the rules from `start` on."""
        values, begin, _ = self.arrays
        return weights(values, begin, start, self._count, round(terminal), round(nonterminal))  # type: ignore[no-any-return]

    def rule(self, i: int, vocabulary: Vocabulary) -> Rule:
        """Decode a rule."""
        values, begin, middle = self.arrays
        return Rule(vocabulary.decode(values[begin[i] : middle[i]]), vocabulary.decode(values[middle[i] : begin[i + 1]]))
