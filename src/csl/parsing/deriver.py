"""Ask a grammar what it derives: pairs, inputs alone, and the parts of an input.

A `Deriver` encodes a grammar once. Pairs are derived by `csl.kernels.derive`, which knows the output, inputs alone by
`csl.kernels.source_chart`. Both allow at most `max_units` rules in a row whose source is a lone nonterminal, so that
the derivations of an input are finitely many.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.data import Example
from csl.engine.engine import Engine, Kept
from csl.engine.threads import ONE_THREAD
from csl.errors import CslError
from csl.grammar import Grammar
from csl.grammar.store import EncodedRules, RuleStore
from csl.grammar.vocabulary import Ragged, Vocabulary
from csl.kernels import source_chart
from csl.kernels.derive import Trie, build_trie, derive_rules
from csl.kernels.intersection import with_outputs
from csl.parsing.derivation import Derivation
from csl.parsing.forest import Forest, join_forests

MAX_APPLICATIONS = 200_000  # of a forest that is turned into Python objects: a second or two
CHUNK = 64  # inputs worth a second worker

Places = npt.NDArray[np.int64]


class AmbiguityError(CslError):
    """An input has so many derivations that their packed forest is not built."""


class Encoded(NamedTuple):
    """A grammar as kernels take it."""

    arrays: EncodedRules
    trie: Trie
    arity: int
    max_units: int


class Deriver:
    """Derivations of pairs and of inputs by one grammar."""

    def __init__(self, grammar: Grammar, max_units: int = 2) -> None:
        self.rules = tuple(grammar)
        self.max_units = max_units
        self.vocabulary = Vocabulary()
        self._known = {symbol for rule in self.rules for symbol in rule.source}
        store = RuleStore()
        ids = store.add_rules(self.rules, self.vocabulary)
        self.arrays = store.arrays
        self._trie = build_trie(*self.arrays, ids)
        self._encoded = Kept(Encoded(self.arrays, self._trie, max(1, grammar.max_arity), max_units))

    # pairs

    def derivation(self, example: Example) -> Derivation | None:
        """Give a derivation of the pair, if there is one."""
        rules, _ = self.derive_all([example])
        return Derivation.from_rules(self.rules[r] for r in rules) if len(rules) else None

    def derivable(self, examples: Sequence[Example], engine: Engine = ONE_THREAD) -> npt.NDArray[np.bool_]:
        """Whether each pair has a derivation."""
        _, sizes = self.derive_all(examples, engine)
        return sizes > 0

    def derive_all(
        self, examples: Sequence[Example], engine: Engine = ONE_THREAD
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Give a derivation of each pair, as rules in preorder, end to end; and their numbers, 0 if there is none."""
        encoded = self.encode(side for example in examples for side in (example.source, example.target))
        unknown = np.concatenate([[0], np.cumsum(encoded.values == 0)])[encoded.offsets[::2]]
        known = np.flatnonzero(np.diff(unknown) == 0)
        found = engine.chunks(_derive, known, encoded, self._encoded)
        sizes = np.zeros(len(examples), np.int64)
        sizes[known] = np.concatenate([part for _, part in found])
        return np.concatenate([part for part, _ in found]), sizes

    def encode(self, sides: Iterable[Sequence[str]]) -> Ragged:
        """Encode tokens; those that no rule has become 0, which matches nothing."""
        values: list[int] = []
        offsets = [0]
        for side in sides:
            values.extend(map(self.vocabulary.get, side))
            offsets.append(len(values))
        return Ragged(np.array(values, np.int32), np.array(offsets, np.int64))

    # inputs alone

    def covered(self, sources: Sequence[Sequence[str]], engine: Engine = ONE_THREAD) -> npt.NDArray[np.bool_]:
        """Whether each input has a derivation, to any output."""
        return engine.map(_covered, np.arange(len(sources)), self.encode(sources), self._encoded)

    def forests(self, sources: Sequence[Sequence[str]], limit: int = MAX_APPLICATIONS) -> source_chart.Forests:
        """Build the packed forests of inputs, as arrays."""
        return source_chart.forests(self._trie, self.max_units, limit, *self.encode(sources))

    def pair_forests(
        self, examples: Sequence[Example], limit: int = MAX_APPLICATIONS, engine: Engine = ONE_THREAD
    ) -> source_chart.Forests:
        """Build the packed forests of all derivations of pairs, as arrays."""
        x, y = (self.encode(getattr(example, side) for example in examples) for side in ("source", "target"))
        places = np.arange(len(examples))
        return join_forests(engine.chunks(_pair_forests, places, x, y, limit, self._encoded, least=CHUNK))

    def forest(self, source: Sequence[str], limit: int = MAX_APPLICATIONS) -> Forest:
        """Build the packed forest of an input; it has no vertices if the input is not covered."""
        arrays = self.forests([source], limit)
        if arrays.status[0] == source_chart.TOO_MANY:
            raise AmbiguityError(
                f"the input allows more than {limit:,} rule applications; look at a part of it, or give the output too"
            )
        return Forest.from_arrays(arrays, self.rules)

    def analyses(self, source: Sequence[str], limit: int = 10) -> list[Derivation]:
        """Give up to `limit` derivations of an input: one for each output, then others; in each, fewest rules first."""
        forest = self.forest(source)
        chosen = [ranked.derivation for ranked in forest.best(limit, distinct=True)]
        if len(chosen) < limit:
            have = {tuple(derivation.rules()) for derivation in chosen}
            others = (ranked.derivation for ranked in forest.best(limit + len(chosen), distinct=False))
            chosen += [other for other in others if tuple(other.rules()) not in have]
        return chosen[:limit]

    def analysis_count(self, source: Sequence[str]) -> int:
        """Count the derivations of an input, exactly."""
        return self.forest(source).count()

    def covered_spans(self, source: Sequence[str]) -> list[tuple[int, int]]:
        """Give the spans [i, j) that the grammar derives and that lie in no larger one, from left to right."""
        table = source_chart.derivable_spans(self._trie, self.encode([source]).values)
        spans: list[tuple[int, int]] = []
        for i, row in enumerate(table):
            j = int(row.nonzero()[0].max(initial=0))
            if j > (spans[-1][1] if spans else 0):
                spans.append((i, j))
        return spans

    def unknown_tokens(self, source: Iterable[str]) -> list[str]:
        """Give the tokens that are in no rule's source, each once, in order."""
        return list(dict.fromkeys(token for token in source if token not in self._known))


def _derive(places: Places, pairs: Ragged, grammar: Encoded) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Derive some of the pairs, which are sources and targets in turn."""
    # the pairs stand behind the rules, as rules that the trie does not have
    values, begin, middle = grammar.arrays
    both = (
        np.concatenate([values, pairs.values]),
        np.concatenate([begin, begin[-1] + pairs.offsets[2::2]]),
        np.concatenate([middle, begin[-1] + pairs.offsets[1::2]]),
    )
    alive, queries = np.ones(len(middle), np.bool_), (len(middle) + places).astype(np.int32)
    nothing = np.full(len(queries), -1, np.int32)
    rules, offsets = derive_rules(*both, alive, grammar.trie, grammar.arity, grammar.max_units, queries, nothing)
    return rules, np.diff(offsets)


def _covered(places: Places, inputs: Ragged, grammar: Encoded) -> npt.NDArray[np.bool_]:
    return source_chart.covered(grammar.trie, *_stretch(inputs, places))


def _pair_forests(places: Places, x: Ragged, y: Ragged, limit: int, grammar: Encoded) -> source_chart.Forests:
    inputs = source_chart.forests(grammar.trie, grammar.max_units, limit, *_stretch(x, places))
    return with_outputs(inputs, *grammar.arrays, *_stretch(y, places))


def _stretch(sequences: Ragged, places: Places) -> Ragged:
    """Take neighbouring sequences."""
    values, offsets = sequences
    return Ragged(values, offsets[places[0] : places[-1] + 2] if len(places) else offsets[:1])
