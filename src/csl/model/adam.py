"""Adam on batches (Kingma & Ba 2015).

The parameters are softmaxed, the compiled inside–outside pass gives the gradient by probabilities, and the chain rule
that by parameters: ∂/∂θ = p · (∂/∂p − Σ p · ∂/∂p), where the sum goes over what p is normalised over. Of contexts only
those of the batch have a gradient. A step costs O(parameters) beside the forests of the batch.
"""

import numpy as np

from csl.kernels.adam import adam_step
from csl.model.config import FitConfig
from csl.model.data import ForestData
from csl.model.model import FloatArray, softmax


class Parameters:
    """Parameters with their moments, and room for probabilities and a gradient: new arrays cost more than a step."""

    def __init__(self, theta: FloatArray) -> None:
        self.theta = np.array(theta, order="C")
        self.first, self.second, self.p, self.gradient = (np.zeros_like(self.theta) for _ in range(4))

    def step(self, rate: float, number: int, shift: FloatArray) -> None:
        """Step along the gradient by θ, which is p · (gradient − shift); `shift` has a number for each state."""
        adam_step(self.theta, self.p, self.gradient, shift, self.first, self.second, rate, number)


class Adam:
    """Parameters that get better from batch to batch. Those of rules are kept by rule: θ[rule, state]."""

    def __init__(self, data: ForestData, theta_context: FloatArray, theta_rule: FloatArray, config: FitConfig) -> None:
        self._data, self._config = data, config
        self._chance = data.copies / data.copies.sum()
        self._context, self._rule = Parameters(theta_context), Parameters(theta_rule.T)

    def step(self, number: int) -> tuple[float, bool]:
        """Take step `number`, which decides the batch; return the batch's mean log p(x, y), and that there is more."""
        config, context, rule = self._config, self._context, self._rule
        rng = np.random.default_rng([config.seed, number])
        drawn = rng.choice(len(self._chance), config.batch_size, p=self._chance)
        places, copies = np.unique(drawn, return_counts=True)
        contexts, rules = self._data.occurring(places)
        context.p[contexts] = softmax(context.theta[contexts])
        if config.denominator == "grammar":
            _softmax_columns(rule.theta, rule.p)
        else:  # normalised over the rules in derivations of the batch (paper, B.2)
            rule.p.fill(0)
            rule.p[rules] = softmax(rule.theta[rules].T).T
        p, gradient = (context.p, rule.p), (context.gradient, rule.gradient)
        loss = self._data.expectations(places, copies / -len(drawn), p, gradient)
        context.gradient[contexts] -= np.einsum("cs,cs->c", context.p[contexts], context.gradient[contexts])[:, None]
        context.step(config.learning_rate, number, np.zeros(config.states))
        rule.step(config.learning_rate, number, np.einsum("rs,rs->s", rule.p, rule.gradient))
        return -loss, False

    def theta(self) -> tuple[FloatArray, FloatArray]:
        """Return the parameters."""
        return self._context.theta.copy(), np.ascontiguousarray(self._rule.theta.T)

    def state(self) -> dict[str, FloatArray]:
        """Return what it takes to resume."""
        return {
            f"{name}_{part}": getattr(parameters, part)
            for name, parameters in (("context", self._context), ("rule", self._rule))
            for part in ("theta", "first", "second")
        }

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Resume from a state."""
        for name, array in self.state().items():
            array[:] = state[name]


def _softmax_columns(theta: FloatArray, out: FloatArray) -> None:
    """Normalise along the first axis, into an array that is there."""
    np.subtract(theta, theta.max(axis=0), out=out)
    np.exp(out, out=out)
    out /= out.sum(axis=0)
