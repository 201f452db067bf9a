"""How good a model is as a parser: accuracy, coverage, precision, log probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from csl.data import Example
from csl.model.model import Model, Parse

MOST_CATEGORIES = 40  # a column with more values than this is not a category
LENGTHS = (5, 10, 15, 20, 30)  # where the groups by number of input tokens end


@dataclass(frozen=True)
class Score:
    """Counts over a set of examples."""

    examples: int
    covered: int
    right: int

    @property
    def accuracy(self) -> float:
        """The share of examples whose output is right."""
        return self.right / max(1, self.examples)

    @property
    def coverage(self) -> float:
        """The share of inputs that get an output."""
        return self.covered / max(1, self.examples)

    @property
    def precision(self) -> float:
        """The share of outputs that are right."""
        return self.right / max(1, self.covered)


@dataclass(frozen=True)
class Evaluation:
    """Scores of all examples and of groups of them, and mean log probabilities of the derivable pairs."""

    parses: list[Parse | None]
    score: Score
    groups: dict[str, Score]
    derivable: int
    log_p_xy: float
    log_p_y_given_x: float


def evaluate(model: Model, examples: Sequence[Example], threads: int = 1) -> Evaluation:
    """Parse the inputs and compare with the outputs, token by token."""
    parses = model.parse_all([example.source for example in examples], threads)
    joint = model.log_probs(examples)
    derivable = np.isfinite(joint)
    inputs = [example.source for example, good in zip(examples, derivable, strict=True) if good]
    given = joint[derivable] - model.log_prob_inputs(inputs)
    groups = {name: _score(examples, parses, places) for name, places in _groups(examples).items()}
    return Evaluation(
        parses,
        _score(examples, parses, range(len(examples))),
        groups,
        int(derivable.sum()),
        float(joint[derivable].mean()) if derivable.any() else float("nan"),
        float(given.mean()) if derivable.any() else float("nan"),
    )


def _score(examples: Sequence[Example], parses: Sequence[Parse | None], places: Sequence[int]) -> Score:
    covered = [i for i in places if parses[i] is not None]
    right = sum(_target(parses[i]) == examples[i].target for i in covered)
    return Score(len(places), len(covered), right)


def _target(parse: Parse | None) -> tuple[str, ...] | None:
    return parse.target if parse else None


def _groups(examples: Sequence[Example]) -> Mapping[str, list[int]]:
    """Group examples by category if they have one, otherwise by the length of the input."""
    names = [example.meta.get("category", "") for example in examples]
    if not 1 < len(set(names)) <= MOST_CATEGORIES:
        starts = [1, *(end + 1 for end in LENGTHS)]
        labels = [f"{a}–{b} tokens" for a, b in zip(starts, LENGTHS, strict=False)] + [f"over {LENGTHS[-1]} tokens"]
        names = [labels[sum(len(example.source) > end for end in LENGTHS)] for example in examples]
        order = [label for label in labels if label in set(names)]
    else:
        order = sorted(set(names))
    return {name: [i for i, n in enumerate(names) if n == name] for name in order}
