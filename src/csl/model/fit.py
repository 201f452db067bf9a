"""Fitting θ by maximum likelihood (paper, "Learning Procedure").

The forests of all training pairs are built once; then an optimiser takes steps. The dev set, if there is one, is looked
at every few steps: the parameters that are best there are kept. As the likelihood has local optima, all of this can be
done from several starts, each an ordinary fit with its own seed; the likeliest counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.inside import fewest_levels
from csl.model.config import FitConfig
from csl.model.data import ForestData, build
from csl.model.em import Em
from csl.model.model import FloatArray, Model

SPREAD = 0.05  # standard deviation of the initial parameters
CHECK = 50  # steps between looks at the dev set, reports and checkpoints


class Progress(NamedTuple):
    """What a step came to: the mean log p(x, y) of its examples, and of the dev set if there is one; in which fit."""

    step: int
    steps: int
    train: float
    dev: float | None
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
    dev: Sequence[Example] = (),
    output_cfg: OutputCfg | None = None,
    engine: Engine = ONE_THREAD,
    progress: Callable[[Progress], None] | None = None,
) -> Fitted:
    """Fit the parameters of a model to examples; equal examples count as often as they occur.

    Pairs that the grammar does not derive are left out, and reported. With `dev` the parameters that are best there are
    kept, and with `config.patience` fitting stops when it no longer gains. The output CFG is for the model's parsing.
    """
    data = build(grammar, examples, config.max_units, engine)
    held_out = build(grammar, dev, config.max_units, engine) if dev else None
    return likeliest([optimise(grammar, data, start, held_out, output_cfg, progress) for start in config.starts()])


def likeliest(fits: Sequence[Fitted]) -> Fitted:
    """Choose the fit from the best start: that with the best likelihood of the training pairs, the first of equals."""
    best = max(fits, key=lambda fitted: fitted.log_prob)
    return replace(best, starts=tuple(fitted.log_prob for fitted in fits))


def optimise(
    grammar: Grammar,
    data: ForestData,
    config: FitConfig,
    dev: ForestData | None = None,
    output_cfg: OutputCfg | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: FitCheckpoint | None = None,
) -> Fitted:
    """Fit to pairs whose forests are built already, from one start; the rest is as for `fit`."""
    if not len(data.copies):
        raise InputError("the grammar derives none of the training pairs; was it induced from other data?")
    if dev is not None and not len(dev.copies):
        raise InputError("the grammar derives none of the dev pairs; leave out the dev set")
    optimiser = _optimiser(data, grammar, config)
    best = _Best(dev, config.patience, optimiser.theta())
    number, over = 0, False
    state = checkpoint.load() if checkpoint else None
    if state:
        for name, old in {**optimiser.state(), **best.state()}.items():  # kernels do not look at bounds
            if name not in state or (state[name].shape, state[name].dtype) != (old.shape, old.dtype):
                raise InputError("the checkpoint is not of this fit; fit again with --no-resume")
        number, over = int(state["number"]), bool(state["over"])
        optimiser.restore(state)
        best.restore(state)
    while not over and number < config.steps:
        number += 1
        mean, over = optimiser.step(number)
        if over or number % CHECK == 0 or number == config.steps:
            value, stop = best.look(optimiser.theta())
            over = over or stop
            if checkpoint:
                place = {"number": np.array(float(number)), "over": np.array(float(over))}
                checkpoint.save({**optimiser.state(), **best.state(), **place})
            if progress:
                progress(Progress(number, config.steps, mean, value, config.seed))
    levels = int(fewest_levels(data.forests).max())
    model = Model(grammar, *best.theta, output_cfg, config.max_units, levels)
    log_prob = data.mean(*best.theta)
    return Fitted(model, data.left_out, log_prob, number, config.seed, (log_prob,))


def _optimiser(data: ForestData, grammar: Grammar, config: FitConfig) -> _Optimiser:
    rng = np.random.default_rng(config.seed)
    context = rng.normal(0, SPREAD, (int(data.contexts[-1]), config.states))
    rule = rng.normal(0, SPREAD, (config.states, len(grammar)))
    if config.optimizer == "em":
        return Em(data, context, rule)
    try:
        from csl.model.adam import Adam  # noqa: PLC0415 — torch only where it is needed
    except ModuleNotFoundError as error:
        raise InputError(
            "Adam needs torch: pip install 'compositional-structure-learner[model]', or choose --set optimizer=em"
        ) from error
    return Adam(data, context, rule, config)


class _Best:
    """The parameters that are best on the dev set, if there is one; otherwise the last."""

    def __init__(self, dev: ForestData | None, patience: int, theta: tuple[FloatArray, FloatArray]) -> None:
        self._dev, self._patience = dev, patience
        self._value, self._waited = -np.inf, 0
        self.theta = theta

    def look(self, theta: tuple[FloatArray, FloatArray]) -> tuple[float | None, bool]:
        """Return the dev set's mean log p(x, y), and whether to stop."""
        if self._dev is None:
            self.theta = theta
            return None, False
        value = self._dev.mean(*theta)
        if value > self._value:
            self._value, self._waited, self.theta = value, 0, theta
        else:
            self._waited += 1
        return value, 0 < self._patience <= self._waited

    def state(self) -> dict[str, FloatArray]:
        return {"best": np.array([self._value, self._waited]), "best0": self.theta[0], "best1": self.theta[1]}

    def restore(self, state: dict[str, FloatArray]) -> None:
        self._value, self._waited = float(state["best"][0]), int(state["best"][1])
        self.theta = state["best0"], state["best1"]


def with_labels(
    model: Model,
    examples: Sequence[Example],
    inputs: Sequence[Sequence[str]],
    ratio: float,
    engine: Engine = ONE_THREAD,
) -> tuple[list[Example], int]:
    """Add inputs that the model labels itself (paper, appendix "Semi-Supervised Learning").

    Inputs that the grammar does not cover are discarded. The others are copied so that they are about `ratio` times as
    many as the examples. Returns examples to fit again, and how many inputs were labelled.
    """
    parses = model.parse_all(inputs, engine)
    labelled = [Example(tuple(x), parse.target) for x, parse in zip(inputs, parses, strict=True) if parse]
    copies = max(1, round(ratio * len(examples) / max(1, len(labelled))))
    return [*examples, *labelled * copies], len(labelled)
