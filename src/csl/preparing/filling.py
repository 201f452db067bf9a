"""Synthetic pairs with values in them, in raw text, of which only those are kept that can be believed.

A sampled pair has placeholders. It is kept if each of them is on both sides, and if the best parse of its input is its
output (the cycle check); pairs with equal inputs are parsed once. Then values are drawn for the placeholders, of a type
uniformly, different ones for different placeholders. The draws depend on the seed and the place in the stream only.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.examples import Example
from csl.model.model import Model, Parse
from csl.preparing.preparation import Preparation
from csl.preparing.values import Entry, is_placeholder, type_of_placeholder

CHUNK = 1000  # pairs that are parsed together


@dataclass
class Filling:
    """Fills sampled pairs with values; counts what was looked at and what was kept."""

    preparation: Preparation
    model: Model
    seed: int = 0
    engine: Engine = ONE_THREAD
    looked_at: int = 0
    kept: int = 0
    _believed: dict[tuple[str, ...], tuple[str, ...] | None] = field(default_factory=dict)

    def fill(self, pairs: Iterable[Example]) -> Iterator[Example]:
        """Give the pairs that can be believed, as raw text split at white space."""
        stream = iter(pairs)
        entries = _by_type(self.preparation.values.entries)
        while chunk := list(islice(stream, CHUNK)):
            self._parse({pair.source for pair in chunk if _matches(pair)} - self._believed.keys())
            for pair in chunk:
                self.looked_at += 1
                if _matches(pair) and self._believed.get(pair.source) == pair.target:
                    rng = np.random.default_rng([self.seed, self.looked_at])
                    if values := _draw(pair, entries, rng):
                        self.kept += 1
                        yield self._write(pair, values[0])

    def _parse(self, sources: set[tuple[str, ...]]) -> None:
        ordered = sorted(sources)
        for source, parse in zip(ordered, self.model.outcomes(ordered, self.engine), strict=True):
            self._believed[source] = parse.target if isinstance(parse, Parse) else None

    def _write(self, pair: Example, values: dict[str, Entry]) -> Example:
        written = self.preparation
        return Example.of(written.input(pair.source, values), written.output(pair.target, values), **pair.meta)


def _matches(pair: Example) -> bool:
    """Whether the placeholders of both sides are the same, and each is said once."""
    said = [token for token in pair.source if is_placeholder(token)]
    return len(said) == len(set(said)) and set(said) == {token for token in pair.target if is_placeholder(token)}


def _by_type(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.type].append(entry)
    return found


def _draw(pair: Example, entries: dict[str, list[Entry]], rng: np.random.Generator) -> list[dict[str, Entry]]:
    """Draw different values for the placeholders of a pair; none if a type has too few."""
    values: dict[str, Entry] = {}
    for token in dict.fromkeys(filter(is_placeholder, pair.source)):
        taken = {entry.tokens for entry in values.values()}
        free = [entry for entry in entries[type_of_placeholder(token)] if entry.tokens not in taken]
        if not free:
            return []
        values[token] = free[int(rng.integers(len(free)))]
    return [values]
