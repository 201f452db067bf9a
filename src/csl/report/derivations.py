"""Derivations for a report: the best one of each pair, the parse of an input, rule pairs, and derivations to draw.

The best derivation is the most probable one of the model or, without a model, one with fewest rules. A rule
pair is a rule in a context: at a nonterminal of a rule, or at the top of a derivation (`csl.model.model.context_starts`
numbers these).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.grammar import Grammar
from csl.kernels.inside import table_scores, viterbi
from csl.kernels.source_chart import Forests
from csl.model.model import Model, context_starts
from csl.parsing.derivation import MAX_OUTPUT, Derivation
from csl.parsing.deriver import DEFAULT, Deriver
from csl.parsing.forest import Places, compacted

Preorder = tuple[int, ...]
"""A derivation: the places of its rules in the grammar."""
ContextRule = tuple[int, int]
"""A rule pair: a context and the rule that is there."""
Bools = npt.NDArray[np.bool_]
CHUNK = 256  # pairs whose forests are in memory at once
IMPOSSIBLE = -1e3  # log probability of what the model rules out; a derivation in need of it is still one
NEW = -1e9  # of a new rule pair, where new pairs are avoided: worse than any derivation without
DRAWN = 12  # derivations of a kind
LARGEST = 200  # rules of a derivation that is drawn

T = TypeVar("T")


class Reading(NamedTuple):
    """The parse of an input: a derivation and its output."""

    rules: Preorder
    target: tuple[str, ...]

    @property
    def text(self) -> str:
        """The output as one string."""
        return " ".join(self.target)


class Derivations:
    """Derives pairs and inputs with the grammar of a run, and with its model if there is one."""

    def __init__(self, grammar: Grammar, model: Model | None, max_units: int, engine: Threads = ONE_THREAD) -> None:
        self.rules = tuple(grammar)
        self._model, self._engine = model, engine
        self.deriver = model.deriver if model else Deriver(grammar, max_units)
        self._contexts = context_starts(grammar)
        self._place = {rule: k for k, rule in enumerate(self.rules)}

    def best(self, examples: Sequence[Example], avoid: Bools | None = None) -> list[Preorder]:
        """Give the best derivation of each pair, empty if there is none; one with fewest rule pairs of `avoid`."""
        return self._viterbi(Deriver.pair_forests, examples, avoid)

    def read(self, sources: Sequence[Sequence[str]]) -> list[Reading | None]:
        """Parse each input; None if there is no parse."""
        if self._model:
            parses = self._model.parse_all(sources, self._engine)
            return [
                Reading(tuple(self._place[rule] for rule in parse.derivation.rules()), parse.target) if parse else None
                for parse in parses
            ]
        best = self._viterbi(Deriver.forests, sources)
        trees = [Derivation.from_rules(self.rules[r] for r in rules) if rules else None for rules in best]
        return [
            Reading(rules, tree.example.target) if tree and tree.target_length <= MAX_OUTPUT else None
            for rules, tree in zip(best, trees, strict=True)
        ]

    def _viterbi(
        self, build: Callable[..., Forests], items: Sequence[Any], avoid: Bools | None = None
    ) -> list[Preorder]:
        state = ((self.deriver, self._model), self._contexts, build, items, avoid)
        found = self._engine.chunks(_viterbi, np.arange(len(items)), *state)
        return [rules for part in found for rules in part]

    def rule_pairs(self, examples: Sequence[Example]) -> Bools:
        """Tell which rule pairs occur in any derivation of these pairs: a table of contexts by rules."""
        seen = np.zeros((self._contexts[-1], len(self.rules)), np.bool_)
        for chunk in np.array_split(np.arange(len(examples)), max(1, len(examples) // CHUNK)):
            forests = self.deriver.pair_forests([examples[i] for i in chunk])
            begin, arity = forests.arguments[:-1], np.diff(forests.arguments)
            slot = np.arange(len(forests.children)) - np.repeat(begin, arity)
            context = np.repeat(self._contexts[forests.rules], arity) + slot
            tops = forests.vertices[:-1][np.diff(forests.vertices) > 0]
            context, vertex = np.append(context, 0 * tops), np.append(forests.children, tops)
            start, count = forests.applications[vertex], np.diff(forests.applications)[vertex]
            place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            seen[np.repeat(context, count), forests.rules[np.repeat(start, count) + place]] = True
        return seen

    def pairs_of(self, rules: Preorder) -> Iterator[ContextRule]:
        """Give the rule pairs of a derivation."""
        open_contexts = [0]
        for rule in rules:
            yield open_contexts.pop(), rule
            first = int(self._contexts[rule])
            open_contexts += reversed(range(first, int(self._contexts[rule + 1])))

    def context(self, number: int) -> tuple[int, int] | None:
        """Give the rule of a context and its nonterminal, counted from 1; None for the top."""
        if number == 0:
            return None
        rule = int(np.searchsorted(self._contexts, number, side="right")) - 1
        return rule, number - int(self._contexts[rule]) + 1


def _viterbi(
    places: Places,
    by: tuple[Deriver, Model | None],
    contexts: Places,
    build: Callable[..., Forests],
    items: Sequence[Any],
    avoid: Bools | None,
) -> list[Preorder]:
    found: list[Preorder] = []
    deriver, model = by
    for chunk in np.array_split(places, max(1, len(places) // CHUNK)):
        compact = compacted(build(deriver, [items[i] for i in chunk]), contexts)
        shape = (len(compact.contexts), len(compact.rules))
        score = np.maximum(model.log_p(compact.contexts, compact.rules), IMPOSSIBLE) if model else np.full(shape, -1.0)
        if avoid is not None:
            score += NEW * avoid[np.ix_(compact.contexts, compact.rules)]
        with DEFAULT.budget() as budget:
            _, used, offsets = viterbi(compact.forests, table_scores(score), compact.starts, budget)
        found += [tuple(compact.rules[used[a:b]].tolist()) for a, b in pairwise(offsets)]
    return found


@dataclass(frozen=True)
class TreeRow:
    """A derivation to draw: of a training or synthetic pair, or the parse of a test input."""

    origin: str  # train, test, synthetic
    input: str
    output: str  # the expected one
    rules: list[int]  # their lines, in preorder
    predicted: str | None = None  # the output of a parse
    right: bool | None = None  # of a parse
    expected_rules: list[int] | None = (
        None  # how the grammar derives the expected output, if it does and the parse is wrong
    )


def pair_trees(origin: str, examples: Sequence[Example], derivations: Sequence[Preorder]) -> list[TreeRow]:
    """Choose derivations of pairs to draw."""
    return [
        TreeRow(origin, examples[k].source_text, examples[k].target_text, as_lines(derivations[k]))
        for k in by_size(derivations, DRAWN)
    ]


def reading_trees(
    examples: Sequence[Example], readings: Sequence[Reading | None], right: Sequence[bool], derivations: Derivations
) -> list[TreeRow]:
    """Choose parses of test inputs to draw, the wrong ones first."""
    rows = []
    for wanted in (False, True):
        kind = [
            (reading, example)
            for reading, example, good in zip(readings, examples, right, strict=True)
            if reading and good is wanted
        ]
        chosen = [kind[n] for n in by_size([reading.rules for reading, _ in kind], DRAWN)]
        derived = derivations.best([example for _, example in chosen])
        for (reading, example), rules in zip(chosen, derived, strict=True):
            texts, other = (example.source_text, example.target_text), None if wanted else as_lines(rules) or None
            rows.append(TreeRow("test", *texts, as_lines(reading.rules), reading.text, wanted, other))
    return rows


def by_size(derivations: Sequence[Preorder], number: int) -> list[int]:
    """Choose derivations evenly, from the fewest rules to the most; return their places."""
    drawn = (k for k, rules in enumerate(derivations) if 0 < len(rules) <= LARGEST)
    return evenly(sorted(drawn, key=lambda k: len(derivations[k])), number)


def evenly(items: Sequence[T], number: int) -> list[T]:
    """Take at most `number` items, evenly spaced and in order: the first, the last, and those between.

    >>> evenly("abcdefgh", 3)
    ['a', 'd', 'h']
    """
    if len(items) <= number:
        return list(items)
    return [items[k * (len(items) - 1) // max(1, number - 1)] for k in range(number)]


def as_lines(rules: Preorder) -> list[int]:
    """Name the rules of a derivation by their lines in grammar.txt, counted from 1."""
    return [r + 1 for r in rules]
