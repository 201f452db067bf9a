"""Expectation–maximisation: every pass sets the probabilities to expected relative frequencies."""

import numpy as np

from csl.model.data import ForestData
from csl.model.model import FloatArray, softmax

GAIN = 1e-5  # mean log p(x, y) gained by a pass, below which it has converged
FLOOR = 1e-6  # expected count of what was never seen: small, but not nothing


class Em:
    """Probabilities that get better from pass to pass over all pairs."""

    def __init__(self, data: ForestData, theta_context: FloatArray, theta_rule: FloatArray) -> None:
        self._data = data
        self._context, self._rule = softmax(theta_context), np.ascontiguousarray(softmax(theta_rule).T)
        self._places = np.arange(len(data.copies))
        self._used = data.occurring(self._places)
        self._last = np.array(-np.inf)

    def step(self, _: int) -> tuple[float, bool]:
        """Make a pass; return the mean log p(x, y) before it, and whether nothing is gained any more."""
        data, used, p = self._data, self._used, (self._context, self._rule)
        total, by_context, by_rule = data.expectations(self._places, data.copies, p, used)
        context, rule = (np.full_like(table, FLOOR) for table in p)
        context[used.contexts] += self._context[used.contexts] * by_context
        rule[used.rules] += self._rule[used.rules] * by_rule
        self._context = context / context.sum(axis=1, keepdims=True)
        self._rule = rule / rule.sum(axis=0, keepdims=True)
        mean = total / data.copies.sum()
        converged = bool(mean - self._last < GAIN)
        self._last = np.array(mean)
        return float(mean), converged

    def theta(self) -> tuple[FloatArray, FloatArray]:
        """Return the parameters."""
        return np.log(self._context), np.ascontiguousarray(np.log(self._rule).T)

    def state(self) -> dict[str, FloatArray]:
        """Return what it takes to resume."""
        return {"context": self._context, "rule": self._rule, "last": self._last}

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Resume from a state."""
        self._context, self._rule, self._last = state["context"], state["rule"], state["last"]
