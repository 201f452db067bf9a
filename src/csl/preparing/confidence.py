"""Confidence in parses of raw text: the probability that an output is correct, and where to abstain.

Its log-odds are a weighted sum of `FEATURES`. The grammar of phrases, from which synthetic pairs are drawn, is asked
for a second opinion: two grammars seldom make the same mistake. The weights are fitted (`csl.logistic`) to pairs and
templates that were held out (`csl.preparing.held_out`). Outputs are given from the lowest confidence on at which nine
of ten held-out ones are correct, each judged by weights from other templates; at least one half. Costs a parse of each
input by phrases, and p(output | input).
"""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import floor, log
from pathlib import Path

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.examples import Example
from csl.files import read_json, write_json
from csl.grammar import Rule
from csl.logistic import Floats, fit_weights, log_odds, probabilities
from csl.model.model import Model
from csl.parsing.deriver import DEFAULT
from csl.parsing.limits import Abstained, Limits
from csl.preparing.parser import Answer, Parser
from csl.preparing.plausible import Plausible
from csl.preparing.values import template

FEATURES = (
    "bias",
    "parser",  # log-odds of p(output | input), over all derivations
    "same",  # whether the grammar of phrases has the same output, …
    "other",  # … or another
    "known",  # whether training has the template
    "new",  # minus the log of how plausible the output is
    "dropped",  # words that stand for nothing
    "made",  # rules that stand for no words
    "mean",  # log probability of the derivation, a word
    "open",  # whether a value is on no list
    "reading",  # log probability that the values are of these types
)
LEAST = 1e-3  # plausible, outputs are taken to be
SCALES = np.array([1, 4, 1, 1, 1, 2, 2, 1.5, 1, 1, 2])  # by which features are divided: the prior is the same for all
LARGEST = np.array([1, 8, 1, 1, 1, 8, 4, 3, 4, 1, 4])  # they are bounded by plus or minus this
PRECISION = 0.9  # of the outputs that are given
LIKELY = 0.5  # confidence of an output that is given, at least
FOLDS = 5  # of templates, of which four say how confident to be of the fifth


@dataclass(frozen=True)
class Evidence:
    """What answers are judged by: a parser, the grammar of phrases, and the prepared examples that both are from."""

    parser: Parser
    phrases: Model
    examples: Sequence[Example]

    def features(
        self, texts: Sequence[str], answers: Sequence[Answer], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> Floats:
        """Give the `FEATURES` of the answers to texts."""
        second = Parser(self.phrases, self.parser.preparation).answers(texts, engine, limits)
        given = self.parser.log_probs_given_inputs(answers, engine, limits)
        rows = [self._row(*row) for row in zip(answers, second, given, strict=True)]
        found = np.array(rows, float).reshape(len(rows), len(FEATURES))
        return np.asarray(np.clip(found, -LARGEST, LARGEST) / SCALES)

    def _row(self, answer: Answer, second: Answer | Abstained, given: float) -> list[float]:
        is_same = isinstance(second, Answer) and second.text == answer.text
        rules = list(answer.parse.derivation.rules())
        return [
            1,
            log_odds(given),
            is_same,
            isinstance(second, Answer) and not is_same,
            template(answer.parse.target) in self._templates,
            self._new(answer.parse.target),
            sum(len(_words(rule)) for rule in rules if not _tokens(rule)),
            sum(bool(_tokens(rule)) and not _words(rule) for rule in rules),
            answer.log_prob / (len(answer.reading.source) + 1) + 2,
            any(not entry.count for entry in answer.reading.values.values()),
            answer.reading.log_prob,
        ]

    def _new(self, target: tuple[str, ...]) -> float:
        """Say how much is new in an output."""
        preparation = self.parser.preparation
        return -log(max(self._plausible.of(preparation.tree(target)), LEAST)) if preparation and self._plausible else 0

    @cached_property
    def _templates(self) -> frozenset[tuple[str, ...]]:
        return frozenset(template(example.target) for example in self.examples)

    @cached_property
    def _plausible(self) -> Plausible | None:
        return Plausible(self.parser.preparation, self.examples) if self.parser.preparation else None


def _words(rule: Rule) -> list[str]:
    return [symbol for symbol in rule.source if isinstance(symbol, str)]


def _tokens(rule: Rule) -> list[str]:
    return [symbol for symbol in rule.target if isinstance(symbol, str)]


@dataclass(frozen=True)
class Calibration:
    """The weights of the features, in their order; the confidence from which on outputs are given; from how many."""

    weights: tuple[float, ...]
    threshold: float  # 1: none is given
    examples: int

    @classmethod
    def fit(cls, features: Floats, right: Sequence[bool], groups: Sequence[Hashable]) -> "Calibration":
        """Fit to the features of held-out outputs, whether each is right, and groups that are judged by the others."""
        yes, prior = np.array(right, float), np.zeros(len(FEATURES))
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
        fold = np.array([numbers[group] % FOLDS for group in groups], int)
        sure = np.zeros(len(yes))
        for k in set(fold.tolist()):
            here = fold == k
            sure[here] = probabilities(features[here], fit_weights(features[~here], yes[~here], prior))
        weights = fit_weights(features, yes, prior)
        return cls(tuple(round(float(weight), 6) for weight in weights), threshold(sure, yes), len(yes))

    def confidences(self, features: Floats) -> list[float]:
        """Give the probability that each output is correct."""
        return [min(float(value), 0.9999) for value in probabilities(features, np.array(self.weights))]

    def save(self, path: Path) -> None:
        """Write it to a file."""
        write_json(path, asdict(self) | {"weights": dict(zip(FEATURES, self.weights, strict=True))})

    @classmethod
    def load(cls, path: Path) -> "Calibration":
        """Read what `save` wrote."""
        try:
            found = read_json(path)
            weights = tuple(float(found["weights"][name]) for name in FEATURES)
            return cls(weights, float(found["threshold"]), int(found["examples"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError("damaged file; redo the run with --no-resume", path) from error


def threshold(confidences: Floats, right: Floats) -> float:
    """Give the lowest confidence from which on enough outputs are right, with one more that is wrong; 1 if none is.

    An output that is more likely wrong than right is never given.

    >>> threshold(np.array([0.9] * 9 + [0.3]), np.array([1.0] * 9 + [0]))
    0.9
    """
    order = np.argsort(-confidences, kind="stable")
    sure, counts = confidences[order], np.arange(1, len(order) + 1)
    is_last = np.append(sure[1:] < sure[:-1], True)[: len(sure)]  # of those with the same confidence
    good = np.flatnonzero(is_last & (np.cumsum(right[order]) >= PRECISION * (counts + 1)))
    return max(LIKELY, floor(sure[good[-1]] * 1e4) / 1e4) if len(good) else 1.0


@dataclass(frozen=True)
class Confidence:
    """A calibration, and what it judges by."""

    evidence: Evidence
    calibration: Calibration

    def of(
        self,
        texts: Sequence[str],
        found: Sequence[Answer | Abstained],
        engine: Threads = ONE_THREAD,
        limits: Limits = DEFAULT,
    ) -> list[float]:
        """Give the probability that the output of each text is correct; 0 where there is none."""
        places = [k for k, answer in enumerate(found) if isinstance(answer, Answer)]
        answers = [answer for answer in found if isinstance(answer, Answer)]
        features = self.evidence.features([texts[k] for k in places], answers, engine, limits)
        sure = dict(zip(places, self.calibration.confidences(features), strict=True))
        return [sure.get(k, 0.0) for k in range(len(found))]
