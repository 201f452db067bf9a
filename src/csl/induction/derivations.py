"""One derivation of each example, kept up to date while a grammar is in the making.

A rule goes when others derive it. Put in its place, they derive whatever it derived: so what an example is made of now
is known without parsing it again. Where a rule went for another reason, the derivation is empty.
"""

import numpy as np
import numpy.typing as npt

from csl.grammar.vocabulary import Ragged
from csl.induction.objective import Costs, Ids
from csl.kernels.derivations import substitute


class Derivations:
    """The rules of one derivation of each example, as often as they are in it, in no order."""

    def __init__(self) -> None:
        self.now = Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))
        self._gone: list[tuple[Ids, Ids, Costs]] = []  # rules that went, the rules that derive them, their offsets

    def begin(self, examples: Ids) -> None:
        """Take examples, each of which is a rule of the grammar."""
        values, offsets = self.now
        more = offsets[-1] + np.arange(1, len(examples) + 1)
        self.now = Ragged(np.concatenate([values, examples]), np.concatenate([offsets, more]))

    def restore(self, derivations: Ragged) -> None:
        """Go back to earlier derivations."""
        self.now, self._gone = derivations, []

    def note(self, rules: Ids, used: Ids, offsets: Costs) -> None:
        """Note that rules go, and the rules that derive each, which are in the grammar now."""
        self._gone.append((rules, used, offsets))

    def update(self, alive: npt.NDArray[np.bool_]) -> None:
        """Put in place of the rules that went what derives them."""
        row, nothing = np.full(len(alive), -1, np.int32), self.now.values[:0]
        gone, used, offsets = zip((nothing, nothing, np.zeros(1, np.int64)), *self._gone, strict=True)
        rules, ends = np.concatenate(gone), np.cumsum(np.concatenate([[0], *map(np.diff, offsets)]))
        row[rules] = np.arange(len(rules))  # of a rule that went twice, the last time
        self.now = Ragged(*substitute(alive, *self.now, row, np.concatenate(used), ends))
        self._gone = []
