"""Derivations when rules give way to others."""

from itertools import chain, pairwise

import numpy as np

from csl.grammar import parse_grammar
from csl.kernels.budget import untimed
from csl.kernels.derivations import are_derivations, substitute

from .encoded import Encoded


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def substituted(alive: list[int], rows: list[list[int]], derived: dict[int, list[int]]) -> list[list[int]]:
    """Put in place of each rule that is not alive those that derive it."""
    known, row = np.zeros(10, np.bool_), np.full(10, -1, np.int32)
    known[alive] = True
    row[list(derived)] = range(len(derived))
    ends = np.cumsum([0, *map(len, derived.values())])
    offsets = np.cumsum([0, *map(len, rows)])
    used = ids(*chain.from_iterable(derived.values()))
    values, begin = substitute(known, ids(*chain.from_iterable(rows)), offsets, row, used, ends)
    return [sorted(values[a:b].tolist()) for a, b in pairwise(begin)]


def test_rules_that_went_are_replaced_until_all_are_there() -> None:
    assert substituted([1, 2, 3], [[9], [1], [8, 8]], {9: [8, 1], 8: [2, 2, 3]}) == [
        [1, 2, 2, 3],
        [1],
        [2, 2, 2, 2, 3, 3],
    ]


def test_what_leads_to_nothing_known_is_empty_and_disturbs_no_other() -> None:
    assert substituted([1, 2], [[1, 9, 2], [2, 8], [1]], {8: [1, 1]}) == [[], [1, 1, 2], [1]]


def test_a_rule_that_came_back_counts() -> None:
    assert substituted([1, 9], [[9]], {9: [1]}) == [[9]]


def test_too_many_lone_nonterminals_in_a_row_are_no_derivation() -> None:
    """Two rules that wrap any phrase are within a bound of 2, not of 1; an empty span derives nothing."""
    rules = parse_grammar(["a ### A", "NT_1 ### f NT_1", "NT_1 ### g NT_1", "b NT_1 ### B NT_1", "b a ### B f g A"])
    encoded = Encoded(rules)
    example, used = encoded.ids_of(rules)[4], encoded.ids_of(rules)[:4]
    examples, values, offsets = ids(example, example), used, np.array([0, 4, 4])
    found = [are_derivations(encoded.parser(n), untimed(), examples, values, offsets).tolist() for n in (2, 1)]
    assert found == [[True, False], [False, False]]
