"""One derivation of each example, kept up to date while a grammar is in the making.

A rule goes when others derive it. Put in its place, they derive whatever it derived: so what an example is made of now
is known without parsing it again. Where a rule went for another reason, the derivation is empty.
"""

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from csl.engine import ONE_THREAD, Threads
from csl.grammar.vocabulary import Ragged, join
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

    def update(self, alive: npt.NDArray[np.bool_], engine: Threads = ONE_THREAD) -> None:
        """Put in place of the rules that went what derives them."""
        row, nothing = np.full(len(alive), -1, np.int32), self.now.values[:0]
        gone, used, offsets = zip((nothing, nothing, np.zeros(1, np.int64)), *self._gone, strict=True)
        rules, ends = np.concatenate(gone), np.cumsum(np.concatenate([[0], *map(np.diff, offsets)]))
        row[rules] = np.arange(len(rules))  # of a rule that went twice, the last time
        state = (self.now, alive, row, np.concatenate(used), ends)
        self.now = join(engine.chunks(_substitute, np.arange(len(self.now)), *state, doing="updating derivations"))
        self._gone = []


def _substitute(places: Costs, now: Ragged, alive: npt.NDArray[np.bool_], row: Ids, used: Ids, ends: Costs) -> Ragged:
    return Ragged(*substitute(alive, *now.neighbours(places), row, used, ends))


class Uses:
    """Which examples use which rules, in one derivation each; those that change are kept beside those at first."""

    def __init__(self, derivations: Ragged, number: int) -> None:
        """Take the derivations, whose rules are less than `number`."""
        self._values, self._offsets = derivations
        users = np.repeat(np.arange(len(derivations), dtype=np.int32), np.diff(self._offsets))
        order = np.lexsort((users, self._values))
        rules, users = self._values[order], users[order]
        kept = np.ones(len(rules), np.bool_)  # a rule may be in a derivation more than once
        kept[1:] = (rules[1:] != rules[:-1]) | (users[1:] != users[:-1])
        self._users = users[kept]  # rule by rule
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(rules[kept], minlength=number))])
        self._changed: dict[int, set[int]] = {}  # example → the rules that it uses now
        self._gone, self._come = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)  # rule → users

    def rules(self, example: int) -> set[int]:
        """Return the rules that an example uses."""
        if example in self._changed:
            return self._changed[example]
        return set(self._values[self._offsets[example] : self._offsets[example + 1]].tolist())

    def users(self, rule: int, most: int | None = None) -> list[int]:
        """Return the examples that use a rule, the first ones first; at most so many."""
        a, b = self._starts[rule : rule + 2].tolist()
        gone, come = self._gone.get(rule, set[int]()), self._come.get(rule, set[int]())
        if most is not None:
            b = min(b, a + most + len(gone))
        return sorted([e for e in self._users[a:b].tolist() if e not in gone] + list(come))[:most]

    def count(self, rule: int) -> int:
        """Count the examples that use a rule."""
        a, b = self._starts[rule : rule + 2].tolist()
        return int(b - a) - len(self._gone.get(rule, ())) + len(self._come.get(rule, ()))

    def change(self, example: int, rules: set[int]) -> None:
        """Note that an example uses other rules now."""
        before = self.rules(example)
        for out, back, which in (
            (self._gone, self._come, before - rules),
            (self._come, self._gone, rules - before),
        ):
            for rule in which:
                if example in back[rule]:
                    back[rule].discard(example)
                else:
                    out[rule].add(example)
        self._changed[example] = rules
