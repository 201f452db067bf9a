"""Synthetic pairs with values in them, in raw text, of which only those are kept that can be believed.

A sampled pair has placeholders. It is kept if

- each of them is on both sides, and is said once;
- its input has few neighbours that training lacks, and its output at most one filler that is new to its slot: a new
  combination, but not all is new at once;
- the best parse of its input is its output (the cycle check). Pairs with equal inputs are parsed once.

Then values are drawn for the placeholders, uniformly among those of the type, different ones for different
placeholders. The draws depend on the seed and the place in the stream only.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.model.model import Model, Parse
from csl.preparing.preparation import Preparation
from csl.preparing.trees import Node
from csl.preparing.values import Entry, is_placeholder, type_of_placeholder

CHUNK = 1000  # pairs that are looked at together
BARREN = 5  # chunks in a row that brought too little, before it ends
NEW = 0.01  # of a chunk must bring new pairs
MOST_WORK = 1_000_000  # squared lengths of different inputs that are parsed, at most; later ones are not believed
NEW_NEIGHBOURS = 1 / 4  # of the neighbours of an input may be new, at most
NEW_FILLERS = 1  # of an output, at most

Words = tuple[str, ...]


class Familiar:
    """What training has: words side by side in inputs, and what fills which slot in outputs."""

    def __init__(self, preparation: Preparation, examples: Iterable[Example]) -> None:
        self._preparation = preparation
        self._neighbours: set[tuple[str, str]] = set()
        self._fillers: set[tuple[Words, str]] = set()
        self._new: dict[Words, list[tuple[Words, str]]] = {}
        for example in set(examples):
            self._neighbours.update(_neighbours(example.source))
            self._fillers.update(self._filled(example.target))

    def has_most_of(self, pair: Example) -> bool:
        """Whether a pair is new in few respects only."""
        few = len(self._new_words(pair)) <= NEW_NEIGHBOURS * (len(pair.source) + 1)
        return few and len(self._new_fillers(pair.target)) <= NEW_FILLERS

    def news(self, pair: Example) -> tuple[list[tuple[str, str]], list[tuple[Words, str]]]:
        """Give what training lacks: words side by side, and slots with what fills them."""
        return self._new_words(pair), self._new_fillers(pair.target)

    def _new_words(self, pair: Example) -> list[tuple[str, str]]:
        return [two for two in _neighbours(pair.source) if two not in self._neighbours]

    def _new_fillers(self, target: Words) -> list[tuple[Words, str]]:
        if target not in self._new:  # outputs come again and again, and reading them takes time
            self._new[target] = sorted(self._filled(target) - self._fillers)
        return self._new[target]

    def _filled(self, tokens: Words) -> set[tuple[Words, str]]:
        preparation = self._preparation
        tree = preparation.schema.tree(preparation.read(preparation.spacing.write(tokens)))
        return {(node.slot, _filler(node)) for node in tree.walk()}


def _neighbours(source: Words) -> list[tuple[str, str]]:
    types = [type_of_placeholder(token) if is_placeholder(token) else token for token in source]
    return list(pairwise(["", *types, ""]))


def _filler(node: Node) -> str:
    if is_placeholder(node.tokens[0]):
        return type_of_placeholder(node.tokens[0])
    return " ".join(node.tokens) if node.is_literal else node.label


@dataclass
class Filling:
    """Fills sampled pairs with values; counts what was looked at and what was kept."""

    preparation: Preparation
    model: Model
    examples: Sequence[Example]  # of training, prepared
    seed: int = 0
    engine: Threads = ONE_THREAD
    looked_at: int = 0
    _work: int = 0
    _outputs: dict[Words, Words | None] = field(default_factory=dict)

    @cached_property
    def _familiar(self) -> Familiar:
        return Familiar(self.preparation, self.examples)

    @cached_property
    def _values(self) -> Mapping[str, list[Entry]]:
        found: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.preparation.values.entries:
            found[entry.type].append(entry)
        return found

    def fill(self, pairs: Iterable[Example], number: int, known: Iterable[Example] = ()) -> Iterator[Example]:
        """Give so many pairs that can be believed, in raw text split at white space: each once, none that is known."""
        stream, given, barren = iter(pairs), set(known), 0
        first = len(given)
        while len(given) - first < number and barren < BARREN and (chunk := list(islice(stream, CHUNK))):
            before = len(given)
            for pair in self._believed(chunk):
                self.looked_at += 1
                values = self._draw(pair, np.random.default_rng([self.seed, self.looked_at]))
                if values is None or (written := self._write(pair, values)) in given:
                    continue
                given.add(written)
                yield written
                if len(given) - first == number:
                    return
            barren = barren + 1 if len(given) - before < NEW * CHUNK else 0

    def _believed(self, chunk: Sequence[Example]) -> list[Example]:
        """Give the pairs that are familiar, and that the parser gives back."""
        good = {pair: _matches(pair) and self._familiar.has_most_of(pair) for pair in dict.fromkeys(chunk)}
        sources = dict.fromkeys(pair.source for pair, is_good in good.items() if is_good)
        self._parse([source for source in sources if source not in self._outputs])
        return [pair for pair in chunk if good[pair] and self._outputs.get(pair.source) == pair.target]

    def _parse(self, sources: Iterable[Words]) -> None:
        chosen = []
        for source in sources:
            self._work += len(source) ** 2
            if self._work <= MOST_WORK:
                chosen.append(source)
        for source, parse in zip(chosen, self.model.outcomes(chosen, self.engine), strict=True):
            self._outputs[source] = parse.target if isinstance(parse, Parse) else None

    def _draw(self, pair: Example, rng: np.random.Generator) -> dict[str, Entry] | None:
        """Draw different values for the placeholders of a pair; None if a type has too few."""
        values: dict[str, Entry] = {}
        for token in filter(is_placeholder, pair.source):
            taken = {entry.tokens for entry in values.values()}
            free = [entry for entry in self._values[type_of_placeholder(token)] if entry.tokens not in taken]
            if not free:
                return None
            values[token] = free[int(rng.integers(len(free)))]
        return values

    def _write(self, pair: Example, values: Mapping[str, Entry]) -> Example:
        written = self.preparation
        return Example.of(written.input(pair.source, values), written.output(pair.target, values), **pair.meta)


def _matches(pair: Example) -> bool:
    """Whether the placeholders of both sides are the same, and each is said once."""
    said = [token for token in pair.source if is_placeholder(token)]
    return len(said) == len(set(said)) and set(said) == {token for token in pair.target if is_placeholder(token)}
