"""Outputs that say what their inputs say: a value that the input lacks gives way to one that only the input has.

A network that knows few names writes one of them for a name that it has never seen (`nevada` for Nebraska). If an
output has one value that its input does not say, and the input names one value of this type that the output lacks, the
latter is meant. It is on a list of the type, or else a name or number that is no word of training, written as training
writes values of the type. A value that begins like another word of the input is taken as said (`mushrooms`, for a
mushroom pizza). Linear in the tokens.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from csl.examples import Example
from csl.preparing.preparation import Preparation
from csl.preparing.trees import Node
from csl.preparing.values import is_placeholder

REASON = 0.5  # of the uses of a word in training are with a value, at least, if the word is a reason for it
BEGINNING = 4  # letters that two forms of a word share, or all of a shorter one

Words = tuple[str, ...]


@dataclass(frozen=True)
class Said:
    """Puts the values of inputs into outputs."""

    preparation: Preparation

    def mend(self, source: str, target: str) -> str:
        """Give the output with the value that the input says, where one is wrong; else as it is."""
        preparation, values = self.preparation, self.preparation.values
        linked = values.link(preparation.words(source), preparation.schema.tree(preparation.read(target)))
        unsaid = list(self.unsaid(linked.tree))
        if len({(kind, node.tokens) for kind, node in unsaid}) != 1:
            return target
        kind, wrong = unsaid[0]
        rest = values.readings(linked.source)[0]
        found = {entry.tokens: entry.words for entry in rest.values.values() if entry.type == kind}
        if not found:
            spans = preparation.open_spans(source, rest.source, preparation.known)
            names = [rest.source[slice(*span)] for span, types in spans.items() if kind in types]
            found = {tokens: name for name in names if (tokens := values.copied(kind, name))}
        if len(found) != 1:
            return target
        ((right, name),) = found.items()
        others = [word for word in linked.source if word not in name]
        if any(_alike(part, word) for part in _parts(wrong) for word in others):
            return target
        return preparation.output(_with(linked.tree, wrong, right).tokens, linked.values)

    def unsaid(self, node: Node) -> Iterator[tuple[str, Node]]:
        """Give the values that are no placeholders, with their types."""
        if not node.tokens or is_placeholder(node.tokens[0]):
            return
        kind = self.preparation.values.type_of(node)
        if self._is_value(kind, node.tokens):
            yield kind, node
            return
        for child in node.children:
            yield from self.unsaid(child)

    def _is_value(self, kind: str, tokens: Words) -> bool:
        return (kind, tokens) in self._listed or self.preparation.values.is_copied(kind, tokens)

    @cached_property
    def _listed(self) -> set[tuple[str, Words]]:
        return {(entry.type, entry.tokens) for entry in self.preparation.values.entries}


class Reasons:
    """Tells whether an input has a reason for each value that its output does not copy (`Germany`, for Deutschland).

    In a rule, a value may stand without the word that it was there for: in another sentence it is made up.
    """

    def __init__(self, preparation: Preparation, examples: Iterable[Example]) -> None:
        self._said = Said(preparation)
        self._uses, self._with = Counter[str](), Counter[tuple[str, Words]]()
        for example in dict.fromkeys(examples):
            words, values = set(example.source), self._values(preparation.tree(example.target))
            self._uses.update(words)
            self._with.update((word, value) for word in words for value in values)

    def has(self, source: Words, tree: Node) -> bool:
        """Whether a prepared input has them for an output, given as a tree."""
        return not self._with or all(
            any(self._with[word, value] >= REASON * self._uses[word] > 0 for word in source)
            for value in self._values(tree)
        )

    def _values(self, tree: Node) -> set[Words]:
        return {node.tokens for _, node in self._said.unsaid(tree)}


def _parts(node: Node) -> list[str]:
    """Give the words of a value."""
    leaves = (leaf for leaf in node.walk() if leaf.is_literal)
    return [part for leaf in leaves for token in leaf.tokens for part in re.findall(r"[^\W_]+", token.lower())]


def _alike(one: str, other: str) -> bool:
    """Whether two words may be forms of one."""
    return one[:BEGINNING] == other[:BEGINNING]


def _with(node: Node, wrong: Node, right: Words) -> Node:
    """Replace a value everywhere."""
    if node.tokens == wrong.tokens and node.slot == wrong.slot:
        return replace(node, pattern=right, children=())
    return replace(node, children=tuple(_with(child, wrong, right) for child in node.children))
