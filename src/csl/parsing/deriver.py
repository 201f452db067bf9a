"""Ask a grammar what it derives: pairs, inputs, and the parts of an input.

A `Deriver` encodes a grammar once. Pairs are derived by `csl.kernels.derive`, which knows the output, inputs by
`csl.kernels.source_chart`. Both allow at most `max_units` rules in a row whose source is a lone nonterminal, so that
the derivations of an input are finitely many.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.engine import ONE_THREAD, Threads
from csl.errors import LimitWarning
from csl.examples import Example
from csl.grammar import Grammar, Rule
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Ragged, Vocabulary
from csl.kernels import source_chart
from csl.kernels.budget import COVERED, ITEMS, Budget, untimed
from csl.kernels.derive import Parser, build_trie, derive_rules
from csl.kernels.flat import Rules
from csl.kernels.intersection import Labels, by_output, intersect
from csl.parsing.derivation import Derivation
from csl.parsing.forest import Forest, join_forests
from csl.parsing.limits import AmbiguityError, Limits

DEFAULT = Limits()
READABLE = Limits(items=2**20)  # for a forest that is turned into Python objects: a second or two
BATCH = 1024  # inputs whose forests are in memory at once, if there is room
UNLIMITED = 2**62  # items of a forest
ALL_ITEMS = 2**28  # to derive many pairs, each with an even share, …
PAIR_ITEMS = 2**17  # … but with at least this

Places = npt.NDArray[np.int64]


class Batch(NamedTuple):
    """Forests of neighbouring inputs, the place of the first, and the budget for further work on them."""

    first: int
    forests: source_chart.Forests
    budget: Budget


class Derived(NamedTuple):
    """A derivation of each of some pairs: rules in preorder, end to end, and their numbers, 0 if there is none."""

    rules: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    given_up: npt.NDArray[np.bool_]  # pairs with too many ways to derive them, which are no rules


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
        alive = np.ones(len(ids), np.bool_)
        parser = Parser(self.arrays, build_trie(self.arrays, ids), alive, max(1, grammar.max_arity), max_units)
        self._parser = parser

    # pairs

    def derivation(self, example: Example) -> Derivation | None:
        """Give a derivation of the pair, if there is one."""
        rules = self.derive_all([example]).rules
        return Derivation.from_rules(self.rules[r] for r in rules) if len(rules) else None

    def derivable(self, examples: Sequence[Example], engine: Threads = ONE_THREAD) -> npt.NDArray[np.bool_]:
        """Whether each pair has a derivation."""
        found = np.array([Rule(e.source, e.target) in self._numbers for e in examples], np.bool_)
        rest = np.flatnonzero(~found).tolist()
        found[rest] = self.derive_all([examples[k] for k in rest], engine).sizes > 0
        return found

    def derive_all(
        self, examples: Sequence[Example], engine: Threads = ONE_THREAD, limit: int | None = None
    ) -> Derived:
        """Give a derivation of each pair; with a `limit`, those that take more items are given up."""
        encoded = self.encode(side for example in examples for side in (example.source, example.target))
        unknown = np.concatenate([[0], np.cumsum(encoded.values == 0)])[encoded.offsets[::2]]
        known = np.flatnonzero(np.diff(unknown) == 0)
        most = limit or min(ITEMS, max(PAIR_ITEMS, ALL_ITEMS // max(1, len(examples))))
        found = engine.chunks(_derive, known, encoded, most, self._parser, doing="deriving pairs")
        used, lengths, items = (
            np.concatenate(part) for part in zip(*((a, np.diff(b), c) for a, b, c in found), strict=True)
        )
        parts, given_up = np.split(used, np.cumsum(lengths)[:-1]), np.zeros(len(examples), np.bool_)
        for k in np.flatnonzero(items > most):
            example = examples[known[k]]
            number = self._numbers.get(Rule(example.source, example.target))
            given_up[known[k]] = number is None
            parts[k] = np.array([] if number is None else [number], np.int32)
        if given_up.any() and limit is None:
            line = f"{given_up.sum():,} of {len(examples):,} pairs given up: there are too many ways to derive them"
            warnings.warn(line, LimitWarning, stacklevel=2)
        sizes = np.zeros(len(examples), np.int64)
        sizes[known] = list(map(len, parts)) if len(known) else 0
        return Derived(np.concatenate(parts), sizes, given_up)

    @cached_property
    def _numbers(self) -> dict[Rule, int]:
        """The number of each rule: a pair with too many derivations may still be a rule itself."""
        return {rule: number for number, rule in enumerate(self.rules)}

    def encode(self, sides: Iterable[Sequence[str]]) -> Ragged:
        """Encode tokens; those that no rule has become 0, which matches nothing."""
        values: list[int] = []
        offsets = [0]
        for side in sides:
            values.extend(map(self.vocabulary.get, side))
            offsets.append(len(values))
        return Ragged(np.array(values, np.int32), np.array(offsets, np.int64))

    # inputs

    def covered(self, sources: Sequence[Sequence[str]], engine: Threads = ONE_THREAD) -> npt.NDArray[np.bool_]:
        """Whether each input has a derivation, to any output; those that take too much memory count as not covered."""
        status = engine.map(
            _covered, np.arange(len(sources)), self.encode(sources), self._parser, doing="parsing inputs"
        )
        given_up = int((status > COVERED).sum())
        if given_up:
            warnings.warn(f"{given_up:,} of {len(sources):,} inputs given up: they are too long", LimitWarning, 2)
        covered: npt.NDArray[np.bool_] = status == COVERED
        return covered

    def batches(self, sources: Sequence[Sequence[str]], limits: Limits = DEFAULT) -> Iterator[Batch]:
        """Build the packed forests of inputs, in order, batch by batch."""
        return batches(self.encode(sources), self._parser, limits)

    def forests(self, sources: Sequence[Sequence[str]], limits: Limits = DEFAULT) -> source_chart.Forests:
        """Build the packed forests of inputs, as arrays."""
        return join_forests([batch.forests for batch in self.batches(sources, limits)])

    def pair_forests(
        self,
        examples: Sequence[Example],
        limits: Limits = DEFAULT,
        engine: Threads = ONE_THREAD,
        largest: int | None = None,
    ) -> source_chart.Forests:
        """Build the packed forests of all derivations of pairs, as arrays; those of more than `largest` items not."""
        x, y = (self.encode(getattr(example, side) for example in examples) for side in ("source", "target"))
        places, most = np.arange(len(examples)), limits.items if largest is None else largest
        state = (x, y, limits, most, self._parser)
        return join_forests(engine.chunks(_pair_forests, places, *state, doing="building forests"))

    def forest(self, source: Sequence[str], limits: Limits = READABLE) -> Forest:
        """Build the packed forest of an input; it has no vertices if the input is not covered."""
        arrays = self.forests([source], limits)
        if arrays.status[0] > COVERED:
            raise AmbiguityError(
                f"the chart of the input has over {limits.items:,} items; look at a part of it, or give the output too"
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
        with DEFAULT.budget() as budget:
            table = source_chart.derivable_spans(self._parser.trie, budget, self.encode([source]).values)
        if not len(table):
            raise AmbiguityError("the input is too long to say what parts of it are covered; look at a part of it")
        spans: list[tuple[int, int]] = []
        for i, row in enumerate(table):
            j = int(row.nonzero()[0].max(initial=0))
            if j > (spans[-1][1] if spans else 0):
                spans.append((i, j))
        return spans

    def unknown_tokens(self, source: Iterable[str]) -> list[str]:
        """Give the tokens that are in no rule's source, each once, in order."""
        return list(dict.fromkeys(token for token in source if token not in self._known))


def _derive(
    places: Places, pairs: Ragged, most: int, parser: Parser
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Derive some of the pairs, which are sources and targets in turn, with at most so many items each."""
    # the pairs stand behind the rules, as rules that the trie does not have
    values, begin, middle = parser.rules
    both = Rules(
        np.concatenate([values, pairs.values]),
        np.concatenate([begin, begin[-1] + pairs.offsets[2::2]]),
        np.concatenate([middle, begin[-1] + pairs.offsets[1::2]]),
    )
    queries, nothing = (len(middle) + places).astype(np.int32), np.full(len(places), -1, np.int32)
    parser = parser._replace(rules=both)
    found: tuple[npt.NDArray[np.int32], Places, Places] = derive_rules(parser, untimed(most), queries, nothing)
    return found


def _covered(places: Places, inputs: Ragged, parser: Parser) -> npt.NDArray[np.int32]:
    return source_chart.covered(parser.trie, untimed(), *inputs.neighbours(places))


def batches(inputs: Ragged, parser: Parser, limits: Limits = DEFAULT, outputs: Ragged | None = None) -> Iterator[Batch]:
    """Build the packed forests of encoded inputs, in order, batch by batch; with outputs, what these may need of it."""
    values, offsets = inputs
    wanted = source_chart.any_output()
    if outputs is not None:
        rules = parser.rules._replace(values=np.concatenate([parser.rules.values, outputs.values]))
        places = len(parser.rules.values) + outputs.offsets
    size = BATCH if limits.seconds is None else 1  # the clock restarts for each input
    for begin in range(0, max(1, len(offsets) - 1), size):
        bounds = offsets[begin : begin + size + 1]
        at = 0
        with limits.budget() as budget:
            while at < max(1, len(bounds) - 1):
                if outputs is not None:
                    wanted = source_chart.Outputs(rules, places[begin + at :], np.zeros(len(rules.middle), np.int64))
                forests = source_chart.forests(parser.trie, parser.max_units, budget, values, bounds[at:], wanted)
                yield Batch(begin + at, forests, budget)
                at += max(1, len(forests.status))


def _pair_forests(
    places: Places, x: Ragged, y: Ragged, limits: Limits, largest: int, parser: Parser
) -> source_chart.Forests:
    outputs = y.neighbours(places)
    parts: list[source_chart.Forests] = []
    for batch in batches(x.neighbours(places), parser, limits, outputs):
        parts += products(batch, by_output(parser.rules, outputs.values, outputs.offsets[batch.first :]), largest)
    return join_forests(parts)


def product(forests: source_chart.Forests, labels: Labels) -> source_chart.Forests:
    """Keep the derivations of forests in memory that fit the labels."""
    return join_forests(list(products(Batch(0, forests, untimed()), labels)))


def products(batch: Batch, labels: Labels, largest: int = UNLIMITED) -> Iterator[source_chart.Forests]:
    """Keep the derivations of the forests of a batch that fit the labels: in order, in one or more parts."""
    done = 0
    while not done or done < len(batch.forests.status):
        part = intersect(batch.forests, done, batch.budget, largest, labels)
        yield part
        done += max(1, len(part.status))
