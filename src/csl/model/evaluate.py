"""How good a model is as a parser: accuracy, coverage, precision, log probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from csl.data import Example
from csl.data.score import Score, score
from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.model.model import Model


@dataclass(frozen=True)
class Evaluation:
    """Scores of all examples and of groups of them, and mean log probabilities of the derivable pairs."""

    outputs: list[str]  # empty where there is none
    score: Score
    groups: dict[str, Score]
    derivable: int
    log_p_xy: float
    log_p_y_given_x: float


def evaluate(model: Model, examples: Sequence[Example], engine: Engine = ONE_THREAD) -> Evaluation:
    """Parse the inputs and compare with the outputs."""
    parses = model.parse_all([example.source for example in examples], engine)
    outputs = [parse.text if parse else "" for parse in parses]
    joint = model.log_probs(examples, engine)
    derivable = np.isfinite(joint)
    inputs = [example.source for example, good in zip(examples, derivable, strict=True) if good]
    given = joint[derivable] - model.log_prob_inputs(inputs, engine)
    return Evaluation(
        outputs,
        *score(examples, outputs),
        int(derivable.sum()),
        float(joint[derivable].mean()) if derivable.any() else float("nan"),
        float(given.mean()) if derivable.any() else float("nan"),
    )
