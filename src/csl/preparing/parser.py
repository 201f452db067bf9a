"""Raw inputs to raw outputs: each way to read the values of an input is parsed, and the most probable parse counts.

Where none is covered, words that no rule knows are read as values on no list, of the types whose values are copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from csl.engine import ONE_THREAD, Threads
from csl.model.model import Model, Parse
from csl.parsing.deriver import DEFAULT
from csl.parsing.limits import Abstained, Limits
from csl.preparing.preparation import Preparation
from csl.preparing.values import Reading


@dataclass(frozen=True)
class Answer:
    """The output of an input, with the reading of its values and the parse of that."""

    text: str
    reading: Reading
    parse: Parse

    @property
    def log_prob(self) -> float:
        """The log probability of the reading and the best derivation."""
        return self.reading.log_prob + self.parse.log_prob


@dataclass(frozen=True)
class Parser:
    """A model of prepared examples, for raw text."""

    model: Model
    preparation: Preparation

    def answers(
        self, texts: Sequence[str], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> list[Answer | Abstained]:
        """Parse inputs: the output of each, or why there is none."""
        readings = [self.preparation.readings(text) for text in texts]
        answers = self._best(readings, engine, limits)
        rest = [k for k, answer in enumerate(answers) if answer is Abstained.NOT_COVERED]
        guesses = [self.preparation.open_readings(texts[k], self._known) for k in rest]
        for k, answer in zip(rest, self._best(guesses, engine, limits), strict=True):
            answers[k] = answer
        return answers

    def _best(self, readings: Sequence[Sequence[Reading]], engine: Threads, limits: Limits) -> list[Answer | Abstained]:
        """Parse all readings of each input, and take the best."""
        outcomes = iter(self.model.outcomes([way.source for ways in readings for way in ways], engine, limits))
        return [self._choose(ways, [next(outcomes) for _ in ways]) for ways in readings]

    def _choose(self, ways: Sequence[Reading], outcomes: Sequence[Parse | Abstained]) -> Answer | Abstained:
        parsed = [(way, parse) for way, parse in zip(ways, outcomes, strict=True) if isinstance(parse, Parse)]
        if not parsed:
            why = [outcome for outcome in outcomes if isinstance(outcome, Abstained)]
            return next((reason for reason in why if reason is not Abstained.NOT_COVERED), Abstained.NOT_COVERED)
        way, parse = max(parsed, key=lambda pair: pair[0].log_prob + pair[1].log_prob)
        return Answer(self.preparation.output(parse.target, way.values), way, parse)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(symbol for rule in self.model.grammar for symbol in rule.source if isinstance(symbol, str))
