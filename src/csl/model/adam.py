"""Adam on batches (Kingma & Ba 2015).

The parameters are softmaxed, the compiled inside–outside pass gives the gradient by probabilities, and the chain rule
that by parameters: ∂/∂θ = p · (∂/∂p − Σ p · ∂/∂p), where the sum goes over what p is normalised over.

Of contexts only those of the batch have a gradient; the others catch up when they are next in one. Every rule has one,
as p(r | s) is normalised over all of them: these passes over a table are most of a step, hence float32.
"""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from csl.kernels.adam import adam_rows, catch_up
from csl.model.config import FitConfig
from csl.model.data import ForestData, Occurring
from csl.model.model import FloatArray, Table, softmax

LEAST = np.float32(1e-30)  # of a probability, so that no sum of products of two is 0


class Parameters:
    """A table of parameters with their moments. A row that is left out of a step takes it when it is next asked for."""

    def __init__(self, theta: FloatArray, rate: float) -> None:
        self.theta, self._rate = np.array(theta, np.float32, order="C"), rate
        self.first, self.second = np.zeros_like(self.theta), np.zeros_like(self.theta)
        self.seen = np.zeros(len(theta), np.int64)  # the last step of each row

    def catch_up(self, rows: npt.NDArray[np.int64], number: int) -> None:
        """Let some rows take the steps before step `number` that they were left out of."""
        catch_up(self.theta, self.first, self.second, rows, self.seen, self._rate, number)
        self.seen[rows] = number - 1

    def step(self, rows: npt.NDArray[np.int64], slopes: Table, offset: Table, number: int) -> None:
        """Take step `number` in some rows, which have caught up; also subtract a number from each column."""
        adam_rows(self.theta, self.first, self.second, rows, slopes, offset, self._rate, number)
        self.seen[rows] = number


class Adam:
    """Parameters that get better from batch to batch. Those of rules are kept by rule: θ[rule, state]."""

    def __init__(self, data: ForestData, theta_context: FloatArray, theta_rule: FloatArray, config: FitConfig) -> None:
        self._data, self._config = data, config
        self._cumulative = np.cumsum(data.copies) / data.copies.sum()
        self._context = Parameters(theta_context, config.learning_rate)
        self._rule = Parameters(theta_rule.T, config.learning_rate)
        self._rules = np.arange(len(self._rule.theta))
        self._p = np.zeros_like(self._context.theta), np.zeros_like(self._rule.theta)

    def step(self, number: int) -> tuple[float, bool]:
        """Take step `number`, which decides the batch; return the batch's mean log p(x, y), and that there is more."""
        config, data, (by_context, by_rule) = self._config, self._data, self._p
        rng = np.random.default_rng([config.seed, number])
        drawn = self._cumulative.searchsorted(rng.random(config.batch_size), side="right")
        places, copies = np.unique(drawn, return_counts=True)
        used = data.occurring(places)
        self._context.catch_up(used.contexts, number)
        by_context[used.contexts] = context = softmax(self._context.theta[used.contexts])
        total = self._exp(used)
        by_rule[used.rules] = rule = np.maximum(by_rule[used.rules] / total, LEAST)
        loss, slope, rule_slope = data.expectations(places, copies / -len(drawn), self._p, used)
        slope -= np.einsum("cs,cs->c", context, slope)[:, None]
        self._context.step(used.contexts, context * slope, np.zeros_like(total), number)
        shift = np.einsum("rs,rs->s", rule, rule_slope)
        by_rule *= -shift / total
        by_rule[used.rules] = rule * (rule_slope - shift)
        self._rule.step(self._rules, by_rule, np.log(total), number)  # θ + constant is the same model, and exp is safe
        return -loss, False

    def _exp(self, used: Occurring) -> Table:
        """Write exp θ of the rules that p(r | s) is normalised over; return the sum, a number for each state."""
        theta, (_, out) = self._rule.theta, self._p
        if self._config.denominator == "grammar":
            np.exp(theta, out=out)
            total: Table = out.sum(axis=0)
            return total
        out.fill(0)  # the rules in derivations of the batch (paper, B.2)
        out[used.rules] = softmax(theta[used.rules].T).T
        return np.ones_like(theta[0])

    def theta(self) -> tuple[FloatArray, FloatArray]:
        """Return the parameters."""
        context = copy.deepcopy(self._context)
        context.catch_up(np.arange(len(context.theta)), 1 + int(self._rule.seen[0]))
        return context.theta.astype(np.float64), np.ascontiguousarray(self._rule.theta.T, np.float64)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return what it takes to resume."""
        return {
            f"{name}_{part}": getattr(parameters, part)
            for name, parameters in (("context", self._context), ("rule", self._rule))
            for part in ("theta", "first", "second", "seen")
        }

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from a state."""
        for name, array in self.state().items():
            array[:] = state[name]
