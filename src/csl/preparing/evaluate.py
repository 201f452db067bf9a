"""How good a parser is: accuracy, coverage, precision, log probabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.examples.score import Match, Score, score
from csl.parsing.deriver import DEFAULT
from csl.parsing.limits import Abstained, Limits, given_up
from csl.preparing.parser import Answer, Parser

Sure = Callable[[Sequence[str], Sequence[Answer | Abstained], Threads, Limits], list[float]]


@dataclass(frozen=True)
class Evaluation:
    """Scores of all examples and of groups of them, and mean log probabilities of the derivable pairs."""

    outputs: list[str]  # empty where there is none
    unsure: int  # inputs whose output is not given, as it is not sure enough
    always: Score  # if those outputs were given
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
    sure: Sure | None = None,
    least: float = 0.0,
) -> Evaluation:
    """Parse the inputs and compare with the outputs; those that are less `sure` than `least` are not given."""
    texts = [example.source_text for example in examples]
    found = parser.answers(texts, engine, limits)
    answered = ["" if isinstance(answer, Abstained) else answer.text for answer in found]
    values = [float(least < 1)] * len(found)  # nothing is so sure as 1
    if sure and 0 < least < 1:
        values = sure(texts, found, engine, limits)
    outputs = [output if value >= least else "" for output, value in zip(answered, values, strict=True)]
    known = [parser.example(example) for example in examples]
    joint = parser.model.log_probs(known, engine, limits)
    derivable = np.isfinite(joint)
    inputs = [example.source for example, good in zip(known, derivable, strict=True) if good]
    given = joint[derivable] - parser.model.log_prob_inputs(inputs, engine, limits)
    return Evaluation(
        outputs,
        sum(map(bool, answered)) - sum(map(bool, outputs)),
        score(examples, answered, match)[0],
        given_up(found, len(found)),
        *score(examples, outputs, match),
        int(derivable.sum()),
        float(joint[derivable].mean()) if derivable.any() else float("nan"),
        float(np.nanmean(given)) if np.isfinite(given).any() else float("nan"),
    )
