"""Fitting θ by maximum likelihood (paper, "Learning Procedure").

The forests of all training pairs are built once; then an optimiser takes steps. As the likelihood has local optima,
this can be done from several starts, each an ordinary fit with its own seed; the likeliest counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.inside import fewest_levels
from csl.model.adam import Adam
from csl.model.config import FitConfig
from csl.model.data import ForestData, build
from csl.model.em import Em
from csl.model.model import FloatArray, Model

SPREAD = 0.05  # standard deviation of the initial parameters
CHECK = 50  # steps between reports and checkpoints


class Progress(NamedTuple):
    """The result of a step: the mean log p(x, y) of its examples; in which fit."""

    step: int
    steps: int
    train: float
    seed: int


class FitCheckpoint(Protocol):
    """Keeps the state of a fit."""

    def load(self) -> dict[str, FloatArray] | None:
        """Return the state saved last, if there is one."""

    def save(self, state: dict[str, FloatArray]) -> None:
        """Save the state."""


@dataclass(frozen=True)
class Fitted:
    """A model, and the training pairs that its grammar does not derive and that were left out."""

    model: Model
    left_out: tuple[Example, ...]
    log_prob: float  # mean over the training pairs that are derived
    steps: int
    seed: int
    starts: tuple[float, ...]  # log_prob from each start, in the order of their seeds
    labelled: int = 0  # inputs that a first model labelled, among the training pairs


class _Optimiser(Protocol):
    def step(self, number: int) -> tuple[float, bool]: ...
    def theta(self) -> tuple[FloatArray, FloatArray]: ...
    def state(self) -> dict[str, FloatArray]: ...
    def restore(self, state: dict[str, FloatArray]) -> None: ...


def fit(
    grammar: Grammar,
    examples: Sequence[Example],
    config: FitConfig,
    *,
    output_cfg: OutputCfg | None = None,
    engine: Threads = ONE_THREAD,
    progress: Callable[[Progress], None] | None = None,
) -> Fitted:
    """Fit the parameters of a model to examples; equal examples count as often as they occur.

    Pairs that the grammar does not derive are left out, and reported. The output CFG is for the model's parsing.
    """
    data = build(grammar, examples, config.max_units, engine)
    return likeliest([optimise(grammar, data, start, output_cfg, progress) for start in config.starts()])


def likeliest(fits: Sequence[Fitted]) -> Fitted:
    """Choose the fit from the best start: that with the best likelihood of the training pairs, the first of equals."""
    best = max(fits, key=lambda fitted: fitted.log_prob)
    return replace(best, starts=tuple(fitted.log_prob for fitted in fits))


def optimise(
    grammar: Grammar,
    data: ForestData,
    config: FitConfig,
    output_cfg: OutputCfg | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: FitCheckpoint | None = None,
) -> Fitted:
    """Fit to pairs whose forests are built already, from one start; the rest is as for `fit`."""
    if not len(data.copies):
        raise InputError("the grammar derives none of the training pairs; was it induced from other data?")
    optimiser = _optimiser(data, grammar, config)
    number, over = 0, False
    state = checkpoint.load() if checkpoint else None
    if state:
        for name, old in optimiser.state().items():  # kernels do not look at bounds
            if name not in state or (state[name].shape, state[name].dtype) != (old.shape, old.dtype):
                raise InputError("the checkpoint is not of this fit; fit again with --no-resume")
        number, over = int(state["number"]), bool(state["over"])
        optimiser.restore(state)
    while not over and number < config.steps:
        number += 1
        mean, over = optimiser.step(number)
        if over or number % CHECK == 0 or number == config.steps:
            if checkpoint:
                place = {"number": np.array(float(number)), "over": np.array(float(over))}
                checkpoint.save({**optimiser.state(), **place})
            if progress:
                progress(Progress(number, config.steps, mean, config.seed))
    levels = int(fewest_levels(data.forests).max())
    model = Model(grammar, *optimiser.theta(), output_cfg, config.max_units, levels, config.inference)
    log_prob = data.mean(*optimiser.theta())
    return Fitted(model, data.left_out, log_prob, number, config.seed, (log_prob,))


def _optimiser(data: ForestData, grammar: Grammar, config: FitConfig) -> _Optimiser:
    rng = np.random.default_rng(config.seed)
    context = rng.normal(0, SPREAD, (int(data.contexts[-1]), config.states))
    rule = rng.normal(0, SPREAD, (config.states, len(grammar)))
    if config.optimizer == "em":
        if config.denominator == "batch":
            raise InputError("EM has no batches; choose optimizer = adam, or denominator = grammar")
        return Em(data, context, rule)
    return Adam(data, context, rule, config)


def with_labels(
    model: Model,
    examples: Sequence[Example],
    inputs: Sequence[Sequence[str]],
    ratio: float,
    engine: Threads = ONE_THREAD,
) -> tuple[list[Example], int]:
    """Add inputs that the model labels itself (paper, appendix "Semi-Supervised Learning").

    Inputs that the grammar does not cover are discarded. The others are copied so that they are about `ratio` times as
    many as the examples. Returns examples to fit again, and how many inputs were labelled.
    """
    parses = model.parse_all(inputs, engine)
    labelled = [Example(tuple(x), parse.target) for x, parse in zip(inputs, parses, strict=True) if parse]
    copies = max(1, round(ratio * len(examples) / max(1, len(labelled))))
    return [*examples, *labelled * copies], len(labelled)
