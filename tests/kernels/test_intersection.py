"""Forests cut down to an output, or to valid outputs, hold exactly the derivations that a plain enumeration keeps."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csl.examples import Example
from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.budget import COVERED, TOO_MANY, UNCOVERED
from csl.kernels.source_chart import Forests
from csl.model.model import Model, context_starts
from csl.parsing.derivation import Derivation
from csl.parsing.deriver import DEFAULT, Deriver
from csl.parsing.forest import join_forests
from csl.parsing.limits import Limits

from ..grammars import all_derivations, grammars, inputs, output_cfgs, typing_count

REPEATED = list(parse_grammar(["a ### A", "NT_1 NT_2 ### NT_1 NT_2 NT_1", "NT_1 b ### NT_1 NT_1"]))
UNITS = list(parse_grammar(["a ### A", "NT_1 ### NT_1", "NT_1 ### NT_1 A", "NT_1 a ### NT_1"]))


def unpacked(forests: Forests, k: int, rules: Sequence[Rule]) -> list[Derivation]:
    """All derivations in the forest of input k, as often as it holds them."""

    @cache
    def below(v: int) -> list[Derivation]:
        found: list[Derivation] = []
        for a in range(forests.applications[v], forests.applications[v + 1]):
            children = forests.children[forests.arguments[a] : forests.arguments[a + 1]].tolist()
            assert all(v < child < forests.vertices[k + 1] for child in children)
            found += [Derivation(rules[forests.rules[a]], parts) for parts in product(*map(below, children))]
        return found

    first, stop = forests.vertices[k], forests.vertices[k + 1]
    return below(int(first)) if first < stop else []


@settings(deadline=None, max_examples=150)
@given(grammars, st.lists(inputs, min_size=1, max_size=3), st.sampled_from([0, 1, 2]))
@example(REPEATED, [tuple("aaaa"), tuple("aab")], 0)
@example(UNITS, [tuple("aa"), tuple("a")], 2)
def test_the_forest_of_a_pair_holds_its_derivations_once_each(
    grammar: list[Rule], sources: list[tuple[str, ...]], max_units: int
) -> None:
    expected: dict[Example, list[Derivation]] = {}
    for x in sources:
        for tree in all_derivations(grammar, x, max_units, most=400):
            expected.setdefault(tree.example, [])
        for target in [("A",), ("B", "A"), ("A", "?")]:
            expected.setdefault(Example(x, target), [])
        for tree in all_derivations(grammar, x, max_units, most=400):
            if tree not in expected[tree.example]:
                expected[tree.example].append(tree)
    deriver = Deriver(Grammar(grammar), max_units)
    pairs = list(expected)
    forests = deriver.pair_forests(pairs)
    for k, pair in enumerate(pairs):
        found = unpacked(forests, k, deriver.rules)
        assert Counter(found) == Counter(expected[pair])
        assert forests.status[k] == (COVERED if found else UNCOVERED)
    assert (forests.status == COVERED).tolist() == deriver.derivable(pairs).tolist()
    check_no_vertex_is_idle(forests)


def check_no_vertex_is_idle(forests: Forests) -> None:
    """Every vertex is reached from the goal of its input, and has an application."""
    assert (np.diff(forests.applications) > 0).all()
    goals = forests.vertices[:-1][forests.status == COVERED]
    assert set(forests.children.tolist()) | set(goals.tolist()) == set(range(forests.vertices[-1]))


def typed_forests(grammar: Grammar, max_units: int, cfg: OutputCfg, sources: list[tuple[str, ...]]) -> Forests:
    """The forests that a model with this output CFG parses with."""
    contexts = int(context_starts(grammar)[-1])
    model = Model(grammar, np.zeros((contexts, 1)), np.zeros((1, len(grammar))), cfg, max_units)
    return join_forests([batch.forests for batch in model._batches(sources, DEFAULT)])


@settings(deadline=None, max_examples=150)
@given(grammars, st.lists(inputs, min_size=1, max_size=2), st.sampled_from([0, 1, 2]), output_cfgs)
def test_a_typed_forest_holds_a_derivation_once_for_each_typing_from_root(
    grammar: list[Rule], sources: list[tuple[str, ...]], max_units: int, cfg: OutputCfg
) -> None:
    forests = typed_forests(Grammar(grammar), max_units, cfg, sources)
    for k, x in enumerate(sources):
        expected = Counter({tree: typing_count(tree, cfg) for tree in all_derivations(grammar, x, max_units, most=400)})
        found = Counter(unpacked(forests, k, list(Grammar(grammar))))
        assert found == +expected
        assert forests.status[k] == (COVERED if found else UNCOVERED)
        assert all(cfg.accepts(tree.example.target) for tree in found)
    check_no_vertex_is_idle(forests)


def test_a_typing_can_hold_where_the_types_of_the_parts_differ() -> None:
    cfg = OutputCfg.parse(["ROOT => ( ##X , ##Y )", "X => a", "Y => b", "Y => ##X"])
    grammar = parse_grammar(["NT_1 NT_2 ### ( NT_1 , NT_2 )", "p ### a", "q ### b"])
    forests = typed_forests(grammar, 0, cfg, [("p", "p"), ("p", "q"), ("q", "p"), ("p",)])
    assert forests.status.tolist() == [COVERED, COVERED, UNCOVERED, UNCOVERED]


def test_inputs_with_too_large_forests_stay_so() -> None:
    deriver = Deriver(parse_grammar(["a ### A", "NT_1 NT_2 ### NT_1 NT_2"]))
    pairs = [Example(("a",) * n, ("A",) * n) for n in (3, 30, 2)]
    forests = deriver.pair_forests(pairs, Limits(items=4000))
    assert forests.status.tolist() == [COVERED, TOO_MANY, COVERED]
    assert [len(unpacked(forests, k, deriver.rules)) for k in range(3)] == [2, 0, 1]


@pytest.mark.parametrize("target", [(), ("?",), ("A", "A", "A")])
def test_outputs_that_no_derivation_gives(target: tuple[str, ...]) -> None:
    deriver = Deriver(parse_grammar(["a ### A", "NT_1 NT_2 ### NT_1 NT_2"]))
    assert deriver.pair_forests([Example(("a", "a"), target)]).status.tolist() == [UNCOVERED]
    assert deriver.pair_forests([Example((), target)]).status.tolist() == [UNCOVERED]


def test_many_spans_and_many_parts_fit() -> None:
    deriver = Deriver(parse_grammar(["a ### A", "a ### A A", "a ### B", "NT_1 NT_2 ### NT_1 NT_2", "NT_1 ### NT_1 A"]))
    x = ("a",) * 12
    pairs = [Example(x, ("A",) * n + ("B",)) for n in range(8, 30)]
    forests = deriver.pair_forests(pairs)
    assert (forests.status == COVERED).tolist() == deriver.derivable(pairs).tolist()
    check_no_vertex_is_idle(forests)
