"""Rules as the kernels take them."""

from collections.abc import Iterable

import numpy as np

from csl.grammar import Rule
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import IntArray, Vocabulary
from csl.kernels.derive import Parser, build_trie
from csl.kernels.flat import max_arity


class Encoded:
    """Distinct rules in a store: rule i has the id i."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = list(dict.fromkeys(rules))
        self.vocabulary, self.store = Vocabulary(), RuleStore()
        self.ids = self.store.add_rules(self.rules, self.vocabulary)
        assert self.ids.tolist() == list(range(len(self.rules)))
        self.arrays = self.store.arrays

    def parser(self, max_units: int) -> Parser:
        """A parser of all the rules."""
        trie, arity = build_trie(self.arrays, self.ids), max(1, max_arity(self.arrays, self.ids))
        return Parser(self.arrays, trie, np.ones(len(self.ids), np.bool_), arity, max_units)

    def ids_of(self, rules: Iterable[Rule]) -> IntArray:
        return self.ids[[self.rules.index(rule) for rule in rules]]
