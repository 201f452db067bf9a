"""Fitting NQG's model: Adam on log p(y | x), summed over all derivations of the pair.

The forests of all inputs and of all pairs are built once. A step scores the labels of its inputs; one inside–outside
pass over the forests of the pairs and one over those of the inputs give the sum and its gradient by the scores, and
torch does the rest. With an encoder that stays as it is, its vectors are computed once.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from csl.baselines.nqg.chart import FloatArray, LabelledForests, Places
from csl.baselines.nqg.config import NqgFitConfig
from csl.baselines.nqg.encoder import Encoder
from csl.baselines.nqg.model import CHUNK, NqgModel
from csl.errors import CslError, InputError
from csl.examples import Example
from csl.grammar import Grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.budget import COVERED
from csl.kernels.source_chart import Forests
from csl.model.fit import FitCheckpoint

CHECK = 100  # steps between reports and checkpoints


class NqgProgress(NamedTuple):
    """The mean log p(y | x) of the steps since the last report."""

    step: int
    steps: int
    log_prob: float


@dataclass(frozen=True)
class NqgFitted:
    """A model, and the training pairs that its grammar does not derive and that were left out."""

    model: NqgModel
    left_out: tuple[Example, ...]
    log_prob: float  # mean over the pairs of the last steps


class PairData:
    """Distinct pairs that a grammar derives: the forests of inputs and pairs, and how often each occurs."""

    def __init__(self, model: NqgModel, examples: Sequence[Example]) -> None:
        counts = Counter(examples)
        charts, pairs = _forests(model, list(counts))
        derived = pairs.status == COVERED
        self.left_out = tuple(example for example, good in zip(counts, derived, strict=True) if not good)
        self.examples = [example for example, good in zip(counts, derived, strict=True) if good]
        self.copies = np.array([counts[example] for example in self.examples], np.float64)
        self.charts, self.pairs = _forests(model, self.examples) if self.left_out else (charts, pairs)

    def log_prob(self, places: Places, copies: FloatArray, scores: FloatArray) -> tuple[float, FloatArray]:
        """Sum log p(y | x) over pairs by the scores of their labels; return the sum and its gradient."""
        labels = np.concatenate([np.arange(*self.charts.labels_from[[k, k + 1]]) for k in places])
        everywhere = np.zeros(len(self.charts.rules))
        everywhere[labels] = scores
        of_pairs, by_pairs = self.charts.expectations(self.pairs, places, copies, everywhere)
        of_inputs, by_inputs = self.charts.expectations(self.charts.forests, places, copies, everywhere)
        return of_pairs - of_inputs, (by_pairs - by_inputs)[labels]


def _forests(model: NqgModel, examples: Sequence[Example]) -> tuple[LabelledForests, Forests]:
    charts = model.charts([example.source for example in examples])
    return charts, model.pair_forests(charts, examples)


Marginal = Callable[[FloatArray], tuple[float, FloatArray]]
"""Scores of labels → (the sum of log p(y | x), its gradient)."""


class LogMarginal(torch.autograd.Function):
    """The sum of log p(y | x) of a batch by the scores of labels; one pass gives value and gradient."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, marginal: Marginal) -> torch.Tensor:
        """Run the pass; keep the gradient."""
        total, gradient = marginal(scores.detach().double().cpu().numpy())
        ctx.save_for_backward(torch.from_numpy(gradient).to(scores))
        return scores.new_tensor(total)

    @staticmethod
    def backward(ctx: Any, *grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient."""
        (gradient,) = ctx.saved_tensors
        return grad[0] * gradient, None


def fit(
    grammar: Grammar,
    examples: Sequence[Example],
    encoder: Encoder,
    config: NqgFitConfig,
    *,
    output_cfg: OutputCfg | None = None,
    device: str = "cpu",
    progress: Callable[[NqgProgress], None] = lambda _: None,
    checkpoint: FitCheckpoint | None = None,
) -> NqgFitted:
    """Fit a model to examples; equal examples count as often as they occur.

    Pairs that the grammar does not derive are left out, and reported. The output CFG is for the model's parsing.
    """
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        model = NqgModel(grammar, encoder, config, output_cfg).to(device)
        data = PairData(model, examples)
        if not data.examples:
            raise InputError("the grammar derives none of the training pairs; was it induced from other data?")
        return NqgFitted(model, data.left_out, _optimise(model, data, progress, checkpoint))


def _optimise(
    model: NqgModel, data: PairData, progress: Callable[[NqgProgress], None], checkpoint: FitCheckpoint | None
) -> float:
    """Take the steps, from the last checkpoint on; return the mean log p(y | x) of the last ones."""
    adam, steps = _Adam(model, data), model.config.steps
    number, log_prob, since = 0, float("nan"), list[float]()
    state = checkpoint.load() if checkpoint else None
    if state:
        number, log_prob = int(state["number"]), float(state["log_prob"])
        adam.restore(state)
    while number < steps:
        number += 1
        since.append(adam.step(number))
        if number % CHECK == 0 or number == steps:
            log_prob, since = float(np.mean(since)), []
            if checkpoint:
                place = {"number": np.array(float(number)), "log_prob": np.array(log_prob)}
                checkpoint.save({**adam.state(), **place})
            progress(NqgProgress(number, steps, log_prob))
    return log_prob


class _Adam:
    """Torch's Adam on a model, at rates that fall to 0."""

    def __init__(self, model: NqgModel, data: PairData) -> None:
        self._model, self._data, config = model, data, model.config
        self._chance = data.copies / data.copies.sum()
        frozen = config.encoder_rate == 0
        model.encoder.requires_grad_(not frozen)
        self._vectors = _vectors(model.encoder, data.examples) if frozen else []
        rates = {model.scores: config.learning_rate} | ({} if frozen else {model.encoder: config.encoder_rate})
        self._adam = torch.optim.Adam({"params": [*part.parameters()], "rate": rate} for part, rate in rates.items())
        self._trained = [parameter for part in rates for parameter in part.parameters()]
        device = self._trained[0].device
        on_gpu = device.type == "cuda"
        self._dropout = torch.cuda.default_generators[device.index] if on_gpu else torch.default_generator
        self._chances = f"dropout_{device.type}"  # another device cannot resume from these

    def step(self, number: int) -> float:
        """Take step `number`, which decides the batch; return the batch's mean log p(y | x)."""
        model, data, config = self._model, self._data, self._model.config
        model.train()
        rng = np.random.default_rng([config.seed, number])
        drawn = rng.choice(len(self._chance), config.batch_size, p=self._chance)
        places, copies = np.unique(drawn, return_counts=True)
        sources = [data.examples[k].source for k in places]
        vectors = [self._vectors[k] for k in places] if self._vectors else model.encoder(sources)
        scores = model.label_scores(data.charts, places, vectors)
        marginal = partial(data.log_prob, places, copies.astype(np.float64))
        mean = LogMarginal.apply(scores, marginal) / len(drawn)  # type: ignore[no-untyped-call]
        if not torch.isfinite(mean):
            raise CslError(f"step {number}: log p(y | x) is not a number; lower learning_rate and encoder_rate")
        for group in self._adam.param_groups:
            group["lr"] = group["rate"] * (1 - (number - 1) / config.steps)
        self._adam.zero_grad()
        (-mean).backward()
        self._adam.step()
        return float(mean.item())

    def state(self) -> dict[str, FloatArray]:
        """Return what it takes to resume."""
        return {**_state_of(self._trained, self._adam), self._chances: self._dropout.get_state().numpy()}

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Resume from a state."""
        _restore(self._trained, self._adam, state)
        if self._chances in state:
            self._dropout.set_state(torch.from_numpy(state[self._chances]))


@torch.no_grad()
def _vectors(encoder: Encoder, examples: Sequence[Example]) -> list[torch.Tensor]:
    encoder.eval()
    sources = [example.source for example in examples]
    return [vectors for k in range(0, len(sources), CHUNK) for vectors in encoder(sources[k : k + CHUNK])]


def _state_of(parameters: Sequence[torch.Tensor], adam: torch.optim.Adam) -> dict[str, FloatArray]:
    """Return what it takes to resume with these parameters of an optimiser."""
    moments = {
        f"{name}{k}": np.array(value.cpu().numpy())
        for k, slot in adam.state_dict()["state"].items()
        for name, value in slot.items()
    }
    return {f"theta{k}": np.array(theta.detach().cpu().numpy()) for k, theta in enumerate(parameters)} | moments


def _restore(parameters: Sequence[torch.Tensor], adam: torch.optim.Adam, state: Mapping[str, FloatArray]) -> None:
    """Put back what `_state_of` gave."""
    saved = adam.state_dict()
    for k, theta in enumerate(parameters):
        theta.data.copy_(torch.from_numpy(state[f"theta{k}"]))
        if f"step{k}" in state:  # one that had a gradient
            names = ("step", "exp_avg", "exp_avg_sq")
            saved["state"][k] = {name: torch.from_numpy(np.array(state[f"{name}{k}"])) for name in names}
    adam.load_state_dict(saved)
