"""Confidence: how probable it is that an output is correct, from the network and from the parser of a grammar.

Its log-odds are a weighted sum of `FEATURES`: the log-odds of the network's p(output | input), whether the parser has
the same output, another or none, and the log-odds of the parser's own p(output | input). The weights are fitted on
held-out examples (`csl.logistic`), with a prior around the network's own probability.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from csl.errors import InputError
from csl.examples.score import same_output
from csl.files import read_json, write_json
from csl.logistic import Floats, fit_weights, log_odds, probabilities
from csl.seq2seq.predictions import Prediction

FEATURES = ("bias", "network", "same", "other", "parser_same", "parser_other")
PRIOR = np.array([0.0, 1, 0, 0, 0, 0])  # the mean of the weights
FILE = "confidence.json"  # beside the files of a model
POINTS = 20  # of a risk-coverage curve
REMEDY = "calibrate it: csl predict RUN EXAMPLES --calibrate"

Opinion = tuple[str, float]  # the output of a parser, and its log p(output | input)


def features_of(predictions: Sequence[Prediction], opinions: Sequence[Opinion | None] | None = None) -> Floats:
    """Give the `FEATURES` of predictions with scores, and of what a parser, if there is one, says to their inputs."""
    rows = np.zeros((len(predictions), len(FEATURES)))
    rows[:, 0] = 1
    rows[:, 1] = [_log_odds(prediction.log_prob) for prediction in predictions]
    for row, prediction, opinion in zip(rows, predictions, opinions or [None] * len(rows), strict=True):
        if opinion:
            text, log_prob = opinion
            other = not same_output(prediction.text, text)
            row[2 + other], row[4 + other] = 1, _log_odds(log_prob)
    return rows


def _log_odds(log_prob: float | None) -> float:
    if log_prob is None:
        raise ValueError("a prediction without a score has no confidence")
    return log_odds(log_prob)


@dataclass(frozen=True)
class Calibration:
    """The weights of the features, in their order; how many examples they are from, and whether a parser was asked."""

    weights: tuple[float, ...]
    examples: int
    parser: bool

    @classmethod
    def fit(cls, features: Floats, right: Sequence[bool], *, parser: bool) -> "Calibration":
        """Fit the weights to the features of outputs, and whether each is right."""
        weights = fit_weights(features, np.array(right, float), PRIOR)
        return cls(tuple(round(float(weight), 6) for weight in weights), len(right), parser)

    def confidences(self, features: Floats) -> list[float]:
        """Give the probability that each output is correct."""
        return [float(value) for value in probabilities(features, np.array(self.weights))]

    def save(self, model: Path) -> Path:
        """Write it to the folder of a model."""
        path = _folder(model) / FILE
        write_json(path, asdict(self) | {"weights": dict(zip(FEATURES, self.weights, strict=True))})
        return path

    @classmethod
    def load(cls, model: Path) -> "Calibration":
        """Read that of a model, by its folder or the run folder."""
        path = _folder(model) / FILE
        if not path.exists():
            raise InputError(f"the model has no confidence yet; {REMEDY}", model)
        try:
            found = read_json(path)
            weights = tuple(float(found["weights"][name]) for name in FEATURES)
            return cls(weights, int(found["examples"]), bool(found["parser"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"damaged file; {REMEDY}", path) from error


def _folder(model: Path) -> Path:
    return model / "model" if (model / "model").is_dir() else model


def risk_coverage(confidences: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float]]:
    """Give (coverage, risk) where only the most confident outputs are given: risk is the share of wrong ones in them.

    >>> risk_coverage([0.9, 0.2, 0.6, 0.8], [True, False, False, True])[-1]
    (1.0, 0.5)
    """
    order = np.argsort(-np.array(confidences), kind="stable")
    wrong = np.cumsum(~np.array(right, bool)[order])
    counts = sorted({max(1, round(len(order) * k / POINTS)) for k in range(1, POINTS + 1)}) if len(order) else []
    return [(count / len(order), float(wrong[count - 1] / count)) for count in counts]
