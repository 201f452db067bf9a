"""Forests, the shortest derivations and derivability agree with a plain enumeration of derivations."""

from math import comb

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from csl.datasets.scan import commands, interpret
from csl.engine import Threads
from csl.examples import Example
from csl.grammar import Grammar, Rule, parse_grammar
from csl.kernels.budget import COVERED, TOO_MANY, UNCOVERED
from csl.parsing.derivation import MAX_OUTPUT, Derivation
from csl.parsing.deriver import Deriver
from csl.parsing.limits import AmbiguityError, Limits
from csl.reference import Chart, derivations

from ..grammars import SCAN_RULES, count_derivations, grammars, inputs


def size(derivation: Derivation) -> int:
    return len(list(derivation.rules()))


@settings(deadline=None, max_examples=200)
@given(grammars, inputs, st.sampled_from([0, 1, 2]))
def test_a_forest_holds_every_derivation_once(grammar: list[Rule], x: tuple[str, ...], max_units: int) -> None:
    deriver = Deriver(Grammar(grammar), max_units)
    count = count_derivations(grammar, x, max_units)
    assert deriver.analysis_count(x) == count
    assert deriver.covered([x]).tolist() == [count > 0]
    assume(count < 300)
    expected = [tree for tree in derivations(grammar, x, None, max_units) if tree.target_length <= MAX_OUTPUT]
    found = deriver.analyses(x, limit=1000)
    assert len(found) == len(expected)
    assert set(found) == set(expected)
    shortest: dict[tuple[str, ...], int] = {}
    for tree in expected:
        output = tree.example.target
        shortest[output] = min(size(tree), shortest.get(output, size(tree)))
    first = found[: len(shortest)]  # one derivation an output, then the others; fewest rules first
    assert [(tree.example.target, size(tree)) for tree in first] == sorted(
        ((tree.example.target, shortest[tree.example.target]) for tree in first), key=lambda pair: pair[1]
    )
    assert {tree.example.target for tree in first} == set(shortest)
    others = [size(tree) for tree in found[len(shortest) :]]
    assert others == sorted(others)
    for limit in (1, 2, 3):
        few = deriver.analyses(x, limit)
        assert [size(tree) for tree in few] == [size(tree) for tree in found[:limit]]
        assert len({tree.example.target for tree in few}) == min(limit, len(shortest))


@settings(deadline=None, max_examples=100)
@given(grammars, inputs, st.sampled_from([0, 1, 2]))
def test_every_output_of_an_input_is_a_derivable_pair(grammar: list[Rule], x: tuple[str, ...], max_units: int) -> None:
    deriver = Deriver(Grammar(grammar), max_units)
    pairs = [tree.example for tree in deriver.analyses(x, limit=5)]
    assert all(pair.source == x for pair in pairs)
    assert deriver.derivable(pairs).all()
    for pair in pairs:
        found = deriver.derivation(pair)
        assert found is not None
        assert found.example == pair
    wrong = [Example(pair.source, (*pair.target, "C")) for pair in pairs]
    assert not deriver.derivable(wrong).any()


@settings(deadline=None, max_examples=100)
@given(grammars, inputs)
def test_covered_spans_are_the_largest_that_have_a_derivation(grammar: list[Rule], x: tuple[str, ...]) -> None:
    spans = [(i, j) for (i, j, _), cell in Chart(grammar, x, None, 2).cells.items() if cell]
    largest = [(i, j) for i, j in sorted({*spans}) if not any(a <= i and j <= b and (a, b) != (i, j) for a, b in spans)]
    assert Deriver(Grammar(grammar)).covered_spans(x) == largest


def test_vertices_come_before_their_children_and_each_is_used() -> None:
    grammar = parse_grammar(["a ### A", "NT_1 NT_2 ### NT_2 NT_1", "NT_1 ### x NT_1"])
    deriver = Deriver(grammar, max_units=1)
    for vertices in (deriver.forest("aaaa").vertices, deriver.forest("a").vertices):
        children = [(v, child) for v, edges in enumerate(vertices) for _, kids in edges for child in kids]
        assert all(v < child for v, child in children)
        assert {0, *(child for _, child in children)} == set(range(len(vertices)))


def test_the_forests_of_a_batch_are_those_of_its_inputs() -> None:
    deriver = Deriver(parse_grammar(["a ### A", "b ### B", "NT_1 NT_2 ### NT_2 NT_1", "NT_1 ### x NT_1"]), max_units=1)
    batch = ["ab", "a?", "abab", "ababababab", "b"]
    found = deriver.forests(batch, Limits(items=600))
    assert found.status.tolist() == [COVERED, UNCOVERED, COVERED, TOO_MANY, COVERED]
    for k, source in enumerate(batch):
        first, stop = found.vertices[k], found.vertices[k + 1]
        if found.status[k] != COVERED:
            assert first == stop
            continue
        mine = [
            [
                (found.rules[a], (found.children[found.arguments[a] : found.arguments[a + 1]] - first).tolist())
                for a in range(found.applications[v], found.applications[v + 1])
            ]
            for v in range(first, stop)
        ]
        assert mine == deriver.forest(source).vertices
        assert found.spans[first].tolist() == [0, len(source), 1]


def test_the_grammar_of_scan_derives_all_of_scan() -> None:
    deriver = Deriver(parse_grammar(SCAN_RULES), max_units=0)
    pairs = [Example(command, interpret(command) or ()) for command in commands()]
    assert len(deriver.rules) == 20
    assert len(pairs) == 20_910
    assert deriver.derivable(pairs, engine=Threads(2)).all()
    assert deriver.covered([pair.source for pair in pairs], engine=Threads(2)).all()
    wrong = [Example(pair.source, pair.target[:-1]) for pair in pairs if len(pair.target) > 1]
    assert not deriver.derivable(wrong).any()


def test_a_derivation_is_found_for_a_pair_and_gives_it_back() -> None:
    deriver = Deriver(parse_grammar(SCAN_RULES))
    pair = Example.of("jump left twice after walk", "I_WALK I_TURN_LEFT I_JUMP I_TURN_LEFT I_JUMP")
    derivation = deriver.derivation(pair)
    assert derivation is not None
    assert derivation.example == pair
    assert [" ".join(map(str, rule.source)) for rule in derivation.rules()] == [
        "NT_1 after NT_2",
        "NT_1 twice",
        "NT_1 left",
        "jump",
        "walk",
    ]


def test_unknown_tokens_are_not_derivable_even_if_both_sides_have_them() -> None:
    deriver = Deriver(parse_grammar(["a ### A", "NT_1 x ### NT_1"]))
    pairs = [Example.of(*pair) for pair in (("a", "A"), ("?", "?"), ("a ?", "A ?"), ("a", "?"), ("a x", "A"))]
    assert deriver.derivable(pairs).tolist() == [True, False, False, False, True]
    assert deriver.derivation(pairs[1]) is None
    assert deriver.derivable([]).tolist() == []
    assert deriver.covered([]).tolist() == []
    assert deriver.unknown_tokens(["?", "a", "A", "?", "x"]) == ["?", "A"]


def test_threads_do_not_change_the_answer() -> None:
    deriver = Deriver(parse_grammar(["a ### A", "NT_1 NT_2 ### NT_1 NT_2"]))
    pairs = [Example(("a",) * (k % 4 + 1), ("A",) * (k % 3 + 1)) for k in range(50)]
    sources = [("a",) * (k % 3) + ("b",) * (k % 2) + ("a",) for k in range(50)]
    for threads in (2, 3):
        assert deriver.derivable(pairs, Threads(threads)).tolist() == deriver.derivable(pairs).tolist()
        assert deriver.covered(sources, Threads(threads)).tolist() == deriver.covered(sources).tolist()


def test_an_empty_grammar_covers_nothing() -> None:
    deriver = Deriver(Grammar())
    assert deriver.derivation(Example.of("a", "A")) is None
    assert deriver.analyses(("a",)) == []
    assert deriver.covered_spans(("a",)) == []


def test_long_inputs_with_rules_of_nonterminals_alone() -> None:
    grammar = ["a ### A", "NT_1 NT_2 ### NT_2 NT_1", "NT_1 NT_2 NT_3 NT_4 ### NT_1 NT_3 NT_2 NT_4"]
    deriver = Deriver(parse_grammar(grammar))
    long = ("a",) * 60
    assert deriver.covered([long]).tolist() == [True]
    assert deriver.covered_spans((*long, "?", "a")) == [(0, 60), (61, 62)]
    with pytest.raises(AmbiguityError, match="over 1,048,576 items"):
        deriver.analyses(long)
    catalan = Deriver(parse_grammar(grammar[:2]))
    assert catalan.analysis_count(long[:12]) == comb(22, 11) // 12  # Catalan numbers
    assert catalan.analysis_count(long) == comb(118, 59) // 60
    assert size(catalan.analyses(long, limit=3)[2]) == 119
