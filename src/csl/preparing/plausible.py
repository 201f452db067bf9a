"""What training makes plausible: words that follow each other in inputs, and what fills which slot in outputs.

An operator that passes its argument on (`largest(state(…))` can be where `state(…)` can) hides what is below it. Such
operators are found: most of what they are applied to is also seen without them, in the same slot. The *head* of a node
is what is below them, and an output is plausible if each slot has a head that training has there; but for one, which
must then be a head of slots like this one. How like they must be, the fillers that training has once say: judged as
if they were new, most of them would pass. Linear in the tokens; the slots are compared with each other.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from csl.examples import Example
from csl.preparing.preparation import Preparation
from csl.preparing.trees import Node, Slot
from csl.preparing.values import is_placeholder, type_of_placeholder

PASSES_ON = 0.5  # of what an operator is applied to is seen without it, at least, if it passes its argument on
KINDS = 2  # of arguments, at least, to say so
NEW_HEADS = 1  # of an output, at most
REFUSED = 0.2  # of the fillers that training has once would be refused, if they were new
MOST_ONCE = 50  # of these are looked at, at most

Words = tuple[str, ...]
Filler = tuple[Slot, str]


class Plausible:
    """Tells which outputs are like those of training."""

    def __init__(self, preparation: Preparation, examples: Iterable[Example]) -> None:
        self._preparation = preparation
        trees = [self._tree(target) for target in dict.fromkeys(example.target for example in examples)]
        self._transparent = _transparent(trees)
        self._heads = Counter(pair for tree in trees for pair in self._filled(tree))
        self._fillers = {(node.slot, _filler(node)) for tree in trees for node in tree.walk()}
        self._slots = {slot: i for i, slot in enumerate(dict.fromkeys(slot for slot, _ in self._heads))}
        self._names = {head: i for i, head in enumerate(dict.fromkeys(head for _, head in self._heads))}
        self._known: dict[tuple[int, int], bool] = {}  # slot and head: whether the one is likely in the other

    def accepts(self, target: Words) -> bool:
        """Whether an output is new in one respect at most, and that one is plausible."""
        new = set(self._filled(self._tree(target))) - self._heads.keys()
        return len(new) <= NEW_HEADS and all(self._likely(slot, head) for slot, head in new)

    def new_fillers(self, target: Words) -> list[Filler]:
        """Give slots with what fills them, where training lacks it."""
        return sorted({(node.slot, _filler(node)) for node in self._tree(target).walk()} - self._fillers)

    def _tree(self, target: Words) -> Node:
        preparation = self._preparation
        return preparation.schema.tree(preparation.read(preparation.spacing.write(target)))

    def _filled(self, tree: Node) -> list[Filler]:
        """Give each slot with its head."""
        return [(node.slot, self._head(node)) for node in tree.walk()]

    def _head(self, node: Node) -> str:
        while len(node.children) == 1 and _filler(node) in self._transparent:
            node = node.children[0]
        return _filler(node)

    def _likely(self, slot: Slot, head: str) -> bool:
        if slot not in self._slots or head not in self._names:
            return False
        place = self._slots[slot], self._names[head]
        if place not in self._known:
            self._known[place] = _likeness(self._seen, *place) >= self._least
        return self._known[place]

    @cached_property
    def _seen(self) -> NDArray[np.float64]:
        """A row for each slot, a column for each head: 1 where training has it."""
        seen = np.zeros((len(self._slots), len(self._names)))
        for slot, head in self._heads:
            seen[self._slots[slot], self._names[head]] = 1
        return seen

    @cached_property
    def _least(self) -> float:
        """How likely what training has once is, as if it were new: the quantile that most of it exceeds."""
        once = [(self._slots[slot], self._names[head]) for (slot, head), count in self._heads.items() if count == 1]
        found: list[float] = []
        for row, column in once:
            if self._seen[row].sum() > 1 and self._seen[:, column].sum() > 1 and len(found) < MOST_ONCE:
                without = self._seen.copy()
                without[row, column] = 0
                found.append(_likeness(without, row, column))
        return float(np.quantile(found, REFUSED)) if found else 0.0


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


def _transparent(trees: Sequence[Node]) -> set[str]:
    """Find the operators that pass their argument on."""
    seen = {(node.slot, _filler(node)) for tree in trees for node in tree.walk()}
    applied: dict[str, set[Filler]] = defaultdict(set)
    for node in (node for tree in trees for node in tree.walk() if len(node.children) == 1):
        applied[_filler(node)].add((node.slot, _filler(node.children[0])))
    return {
        operator
        for operator, below in applied.items()
        if len(below) >= KINDS and len(below & seen) >= PASSES_ON * len(below)
    }


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

    def _probability(self, words: Words) -> float:
        shorter = self._probability(words[1:]) if len(words) > 1 else 1 / (self._kinds[()] + 1)
        before = self._before.get(words[:-1])
        if not before:
            return shorter
        kinds = self._kinds[words[:-1]]
        return (self._counts.get(words, 0) + kinds * shorter) / (before + kinds)


def _padded(source: Words) -> Words:
    return ("", "", *(type_of_placeholder(t) if is_placeholder(t) else t for t in source), "")
