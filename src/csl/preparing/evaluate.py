"""How good a parser is: accuracy, coverage, precision, log probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.examples.score import Match, Score, score
from csl.parsing.deriver import DEFAULT
from csl.parsing.limits import Abstained, Limits, given_up
from csl.preparing.parser import Parser


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
    parser: Parser,
    examples: Sequence[Example],
    engine: Threads = ONE_THREAD,
    limits: Limits = DEFAULT,
    match: Match = "language",
) -> Evaluation:
    """Parse the inputs and compare with the outputs."""
    found = parser.answers([example.source_text for example in examples], engine, limits)
    outputs = ["" if isinstance(answer, Abstained) else answer.text for answer in found]
    known = [parser.example(example) for example in examples]
    joint = parser.model.log_probs(known, engine, limits)
    derivable = np.isfinite(joint)
    inputs = [example.source for example, good in zip(known, derivable, strict=True) if good]
    given = joint[derivable] - parser.model.log_prob_inputs(inputs, engine, limits)
    return Evaluation(
        outputs,
        given_up(found, len(found)),
        *score(examples, outputs, match),
        int(derivable.sum()),
        float(joint[derivable].mean()) if derivable.any() else float("nan"),
        float(np.nanmean(given)) if np.isfinite(given).any() else float("nan"),
    )
