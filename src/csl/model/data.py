"""Training pairs as forests, and the sums over them that fitting needs.

Sums are taken over a fixed number of parts, so that they do not depend on the number of threads.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from csl.engine import Threads
from csl.errors import LimitWarning
from csl.examples import Example
from csl.grammar import Grammar
from csl.kernels.adam import add_rows
from csl.kernels.budget import COVERED
from csl.kernels.inside import expectations, log_inside, occurring
from csl.kernels.source_chart import Forests
from csl.model.model import FloatArray, context_starts, softmax
from csl.parsing.deriver import Deriver

PARTS = 8  # of a sum, whatever the number of threads
ALL_ITEMS = 2**27  # of the forests of all pairs together, 2 GB; a pair with more than its even share is left out, …
PAIR_ITEMS = 2**14  # … but not if it has no more than this

Probabilities = tuple[FloatArray, FloatArray]
"""p(s | context), and p(r | s) by rule; or a gradient by both."""


@dataclass(frozen=True)
class ForestData:
    """Distinct pairs that a grammar derives: their forests, and how often each occurs."""

    forests: Forests
    copies: FloatArray
    contexts: npt.NDArray[np.int64]
    left_out: tuple[Example, ...]  # pairs that the grammar does not derive, or in too many ways
    engine: Threads

    def expectations(
        self, places: npt.NDArray[np.int64], copies: FloatArray, p: Probabilities, gradient: Probabilities
    ) -> float:
        """Sum log p(x, y) over pairs, each `copies` times; return the sum, and write its gradient by p."""
        state = (self.forests, places, copies, *p, self.contexts)
        for by in gradient:
            by.fill(0)
        total = 0.0
        for part, *rows in self.engine.chunks(_expectations, np.arange(len(places)), *state, parts=PARTS):
            total += part
            for by, some, values in zip(gradient, rows[::2], rows[1::2], strict=True):
                add_rows(by, some, values)
        return total

    def occurring(self, places: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """List the contexts and the rules in derivations of some pairs."""
        contexts, rules, _, _ = occurring(self.forests, places, self.contexts, int(self.contexts[-1]))
        return contexts, rules

    def mean(self, theta_context: FloatArray, theta_rule: FloatArray) -> float:
        """Return the mean log p(x, y)."""
        rule = np.ascontiguousarray(softmax(theta_rule).T)
        state = (softmax(theta_context), rule, self.contexts)
        values = self.engine.call(log_inside, self.forests, np.arange(len(self.copies)), *state)
        return float(values @ self.copies / self.copies.sum())


def _expectations(
    part: npt.NDArray[np.int64],
    forests: Forests,
    places: npt.NDArray[np.int64],
    copies: FloatArray,
    *probabilities: npt.NDArray[Any],
) -> tuple[Any, ...]:
    sums: tuple[Any, ...] = expectations(forests, places[part], copies[part], *probabilities)
    return sums


def build(grammar: Grammar, examples: Sequence[Example], max_units: int, engine: Threads) -> ForestData:
    """Build the forests of the distinct pairs."""
    counts = Counter(examples)
    distinct = list(counts)
    largest = max(PAIR_ITEMS, ALL_ITEMS // max(1, len(distinct)))
    forests = Deriver(grammar, max_units).pair_forests(distinct, engine=engine, largest=largest)
    given_up = int((forests.status > COVERED).sum())
    if given_up:
        line = f"{given_up:,} of {len(distinct):,} pairs left out: they have too many derivations"
        warnings.warn(line, LimitWarning, stacklevel=2)
    places = np.flatnonzero(forests.status == COVERED)
    # a pair without derivations has no vertices: leaving it out moves nothing
    vertices = np.concatenate([forests.vertices[places], forests.vertices[-1:]])
    kept = forests._replace(status=forests.status[places], vertices=vertices)
    copies = np.array([counts[distinct[k]] for k in places], np.float64)
    left_out = tuple(distinct[k] for k in np.flatnonzero(forests.status != COVERED))
    return ForestData(kept, copies, context_starts(grammar), left_out, engine)
