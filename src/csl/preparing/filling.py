"""Synthetic pairs with values in them, in raw text, of which only those are kept that can be believed.

Pairs with placeholders are drawn many times over. A pair can be believed if

- each placeholder is on both sides, and is said once; the input has a reason for each other value;
- its output is plausible enough (`csl.preparing.plausible`);
- the best parse of its input is its output (the cycle check), and no two of its words are odd side by side.

Of the inputs of one program, those are kept that read most like training. Programs come up by the square root of how
often they were drawn times how plausible they are: rare ones, the new combinations, are seen too. Were they chosen by
plausibility alone, more would be valid, but T5 learns less from fewer kinds. Then values are drawn for the
placeholders, uniformly among those of the type, different ones for different placeholders; but none whose words have
several outputs in training (`paris`, with its country or without), as nobody can know which one is meant. The same seed
and draws give the same pairs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.model.model import Model, Parse
from csl.preparing.plausible import Fluency, Plausible
from csl.preparing.preparation import Preparation
from csl.preparing.said import Reasons
from csl.preparing.values import Entry, is_placeholder, type_of_placeholder

INPUTS = 6  # of a program, at most: those that read best
LEAST = 0.05  # plausible, programs must be
MOST_WORK = 3_000_000  # squared lengths of inputs that are parsed, at most; later ones are not believed
TRIES = 4  # to fill in values, for a pair that is wanted
ONE_OUTPUT = 0.9  # of the uses of its words, at least, in a value that is drawn

Words = tuple[str, ...]


class Believed(NamedTuple):
    """A program: how often it was drawn, times how plausible it is; and the pairs that have it."""

    weight: float
    pairs: list[Example]


@dataclass(frozen=True)
class Filling:
    """Chooses among drawn pairs, and fills in values."""

    preparation: Preparation
    model: Model  # that the pairs are drawn from
    examples: Sequence[Example]  # of training, prepared
    seed: int = 0
    engine: Threads = ONE_THREAD

    def fill(self, pairs: Iterable[Example], number: int, known: Iterable[Example] = ()) -> Iterator[Example]:
        """Give so many pairs that can be believed, in raw text split at white space: each once, none that is known."""
        drawn = {pair: count for pair, count in Counter(pairs).items() if _matches(pair)}
        programs = self._believed(drawn)
        if not programs:
            return
        weights = np.sqrt([program.weight for program in programs])
        rng, given = np.random.default_rng(self.seed), set(known)
        tried: set[tuple[Example | Entry, ...]] = set()  # writing takes long, and few values make few pairs
        first = len(given)
        for place in rng.choice(len(programs), TRIES * number, p=weights / weights.sum()):
            inputs = programs[place].pairs
            pair = inputs[int(rng.integers(len(inputs)))]
            values = self._draw(pair, rng)
            if values is None or (key := (pair, *values.values())) in tried:
                continue
            tried.add(key)
            if (written := self._write(pair, values)) in given:
                continue
            given.add(written)
            yield written
            if len(given) - first == number:
                return

    def _believed(self, drawn: Mapping[Example, int]) -> list[Believed]:
        """Give the pairs that can be believed, those of one program together; programs drawn most come first."""
        plausible, fluency = Plausible(self.preparation, self.examples), Fluency(self.examples)
        reasons = Reasons(self.preparation, self.examples)
        alike: dict[Words, list[Example]] = defaultdict(list)
        for pair in drawn:
            if not fluency.is_odd(pair.source):
                alike[_program(pair)].append(pair)
        programs, likely = dict[Words, list[Example]](), dict[Words, float]()
        for program, pairs in alike.items():
            trees = {target: self.preparation.tree(target) for target in dict.fromkeys(pair.target for pair in pairs)}
            if sayable := [pair for pair in pairs if reasons.has(pair.source, trees[pair.target])]:
                programs[program], likely[program] = sayable, plausible.of(trees[sayable[0].target])
        often = {program: sum(drawn[pair] for pair in pairs) for program, pairs in programs.items()}
        chosen = {
            program: sorted(programs[program], key=lambda pair: (-fluency.of(pair.source), pair.source))[:INPUTS]
            for program in sorted(programs, key=lambda program: (-often[program], program))
            if likely[program] >= LEAST
        }
        back = self._parsed_back([pair for inputs in chosen.values() for pair in inputs])
        return [
            Believed(likely[program] * sum(drawn[pair] for pair in kept), kept)
            for program, inputs in chosen.items()
            if (kept := [pair for pair in inputs if pair in back])
        ]

    def _parsed_back(self, pairs: Iterable[Example]) -> set[Example]:
        """Give the pairs whose input is parsed to their output."""
        work, chosen = 0, []
        for pair in pairs:
            work += len(pair.source) ** 2
            if work > MOST_WORK:
                break
            chosen.append(pair)
        parses = self.model.outcomes([pair.source for pair in chosen], self.engine)
        return {
            p for p, parse in zip(chosen, parses, strict=True) if isinstance(parse, Parse) and parse.target == p.target
        }

    @cached_property
    def _values(self) -> Mapping[str, list[Entry]]:
        """The values of each type, without those whose words have several outputs, unless there are no others."""
        uses: Counter[tuple[str, Words]] = Counter()
        every, sure = defaultdict[str, list[Entry]](list), defaultdict[str, list[Entry]](list)
        for entry in self.preparation.values.entries:
            uses[entry.type, entry.words] += entry.count
            every[entry.type].append(entry)
        for entry in self.preparation.values.entries:
            if entry.count >= ONE_OUTPUT * uses[entry.type, entry.words]:
                sure[entry.type].append(entry)
        return every | sure

    def _draw(self, pair: Example, rng: np.random.Generator) -> dict[str, Entry] | None:
        """Draw different values for the placeholders of a pair; None if a type has too few."""
        values: dict[str, Entry] = {}
        for token in filter(is_placeholder, pair.source):
            kind = type_of_placeholder(token)
            used = {entry.tokens for entry in values.values()}
            taken = sorted(place for tokens in used for place in self._places[kind].get(tokens, ()))
            free = len(self._values[kind]) - len(taken)
            if not free:
                return None
            drawn = int(rng.integers(free))
            for place in taken:  # the free ones are counted: what is taken before the one that is drawn is skipped
                drawn += place <= drawn
            values[token] = self._values[kind][drawn]
        return values

    @cached_property
    def _places(self) -> Mapping[str, Mapping[Words, list[int]]]:
        """Where in the list of a type the values with these tokens are."""
        found: dict[str, dict[Words, list[int]]] = defaultdict(lambda: defaultdict(list))
        for kind, entries in self._values.items():
            for place, entry in enumerate(entries):
                found[kind][entry.tokens].append(place)
        return found

    def _write(self, pair: Example, values: Mapping[str, Entry]) -> Example:
        written = self.preparation
        return Example.of(written.input(pair.source, values), written.output(pair.target, values), **pair.meta)


def _matches(pair: Example) -> bool:
    """Whether the placeholders of both sides are the same, and each is said once."""
    said = [token for token in pair.source if is_placeholder(token)]
    return len(said) == len(set(said)) and set(said) == {token for token in pair.target if is_placeholder(token)}


def _program(pair: Example) -> Words:
    """Give an output with types in place of values."""
    return tuple(type_of_placeholder(token) if is_placeholder(token) else token for token in pair.target)
