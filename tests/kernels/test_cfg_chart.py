"""The chart kernels agree with a plain recogniser that adds facts until nothing changes."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production
from csl.grammar.symbols import Nt, Symbol
from csl.grammar.vocabulary import Vocabulary
from csl.kernels.cfg_chart import accepted, typable, typings

Facts = set[tuple[str | Category, int, int]]


def derivers(cfg: OutputCfg, string: Sequence[str | Category]) -> set[Category]:
    """The categories that derive a string of tokens and categories."""
    n = len(string)
    facts: Facts = {(symbol, i, i + 1) for i, symbol in enumerate(string)}

    def derives(rhs: Sequence[str | Category], i: int, j: int) -> bool:
        if not rhs:
            return i == j
        return any((rhs[0], i, k) in facts and derives(rhs[1:], k, j) for k in range(i + 1, j + 1))

    while True:
        new = {
            (p.lhs, i, j)
            for p in cfg.productions
            for i in range(n)
            for j in range(i + 1, n + 1)
            if derives(p.rhs, i, j)
        } - facts
        if not new:
            return {s for s, i, j in facts if isinstance(s, Category) and (i, j) == (0, n)}
        facts |= new


def plain_typings(cfg: OutputCfg, target: Sequence[Symbol]) -> set[tuple[str, ...]]:
    """Every typing, found by trying every assignment of categories to indices."""
    arity = len({s for s in target if isinstance(s, Nt)})
    found = set()
    for children in product(cfg.categories, repeat=arity):
        string = [Category(children[s.index - 1]) if isinstance(s, Nt) else s for s in target]
        found |= {(category.name, *children) for category in derivers(cfg, string)}
    return found


CATEGORIES = [ROOT, Category("A"), Category("B")]
cfgs = st.lists(
    st.builds(
        Production,
        st.sampled_from(CATEGORIES),
        st.lists(st.sampled_from([*CATEGORIES, "a", "b"]), min_size=1, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=8,
).map(OutputCfg)


def numbered(target: list[Symbol]) -> tuple[Symbol, ...]:
    names: dict[Symbol, Nt] = {}
    return tuple(names.setdefault(s, Nt(len(names) + 1)) if isinstance(s, Nt) else s for s in target)


targets = st.lists(st.sampled_from([Nt(1), Nt(2), "a", "b", "a", "b", "unknown"]), max_size=5).map(numbered)


@settings(deadline=None, max_examples=200)
@given(cfgs, st.lists(targets, min_size=1, max_size=3))
def test_kernels_agree_with_the_plain_recogniser(cfg: OutputCfg, sides: list[tuple[Symbol, ...]]) -> None:
    vocabulary = Vocabulary()
    compiled = cfg.compiled(vocabulary)
    values, offsets = vocabulary.encode(sides)
    expected = [plain_typings(cfg, side) for side in sides]
    assert typable(compiled, values, offsets).tolist() == [bool(found) for found in expected]
    assert accepted(compiled, values, offsets).tolist() == [any(x == "ROOT" for x, *_ in found) for found in expected]
    for i, side in enumerate(sides):
        if side:
            rows = typings(compiled, values[offsets[i] : offsets[i + 1]]).tolist()
            assert len(rows) == len(expected[i])
            assert {tuple(cfg.categories[c] for c in row) for row in rows} == expected[i]


def check(lines: list[str], *sides: str) -> list[bool]:
    """Whether each target is typable; words X, Y and Z are wildcards."""
    vocabulary = Vocabulary()
    compiled = OutputCfg.parse(lines).compiled(vocabulary)
    wildcards = {"X": Nt(1), "Y": Nt(2), "Z": Nt(3)}
    encoded = vocabulary.encode([[wildcards.get(word, word) for word in side.split()] for side in sides])
    return typable(compiled, *encoded).tolist()  # type: ignore[no-any-return]


def test_a_repeated_index_must_have_one_type() -> None:
    lines = ["ROOT => ##A ##B", "A => a", "B => b"]
    assert check(lines, "X Y", "X X", "X b", "a X", "b X") == [True, False, True, True, False]


def test_a_repeated_index_can_take_a_type_below_a_unit_production() -> None:
    assert check(["ROOT => ##A ##B", "A => ##C", "B => ##C", "C => c"], "X X") == [True]


def test_indices_that_are_repeated_side_by_side_are_told_apart() -> None:
    lines = ["ROOT => ##A ##B ##B ##A", "A => a", "B => b"]
    assert check(lines, "X Y Y X", "X Y X Y", "X Y Z X") == [True, False, True]


def test_more_categories_than_bits_in_a_word() -> None:
    n = 300
    lines = ["ROOT => ##C0", *(f"C{i} => t{i} ##C{i + 1}" for i in range(n)), f"C{n} => end"]
    whole = " ".join(f"t{i}" for i in range(n)) + " end"
    assert check(lines, whole, whole.replace("t7 ", ""), "t299 X", "t299 X X") == [True, False, True, False]


@pytest.mark.parametrize("depth", [1, 150])
def test_long_targets(depth: int) -> None:
    lines = ["ROOT => f ( ##ROOT )", "ROOT => ##ROOT , ##ROOT", "ROOT => x"]
    nested, flat = "f ( " * depth + "X" + " )" * depth, "x" + " , x" * depth
    assert check(lines, nested, nested + " )", flat, flat + " ,") == [True, False, True, False]


def test_an_empty_batch_and_an_empty_target() -> None:
    assert check(["ROOT => x"]) == []
    assert check(["ROOT => x"], "", "x", "") == [False, True, False]


def test_ids_that_the_cfg_does_not_have_match_nothing() -> None:
    compiled = OutputCfg.parse(["ROOT => a"]).compiled(Vocabulary())
    values = np.array([0, 2, 10**9, 1], np.int32)
    assert typable(compiled, values, np.arange(5)).tolist() == [False, False, False, True]


def test_a_lone_wildcard_has_each_typing_once_even_in_a_unit_cycle() -> None:
    a, b = Category("A"), Category("B")
    cfg = OutputCfg([Production(ROOT, (a,)), Production(a, (b,)), Production(b, (a,)), Production(a, ("a",))])
    rows = typings(cfg.compiled(Vocabulary()), np.array([-1], np.int32)).tolist()
    number = {name: i for i, name in enumerate(cfg.categories)}
    expected = {("ROOT", "ROOT")} | {(x, y) for x in ("ROOT", "A", "B") for y in ("A", "B")}
    assert sorted(rows) == sorted([number[x], number[y]] for x, y in expected)


def test_ambiguity_does_not_multiply_the_work() -> None:
    # Every span is derived in a number of ways that grows exponentially with its length.
    lines = ["ROOT => ##ROOT ##ROOT ##ROOT ##ROOT", "ROOT => ##ROOT ##ROOT", "ROOT => x"]
    assert check(lines, "x " * 120, "x " * 119 + "y", "x " * 60 + "X" + " x" * 60) == [True, False, True]
