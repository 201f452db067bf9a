"""All rules that a search has met, each once, as integers."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from csl.examples import Example
from csl.grammar.symbols import Rule
from csl.grammar.vocabulary import IntArray, Ragged, Vocabulary
from csl.kernels.flat import Rules, sides, take
from csl.kernels.hashing import Table
from csl.kernels.store import Interned, intern, weights


def rules_of_sides(sides: Ragged) -> Rules:
    """Put encoded sources and targets, which come in turn, together to rules."""
    return Rules(sides.values, sides.offsets[::2].copy(), sides.offsets[1::2].copy())


class RuleStore:
    """Distinct rules with ids 0, 1, …; nothing is ever taken out."""

    def __init__(self) -> None:
        rules = Rules(np.empty(1024, np.int32), np.zeros(65, np.int64), np.empty(64, np.int64))
        table = Table(np.zeros(128, np.uint64), np.full(128, -1, np.int32), np.empty(64, np.int32))
        self._interned = Interned(rules, table, 0)

    def __len__(self) -> int:
        return self._interned.size

    @property
    def arrays(self) -> Rules:
        """The rules for kernels; when rules are added, the arrays grow at their ends."""
        (values, begin, middle), count = self._interned.rules, self._interned.size
        return Rules(values[: begin[count]], begin[: count + 1], middle[:count])

    def add(self, rules: Rules) -> IntArray:
        """Add encoded rules; return their ids."""
        ids: IntArray
        ids, self._interned = intern(self._interned, rules)
        return ids

    def add_rules(self, rules: Iterable[Rule | Example], vocabulary: Vocabulary) -> IntArray:
        """Add rules, or examples as rules; return their ids."""
        return self.add(rules_of_sides(vocabulary.encode(s for rule in rules for s in (rule.source, rule.target))))

    def add_sides(self, other: "RuleStore", rules: IntArray, side: int, *, erased: bool = True) -> IntArray:
        """Add one side of rules of another store, as rules that are all source; return their ids."""
        values, offsets = sides(other.arrays, rules, side)
        return self.add(Rules(np.maximum(values, np.int32(-1)) if erased else values, offsets, offsets[1:]))

    def select(self, rules: IntArray) -> Rules:
        """Return some rules as `add` takes them."""
        values, begin, middle = self.arrays
        taken, offsets = take(values, begin, rules)
        return Rules(taken, offsets, offsets[:-1] + (middle[rules] - begin[rules]))

    def sizes(self, terminal: int, nonterminal: int, start: int) -> npt.NDArray[np.int64]:
        """|α| + |β| of the rules from `start` on, with these costs a symbol."""
        sizes: npt.NDArray[np.int64] = weights(self.arrays, start, terminal, nonterminal)
        return sizes

    def rule(self, i: int, vocabulary: Vocabulary) -> Rule:
        """Decode a rule."""
        values, begin, middle = self.arrays
        start, between = begin[i], middle[i] - begin[i]
        symbols = values[start : begin[i + 1]].tolist()
        return Rule(vocabulary.decode(symbols[:between]), vocabulary.decode(symbols[between:]))
