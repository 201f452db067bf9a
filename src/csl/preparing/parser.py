"""Raw inputs to raw outputs: each way to read the values of an input is parsed, and the most probable parse counts.

Where none is covered, names and numbers that no rule knows are read as values on no list. Without a preparation, inputs
and outputs are tokens with white space between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example, split_tokens
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
    """A model, for the texts that its examples were prepared from."""

    model: Model
    preparation: Preparation | None = None

    def answers(
        self, texts: Sequence[str], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> list[Answer | Abstained]:
        """Parse inputs: the output of each, or why there is none."""
        preparation = self.preparation
        if not preparation:
            return self._best([[Reading(split_tokens(text), {}, 0.0)] for text in texts], engine, limits)
        answers = self._best([preparation.readings(text) for text in texts], engine, limits)
        rest = [k for k, answer in enumerate(answers) if answer is Abstained.NOT_COVERED]
        guesses = [preparation.open_readings(texts[k], self._known) for k in rest]
        for k, answer in zip(rest, self._best(guesses, engine, limits), strict=True):
            answers[k] = answer
        return answers

    def log_probs_given_inputs(
        self, answers: Sequence[Answer], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> list[float]:
        """Give log p(output | input) of answers, over all derivations of their readings; nan where that is given up."""
        pairs = [Example(answer.reading.source, answer.parse.target) for answer in answers]
        inputs = self.model.log_prob_inputs([pair.source for pair in pairs], engine, limits)
        return [float(value) for value in self.model.log_probs(pairs, engine, limits) - inputs]

    def scored(
        self, texts: Sequence[str], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> list[tuple[str, float] | None]:
        """Give the output of each input with log p(output | input); None where there is none."""
        found = self.answers(texts, engine, limits)
        answers = [answer for answer in found if isinstance(answer, Answer)]
        given = iter(self.log_probs_given_inputs(answers, engine, limits))
        return [(answer.text, next(given)) if isinstance(answer, Answer) else None for answer in found]

    def example(self, pair: Example) -> Example:
        """Give a pair as the model knows it, with placeholders for its values."""
        return self.preparation.example(pair.source_text, pair.target_text) if self.preparation else pair

    def unknown(self, text: str) -> list[str]:
        """List the words of an input that no rule knows."""
        source = self.preparation.readings(text)[0].source if self.preparation else split_tokens(text)
        return self.model.deriver.unknown_tokens(source)

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
        text = self.preparation.output(parse.target, way.values) if self.preparation else parse.text
        return Answer(text, way, parse)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(symbol for rule in self.model.grammar for symbol in rule.source if isinstance(symbol, str))
