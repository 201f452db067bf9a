"""How good a model is as a parser: accuracy, coverage, precision, log probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.examples.score import Match, Score, score
from csl.model.model import Model
from csl.parsing.deriver import DEFAULT
from csl.parsing.limits import Abstained, Limits, given_up


@dataclass(frozen=True)
class Evaluation:
    """Scores of all examples and of groups of them, and mean log probabilities of the derivable pairs."""

    outputs: list[str]  # empty where there is none
    given_up: str  # how many inputs, and why; empty if none was
    score: Score
    groups: dict[str, Score]
    derivable: int
    log_p_xy: float
    log_p_y_given_x: float


def evaluate(
    model: Model,
    examples: Sequence[Example],
    engine: Threads = ONE_THREAD,
    limits: Limits = DEFAULT,
    match: Match = "language",
) -> Evaluation:
    """Parse the inputs and compare with the outputs."""
    found = model.outcomes([example.source for example in examples], engine, limits)
    outputs = ["" if isinstance(outcome, Abstained) else outcome.text for outcome in found]
    joint = model.log_probs(examples, engine, limits)
    derivable = np.isfinite(joint)
    inputs = [example.source for example, good in zip(examples, derivable, strict=True) if good]
    given = joint[derivable] - model.log_prob_inputs(inputs, engine, limits)
    return Evaluation(
        outputs,
        given_up(found, len(found)),
        *score(examples, outputs, match),
        int(derivable.sum()),
        float(joint[derivable].mean()) if derivable.any() else float("nan"),
        float(np.nanmean(given)) if np.isfinite(given).any() else float("nan"),
    )
