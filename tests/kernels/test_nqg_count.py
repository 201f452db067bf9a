"""Numbers of derivations are those of an enumeration."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar import Nt, Rule
from csl.kernels.derive import build_trie
from csl.kernels.nqg_count import count_derivations

from ..parsing.twins import Twin, grammars
from .twins import Encoded


@settings(max_examples=100, deadline=None)
@given(grammars, st.lists(st.sampled_from("ab"), min_size=1, max_size=5), st.lists(st.sampled_from("AB"), max_size=6))
def test_counts_are_those_of_an_enumeration(rules: list[Rule], x: list[str], y: list[str]) -> None:
    rules = [rule for rule in dict.fromkeys(rules) if rule.source != (Nt(1),)]
    trees = Twin(rules, 0, tuple(x)).trees(0, len(x), 0)
    targets = [tree.example.target for tree in trees]
    pair = Rule(tuple(x), targets[0] if targets else (*y, "A"))
    encoded = Encoded([*rules, pair])
    alive = np.array([rule in rules for rule in encoded.rules])
    trie = build_trie(*encoded.arrays, encoded.ids)
    counts = count_derivations(*encoded.arrays, alive, trie, 3, encoded.ids_of([pair]))
    assert counts.tolist() == [[len(trees), targets.count(pair.target)]]
