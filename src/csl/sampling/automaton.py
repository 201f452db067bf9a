"""Valid outputs as a deterministic automaton over derivations.

A derivation can have several typings, as when a placeholder is of every type. To draw each valid derivation with its
own probability, it must be counted once, so typings are made deterministic: the *kind* of a derivation is the set of
all categories that its output can have. A rule's kind follows from the kinds of its children, of which only those
categories count that its typings have in that place: children with the same ones are of one *class*. A transition is a
rule with a class for each child, and the kind it makes. Without an output CFG there is one category and one kind.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from csl.errors import InputError
from csl.grammar import Grammar
from csl.grammar.output_cfg import ROOT, OutputCfg
from csl.model.model import context_starts

Ints = npt.NDArray[np.int64]
TRANSITIONS = 1_000_000  # at most; the benchmark sets need some 10,000

Row = tuple[int, tuple[int, ...]]
"""A typing: a category as a bit, and the categories of the children as bits."""


@dataclass(frozen=True)
class Automaton:
    """Kinds, classes and transitions, as arrays."""

    n_kinds: int
    goal: npt.NDArray[np.bool_]  # kind → whether it holds the start symbol
    rule: Ints  # transition → rule; transitions are sorted by the kind they make
    kinds: Ints  # kind → its transitions (offsets)
    arguments: Ints  # transition → its places in `classes` (offsets)
    classes: Ints  # the class of each child
    context: Ints  # class → context
    members: Ints  # class → its places in `kind` (offsets)
    kind: Ints  # the kinds of each class


class _Builder:
    """Finds kinds until there are no new ones."""

    def __init__(self, rows: Sequence[Sequence[Row]], starts: Ints) -> None:
        self._rows = rows
        forms: dict[tuple[Row, ...], int] = {}
        self._form = [forms.setdefault(tuple(group), len(forms)) for group in rows]
        self._fits: dict[tuple[int, int, int], int] = {}
        self._collected: dict[tuple[int, int], int] = {}
        self.kinds: dict[int, int] = {}  # set of categories → number
        self.classes: dict[tuple[int, int], list[int]] = {}  # (context, categories that count) → kinds
        self.transitions: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}  # (rule, classes) → kind
        self._slots: dict[int, list[tuple[int, int, int]]] = {}  # categories that count → (rule, place, context)
        self._known: dict[int, list[tuple[int, int]]] = {}  # context → its classes
        for r, group in enumerate(rows):
            arity = len(group[0][1]) if group else 0
            for place in range(arity):
                context = int(starts[r]) + place
                counts = 0
                for _, children in group:
                    counts |= children[place]
                self._slots.setdefault(counts, []).append((r, place, context))
                self._known[context] = []
        self._starts = starts
        agenda: list[int] = []
        for r, group in enumerate(rows):
            if group and not group[0][1]:
                self._make(r, (), agenda)
        while agenda:
            self._spread(agenda.pop(0), agenda)

    def _spread(self, kind: int, agenda: list[int]) -> None:
        """Put a new kind into the classes it belongs to; new classes make new transitions."""
        number = self.kinds[kind]
        for counts, slots in self._slots.items():
            seen = kind & counts
            if not seen:
                continue
            for rule, place, context in slots:
                key = (context, seen)
                if key in self.classes:
                    self.classes[key].append(number)
                    continue
                self.classes[key] = [number]
                self._known[context].append(key)
                first = int(self._starts[rule])
                arity = len(self._rows[rule][0][1])
                choices = [[key] if i == place else self._known[first + i] for i in range(arity)]
                for combination in product(*choices):
                    self._make(rule, combination, agenda)

    def _make(self, rule: int, classes: tuple[tuple[int, int], ...], agenda: list[int]) -> None:
        """Add the transition of a rule with these classes, and the kind it makes."""
        fitting = (1 << len(self._rows[rule])) - 1  # a bit for each typing
        for place, (_, seen) in enumerate(classes):
            fitting &= self._fitting(rule, place, seen)
        kind = self._kind(rule, fitting)
        if kind:
            if kind not in self.kinds:
                self.kinds[kind] = len(self.kinds)
                agenda.append(kind)
            self.transitions[rule, classes] = self.kinds[kind]
            if len(self.transitions) > TRANSITIONS:
                raise InputError(
                    f"the output CFG lets rules be put together in more than {TRANSITIONS:,} ways; "
                    "choose strategy uniform, or fewer categories"
                )

    def _fitting(self, rule: int, place: int, seen: int) -> int:
        """Find the typings of a rule, as bits, that a child of these categories fits; rules often share them."""
        key = (self._form[rule], place, seen)
        if key not in self._fits:
            rows = self._rows[rule]
            self._fits[key] = sum(1 << k for k, (_, children) in enumerate(rows) if children[place] & seen)
        return self._fits[key]

    def _kind(self, rule: int, fitting: int) -> int:
        """Collect the categories of some typings of a rule."""
        key = (self._form[rule], fitting)
        if key not in self._collected:
            self._collected[key] = 0
            for k, (category, _) in enumerate(self._rows[rule]):
                if fitting >> k & 1:
                    self._collected[key] |= category
        return self._collected[key]


def build_automaton(grammar: Grammar, output_cfg: OutputCfg | None) -> Automaton:
    """Build the automaton of a grammar's valid derivations."""
    if output_cfg is None:
        rows: list[list[Row]] = [[(1, (1,) * rule.arity)] for rule in grammar]
        root = 1
    else:
        bit = {name: 1 << k for k, name in enumerate(output_cfg.categories)}
        root = bit[ROOT.name]
        rows = [
            [(bit[t.category], tuple(bit[child] for child in t.children)) for t in output_cfg.typings(rule.target)]
            for rule in grammar
        ]
    built = _Builder(rows, context_starts(grammar))
    number = {key: n for n, key in enumerate(built.classes)}
    ordered = sorted(built.transitions.items(), key=lambda item: item[1])  # stable: then as found
    made = np.array([kind for _, kind in ordered], np.int64)
    classes = [[number[key] for key in keys] for (_, keys), _ in ordered]
    return Automaton(
        len(built.kinds),
        np.array([bool(kind & root) for kind in built.kinds], np.bool_),
        np.array([rule for (rule, _), _ in ordered], np.int64),
        np.searchsorted(made, np.arange(len(built.kinds) + 1)),
        _offsets(classes),
        _flat(classes),
        np.array([context for context, _ in built.classes], np.int64),
        _offsets(built.classes.values()),
        _flat(built.classes.values()),
    )


def _offsets(lists: Iterable[Sequence[int]]) -> Ints:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _flat(lists: Iterable[Sequence[int]]) -> Ints:
    return np.array([x for part in lists for x in part], np.int64)
