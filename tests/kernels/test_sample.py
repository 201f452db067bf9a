"""The kernels of sampling against plain versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.sample import context_counts, cumulated, draw_local, expand, keep_new, missing, pair_keys
from csl.model.model import context_starts
from csl.parsing.derivation import Derivation
from csl.parsing.deriver import Deriver
from csl.reference import levels
from csl.sampling.tables import build_local

from ..grammars import grammars

UNIFORM = np.zeros((0, 0))


def flat(lists: list[list[int]], dtype: type = np.int32) -> tuple[np.ndarray, np.ndarray]:
    return np.array([x for part in lists for x in part], dtype), np.cumsum([0, *map(len, lists)])


def drawn(grammar: Grammar, depth: int, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[Derivation]]:
    rules, offsets = draw_local(build_local(grammar, None), depth, 1, seed, 0, count, UNIFORM, 10_000)
    parts = (rules[offsets[i] : offsets[i + 1]] for i in range(count))
    known = list(grammar)
    return rules, offsets, [Derivation.from_rules(known[r] for r in part) for part in parts]


@settings(deadline=None)
@given(rules=grammars, seed=st.integers(0, 1000), most=st.sampled_from([3, 10, 200]))
def test_expanding_gives_the_pairs_of_the_derivations(rules: list[Rule], seed: int, most: int) -> None:
    grammar = Grammar(rules)
    numbers, offsets, trees = drawn(grammar, 4, 20, seed)
    deriver = Deriver(grammar)
    x, xo, y, yo = expand(deriver.arrays, numbers, offsets, most)
    for i, tree in enumerate(trees):
        sides = [tuple(map(deriver.vocabulary.token, side[o[i] : o[i + 1]].tolist())) for side, o in ((x, xo), (y, yo))]
        example = tree.example
        wanted = [side if len(side) <= most else () for side in (example.source, example.target)]
        assert sides == wanted


def test_a_draw_depends_on_seed_and_number_alone() -> None:
    local = build_local(parse_grammar(["a ### A", "NT_1 and NT_2 ### NT_1 NT_2", "b ### B"]), None)
    rules, offsets = draw_local(local, 6, 2, 5, 0, 100, UNIFORM, 10_000)
    for start, count in ((0, 10), (10, 1), (11, 89)):
        some, bounds = draw_local(local, 6, 2, 5, start, count, UNIFORM, 10_000)
        assert some.tolist() == rules[offsets[start] : offsets[start + count]].tolist()
        assert bounds.tolist() == (offsets[start : start + count + 1] - offsets[start]).tolist()
    assert draw_local(local, 6, 2, 6, 0, 100, UNIFORM, 10_000)[0].tolist() != rules.tolist()


def test_a_rule_with_more_typings_than_there_are_rules() -> None:
    grammar = parse_grammar(["a NT_1 ### A NT_1", "b ### B"])
    cfg = OutputCfg.parse(["ROOT => A ##X", "ROOT => A ##Y", "ROOT => A ##Z", "X => B", "Y => C", "Z => D"])
    rules, offsets = draw_local.in_python(build_local(grammar, cfg), 20, 1, 0, 0, 50, UNIFORM, 10_000)
    assert rules.tolist() == [0, 1] * 50
    assert offsets.tolist() == list(range(0, 101, 2))


def test_coverage_evens_out_uses_and_counts_them() -> None:
    grammar = parse_grammar(["a ### A", "b ### B", "c ### C", "f NT_1 ### F NT_1"])
    used = np.zeros((2, 4))
    used[1, 0] = 1000.0  # a was seen below f a thousand times
    rules, offsets = draw_local(build_local(grammar, None), 2, 2, 0, 0, 300, used, 10_000)
    below = rules[offsets[:-1] + 1]
    assert (below == 0).sum() < 5
    assert abs(int((below == 1).sum()) - int((below == 2).sum())) < 30  # chance alone would give 17, one in three times
    assert used[0].tolist() == [0, 0, 0, 300]
    assert used[1].sum() == 1300


@settings(deadline=None)  # compiling takes longer
@given(st.lists(st.lists(st.floats(0, 1e3), max_size=5), max_size=6))
def test_cumulated_restarts_in_every_group(groups: list[list[float]]) -> None:
    weights, offsets = flat(groups, np.float64)  # type: ignore[arg-type]
    assert cumulated(weights, offsets).tolist() == [x for group in groups for x in np.cumsum(group).tolist()]


def test_small_masses_after_large_ones_keep_their_precision() -> None:
    assert cumulated(np.array([1.0, 1e-30, 2e-30]), np.array([0, 1, 3])) == pytest.approx(
        [1, 1e-30, 3e-30], rel=1e-12, abs=0
    )


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 300), max_size=40), max_size=6))
def test_keys_are_new_once(batches: list[list[int]]) -> None:
    slots, count = np.zeros(8, np.uint64), 0
    seen: set[int] = set()
    for batch in batches:
        keys = np.array(batch, np.uint64)
        absent = missing(keys, slots).tolist()
        assert absent == [key not in seen for key in batch]
        new, slots, count = keep_new(keys, slots, count)
        for key, fresh in zip(batch, new.tolist(), strict=True):
            assert fresh == (key not in seen)
            seen.add(key)
        assert count == len(seen) <= len(slots)


def test_keys_tell_pairs_apart() -> None:
    sides = [[], [1], [2], [1, 2], [2, 1], [1, 1], [1, 2, 1]]
    pairs = [(x, y) for x in sides for y in sides]
    keys = pair_keys(*flat([x for x, _ in pairs]), *flat([y for _, y in pairs]))
    assert len(set(keys.tolist())) == len(pairs)
    assert keys.min() >= 1


@settings(deadline=None)
@given(rules=grammars, seed=st.integers(0, 100))
def test_uses_in_contexts_are_counted(rules: list[Rule], seed: int) -> None:
    grammar = Grammar(rules)
    numbers, offsets, trees = drawn(grammar, 4, 10, seed)
    starts, number = context_starts(grammar), {rule: r for r, rule in enumerate(grammar)}
    wanted = np.zeros((starts[-1], len(grammar)))
    agenda = [(0, tree) for tree in trees]
    while agenda:
        context, tree = agenda.pop()
        wanted[context, number[tree.rule]] += 1
        agenda += [(int(starts[number[tree.rule]]) + i, child) for i, child in enumerate(tree.children)]
    arity = np.array([rule.arity for rule in grammar])
    assert (context_counts(numbers, offsets, starts, arity) == wanted).all()


@pytest.mark.parametrize("depth", [1, 2, 3, 7])
def test_no_draw_is_deeper_than_allowed(depth: int) -> None:
    grammar = parse_grammar(["a ### A", "NT_1 and NT_2 ### NT_1 NT_2 NT_1", "f NT_1 ### F NT_1"])
    _, _, trees = drawn(grammar, depth, 500)
    assert max(map(levels, trees)) == depth
