"""What training makes plausible: words that follow each other in inputs, and what fills which slot in outputs.

An operator that passes its argument on (`largest(state(…))` can be where `state(…)` can) hides what is below it, and
two may do so together (`largest_one(population(state(…)))`). They are found: what they are applied to is also seen
without them, in slots that do not take everything. The *head* of a node is what is below them. How plausible an output
is depends on what is new in it:

- A head in a slot where training lacks it. It counts by how like slots and heads have it, compared with what training
  has once, judged as if it were new.
- The same, or a head that is new in its slot below this operator here (`loc` of a state among what is a state, where
  training has a `loc` of a state as a city only): the more often training would have it by chance, the less it counts.

Linear in the tokens; the slots are compared with each other.
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from csl.examples import Example
from csl.preparing.preparation import Preparation
from csl.preparing.trees import Node, Slot
from csl.preparing.values import is_placeholder, type_of_placeholder

PASSES_ON = 0.8  # of what an operator is applied to is seen without it, if it passes its argument on
SURE = 2.0  # log-odds that it does so, at least
LONGEST = 2  # operators that pass on the argument of the last one together (`largest_one(population(…))`)
MOST_SEEN = 0.95  # of all heads, at most, that a slot is taken to take
ODD = 4  # times that training would have two common words side by side by chance, if they are odd where it never does
MOST_ONCE = 50  # fillers that training has once are judged as if they were new, at most

Words = tuple[str, ...]
Filler = tuple[Slot, str]
Context = tuple[Slot, str, Slot]  # slot of an operator, the operator, slot of its argument


class Plausible:
    """Tells how much outputs are like those of training."""

    def __init__(self, preparation: Preparation, examples: Iterable[Example]) -> None:
        trees = [preparation.tree(target) for target in dict.fromkeys(example.target for example in examples)]
        self._transparent = _transparent(trees)
        self._heads = Counter((slot, head) for tree in trees for _, slot, head in self._filled(tree, tree.slot))
        self._fillers = {(node.slot, _filler(node)) for tree in trees for node in tree.walk()}
        self._below = Counter(
            (context, head) for tree in trees for context, _, head in self._filled(tree, tree.slot) if context
        )
        self._slots = {slot: i for i, slot in enumerate(dict.fromkeys(slot for slot, _ in self._heads))}
        self._names = {head: i for i, head in enumerate(dict.fromkeys(head for _, head in self._heads))}
        self._known: dict[Filler, float] = {}  # how plausible a head is in a slot that lacks it

    def of(self, tree: Node) -> float:
        """Say how plausible an output is, given as a tree, from 0 to 1: 1 if nothing is new in it."""
        found = 1.0
        for context, slot, head in dict.fromkeys(self._filled(tree, tree.slot)):  # in order, as floats depend on it
            if (slot, head) not in self._heads:
                found *= self._new(slot, head)
            elif context and (context, head) not in self._below:
                found /= 1 + self._uses[context] * self._heads[slot, head] / self._uses[slot]
        return found

    def new_fillers(self, tree: Node) -> list[Filler]:
        """Give slots with what fills them, where training lacks it."""
        return sorted({(node.slot, _filler(node)) for node in tree.walk()} - self._fillers)

    def _filled(
        self, node: Node, slot: Slot, context: Context | None = None
    ) -> Iterator[tuple[Context | None, Slot, str]]:
        """Give each slot with its head and context; `slot` is what the node fills, through all that passes it on."""
        yield context, node.slot, self._head(node)
        filler = _filler(node)
        below = self._passed_on(node)
        for child in node.children:
            if child is below:
                yield from self._filled(child, slot)
            else:
                yield from self._filled(child, child.slot, (slot, filler, child.slot))

    def _passed_on(self, node: Node) -> Node | None:
        """Give what a node passes on: its argument, or the argument of that."""
        return next((below for chain, below in _chains(node) if chain in self._transparent), None)

    def _head(self, node: Node) -> str:
        while below := self._passed_on(node):
            node = below
        return _filler(node)

    def _new(self, slot: Slot, head: str) -> float:
        """Say how plausible a head is in a slot that lacks it."""
        if slot not in self._slots or head not in self._names:
            return 0.0
        if (slot, head) not in self._known:
            likeness = _likeness(self._seen, self._slots[slot], self._names[head])
            less = bisect_left(self._once, likeness) / len(self._once) if self._once else 1.0
            expected = self._uses[slot] * self._often[head] / self._often.total()
            self._known[slot, head] = less / (1 + expected)
        return self._known[slot, head]

    @cached_property
    def _uses(self) -> Counter[Slot | Context]:
        """How often each slot, and each context, is filled."""
        uses = Counter[Slot | Context]()
        for (slot, _), count in self._heads.items():
            uses[slot] += count
        for (context, _), count in self._below.items():
            uses[context] += count
        return uses

    @cached_property
    def _often(self) -> Counter[str]:
        """How often there is each head."""
        often = Counter[str]()
        for (_, head), count in self._heads.items():
            often[head] += count
        return often

    @cached_property
    def _seen(self) -> NDArray[np.float64]:
        """A row for each slot, a column for each head: 1 where training has it."""
        seen = np.zeros((len(self._slots), len(self._names)))
        for slot, head in self._heads:
            seen[self._slots[slot], self._names[head]] = 1
        return seen

    @cached_property
    def _once(self) -> list[float]:
        """How likely what training has once is, as if it were new, in order."""
        once = [(self._slots[slot], self._names[head]) for (slot, head), count in self._heads.items() if count == 1]
        found: list[float] = []
        for row, column in once:
            if self._seen[row].sum() > 1 and self._seen[:, column].sum() > 1 and len(found) < MOST_ONCE:
                without = self._seen.copy()
                without[row, column] = 0
                found.append(_likeness(without, row, column))
        return sorted(found)


def _likeness(seen: NDArray[np.float64], row: int, column: int) -> float:
    """Give the share of slots like a slot that have a head, times that of heads like it in the slot."""
    rare = np.log((seen.shape[1] + 1) / np.maximum(1, seen.sum(1)))  # slots that take anything say little
    slots, heads = _cosines(seen, row), _cosines((seen * rare[:, None]).T, column)
    return float((slots @ seen[:, column]) / (slots.sum() + 1e-9) * (seen[row] @ heads) / (heads.sum() + 1e-9))


def _cosines(rows: NDArray[np.float64], row: int) -> NDArray[np.float64]:
    """Compare a row with each other."""
    lengths = np.linalg.norm(rows, axis=1) + 1e-9
    found = (rows @ rows[row]) / lengths / lengths[row]
    found[row] = 0
    return found


def _transparent(trees: Sequence[Node]) -> set[Words]:
    """Find the operators, or two of them, that pass their argument on, of those that are in several slots.

    What an operator in a slot is applied to may be seen in that slot without it because it is passed on, or by chance,
    which is likelier the more the slot takes.
    """
    seen = {(node.slot, _filler(node)) for tree in trees for node in tree.walk()}
    takes, kinds = Counter(slot for slot, _ in seen), len({filler for _, filler in seen})
    applied: dict[Words, dict[Filler, None]] = defaultdict(dict)
    for tree in trees:
        for node in tree.walk():
            for chain, below in _chains(node):
                applied[chain][node.slot, _filler(below)] = None
    found = set[Words]()
    for chain, fillers in applied.items():
        odds = 0.0
        for slot, filler in fillers:
            chance = min(MOST_SEEN, takes[slot] / kinds)
            is_seen = (slot, filler) in seen
            odds += math.log(PASSES_ON / chance) if is_seen else math.log((1 - PASSES_ON) / (1 - chance))
        if odds > SURE and len({slot for slot, _ in fillers}) > 1:
            found.add(chain)
    return found


def _chains(node: Node) -> Iterator[tuple[Words, Node]]:
    """Give a node's operator, then two of them, with what they are applied to."""
    chain: Words = ()
    while len(node.children) == 1 and len(chain) < LONGEST:
        chain, node = (*chain, _filler(node)), node.children[0]
        yield chain, node


def _filler(node: Node) -> str:
    if is_placeholder(node.tokens[0]):
        return type_of_placeholder(node.tokens[0])
    return " ".join(node.tokens) if node.is_literal else node.label


class Fluency:
    """How much a sequence of words reads like training: trigrams, smoothed as Witten and Bell (1991) do."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self._counts: Counter[Words] = Counter()
        for source in dict.fromkeys(example.source for example in examples):
            words = _padded(source)
            for end in range(2, len(words)):
                self._counts.update(words[start : end + 1] for start in range(end - 2, end + 1))
        self._before: Counter[Words] = Counter()
        self._kinds: Counter[Words] = Counter()
        for words, count in self._counts.items():
            self._before[words[:-1]] += count
            self._kinds[words[:-1]] += 1
        self._neighbours = {words for words in self._counts if len(words) == 2}

    def of(self, source: Words) -> float:
        """Give the mean log probability of a word."""
        words = _padded(source)
        ends = range(2, len(words))
        return sum(math.log(self._probability(words[end - 2 : end + 1])) for end in ends) / len(ends)

    def new_neighbours(self, source: Words) -> list[tuple[str, str]]:
        """Give the words side by side that are so nowhere in training."""
        return [two for two in pairwise(_padded(source)[1:]) if two not in self._neighbours]

    def is_odd(self, source: Words) -> bool:
        """Whether words are side by side that training would have so by chance, were it not for a reason (`in in`)."""
        total = self._before[()]
        return any(self._counts[a,] * self._counts[b,] > ODD * total for a, b in self.new_neighbours(source))

    def _probability(self, words: Words) -> float:
        shorter = self._probability(words[1:]) if len(words) > 1 else 1 / (self._kinds[()] + 1)
        before = self._before.get(words[:-1])
        if not before:
            return shorter
        kinds = self._kinds[words[:-1]]
        return (self._counts.get(words, 0) + kinds * shorter) / (before + kinds)


def _padded(source: Words) -> Words:
    return ("", "", *(type_of_placeholder(t) if is_placeholder(t) else t for t in source), "")
