"""Adam on batches: the compiled inside–outside pass as a function that torch differentiates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from csl.model.config import FitConfig
from csl.model.data import ForestData
from csl.model.model import FloatArray

Expectations = Callable[[FloatArray, FloatArray], tuple[float, FloatArray, FloatArray]]
"""(p(s | context), p(r | s) by rule) → (the sum of log p(x, y), its gradients by both)."""


class LogLikelihood(torch.autograd.Function):
    """The sum of log p(x, y) of a batch by the probabilities; one pass gives value and gradients."""

    @staticmethod
    def forward(ctx: Any, context: torch.Tensor, rule: torch.Tensor, expectations: Expectations) -> torch.Tensor:
        """Run the pass; keep the gradients."""
        total, by_context, by_rule = expectations(context.detach().numpy(), rule.detach().numpy())
        ctx.save_for_backward(torch.from_numpy(by_context), torch.from_numpy(by_rule))
        return context.new_tensor(total)

    @staticmethod
    def backward(ctx: Any, *grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        """Return the gradients."""
        by_context, by_rule = ctx.saved_tensors
        return grad[0] * by_context, grad[0] * by_rule, None


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch to one thread: on matrices this small more only get in each other's way, forty times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Adam:
    """Parameters that torch's Adam makes better from batch to batch."""

    def __init__(self, data: ForestData, theta_context: FloatArray, theta_rule: FloatArray, config: FitConfig) -> None:
        self._data, self._config = data, config
        self._chance = data.copies / data.copies.sum()
        self._theta = [torch.tensor(theta, requires_grad=True) for theta in (theta_context, theta_rule)]
        self._adam = torch.optim.Adam(self._theta, lr=config.learning_rate)

    @_one_thread()
    def step(self, number: int) -> tuple[float, bool]:
        """Take step `number`, which decides the batch; return the batch's mean log p(x, y), and that there is more."""
        config = self._config
        rng = np.random.default_rng([config.seed, number])
        drawn = rng.choice(len(self._chance), config.batch_size, p=self._chance)
        places, copies = np.unique(drawn, return_counts=True)
        context = torch.softmax(self._theta[0], dim=1)
        rule = self._p_rule(places)
        mean = LogLikelihood.apply(
            context, rule, lambda c, r: self._data.expectations(places, copies.astype(np.float64), c, r)
        ) / len(drawn)  # type: ignore[no-untyped-call]
        self._adam.zero_grad()
        (-mean).backward()
        self._adam.step()
        return mean.item(), False

    def _p_rule(self, places: npt.NDArray[np.int64]) -> torch.Tensor:
        """p(r | s) by rule, normalised over all rules or over those in derivations of the batch (paper, B.2)."""
        theta = self._theta[1]
        if self._config.denominator == "grammar":
            return torch.softmax(theta, dim=1).T.contiguous()
        used = torch.from_numpy(self._data.rules_of(places))
        return torch.zeros_like(theta.T).index_copy(0, used, torch.softmax(theta[:, used], dim=1).T)

    def theta(self) -> tuple[FloatArray, FloatArray]:
        """Return the parameters."""
        context, rule = (theta.detach().numpy().copy() for theta in self._theta)
        return context, rule

    def state(self) -> dict[str, FloatArray]:
        """Return what it takes to resume."""
        return state_of(self._theta, self._adam)

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Resume from a state."""
        restore(self._theta, self._adam, state)


def state_of(parameters: Sequence[torch.Tensor], adam: torch.optim.Adam) -> dict[str, FloatArray]:
    """Return what it takes to resume with these parameters of an optimiser."""
    moments = {
        f"{name}{k}": np.array(value.cpu().numpy())
        for k, slot in adam.state_dict()["state"].items()
        for name, value in slot.items()
    }
    return {f"theta{k}": np.array(theta.detach().cpu().numpy()) for k, theta in enumerate(parameters)} | moments


def restore(parameters: Sequence[torch.Tensor], adam: torch.optim.Adam, state: Mapping[str, FloatArray]) -> None:
    """Put back what `state_of` gave."""
    saved = adam.state_dict()
    for k, theta in enumerate(parameters):
        theta.data.copy_(torch.from_numpy(state[f"theta{k}"]))
        if f"step{k}" in state:  # one that had a gradient
            names = ("step", "exp_avg", "exp_avg_sq")
            saved["state"][k] = {name: torch.from_numpy(np.array(state[f"{name}{k}"])) for name in names}
    adam.load_state_dict(saved)
