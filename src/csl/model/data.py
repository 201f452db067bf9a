"""Training pairs as forests, and the sums over them that fitting needs.

Sums are taken over a fixed number of parts, so that they do not depend on the number of threads.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
from csl.model.model import FloatArray, Table, context_starts, softmax
from csl.parsing.deriver import Deriver

PARTS = 8  # of a sum, whatever the number of threads
ALL_ITEMS = 2**27  # of the forests of all pairs together, 2 GB; a pair with more than its even share is left out, …
PAIR_ITEMS = 2**14  # … but not if it has no more than this

Probabilities = tuple[Table, Table]
"""p(s | context), and p(r | s) by rule."""


class Occurring(NamedTuple):
    """The contexts and the rules in derivations of some pairs, and where each is among these, −1: nowhere."""

    contexts: npt.NDArray[np.int64]
    rules: npt.NDArray[np.int64]
    context_place: npt.NDArray[np.int32]
    rule_place: npt.NDArray[np.int32]


@dataclass(frozen=True)
class ForestData:
    """Distinct pairs that a grammar derives: their forests, and how often each occurs."""

    forests: Forests
    copies: FloatArray
    contexts: npt.NDArray[np.int64]
    left_out: tuple[Example, ...]  # pairs that the grammar does not derive, or in too many ways
    engine: Threads

    def occurring(self, places: npt.NDArray[np.int64]) -> Occurring:
        """List the contexts and the rules in derivations of some pairs."""
        return Occurring(*occurring(self.forests, places, self.contexts, int(self.contexts[-1])))

    def expectations(
        self, places: npt.NDArray[np.int64], copies: FloatArray, p: Probabilities, used: Occurring
    ) -> tuple[float, Table, Table]:
        """Sum log p(x, y) over pairs, each `copies` times; return the sum, and its gradient by p of what is used.

        The tables p(s | context) and p(r | s), by rule, are both of float32 or of float64; so is the gradient.
        """
        states, dtype = p[0].shape[1], p[0].dtype
        by_context, by_rule = (np.zeros((len(rows), states), dtype) for rows in (used.contexts, used.rules))
        total, state = 0.0, (self.forests, places, copies, *p, self.contexts)
        for part, contexts, context_values, rules, rule_values in self.engine.chunks(
            _expectations, np.arange(len(places)), *state, parts=PARTS
        ):
            total += part
            add_rows(by_context, used.context_place[contexts], context_values)
            add_rows(by_rule, used.rule_place[rules], rule_values)
        return total, by_context, by_rule

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
