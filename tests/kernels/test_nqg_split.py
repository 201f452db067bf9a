"""The splits of a rule are those that a plain search over all spans and holes finds."""

from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csl.grammar import Nt, Rule, Symbol, parse_rule
from csl.kernels.budget import untimed
from csl.kernels.nqg_split import splits
from csl.kernels.unify import Shape
from csl.reference import derivable, places

from ..grammars import random_rules
from .encoded import Encoded


def found(rules: list[Rule], c: Rule, repeats: bool = True, lone_target: bool = True) -> set[Rule]:
    """The candidates that the kernel finds for c, which is one of the rules."""
    encoded = Encoded(rules)
    parentheses, ids = (encoded.vocabulary.get("("), encoded.vocabulary.get(")")), encoded.ids_of([c])
    of, candidates = splits(encoded.parser(0), untimed(), ids, parentheses, Shape(2, repeats, lone_target))
    assert set(of[:, 0].tolist()) <= set(ids.tolist())
    return {encoded.store.rule(i, encoded.vocabulary) for i in encoded.store.add(candidates)}


def balanced(side: tuple[Symbol, ...]) -> bool:
    depths = [sum((s == "(") - (s == ")") for s in side[:k]) for k in range(len(side) + 1)]
    return min(depths) == depths[-1] == 0


def rule_of(source: tuple[Symbol, ...], target: tuple[Symbol, ...]) -> Rule | None:
    try:
        return Rule.canonical(source, target)
    except ValueError:
        return None


def plain(rules: list[Rule], c: Rule, repeats: bool = True, lone_target: bool = True) -> set[Rule]:
    """All candidates for c: each span that occurs once, each span of y, each choice of holes."""
    others = [rule for rule in rules if rule != c and rule.source != (Nt(1),)]

    def candidates() -> Iterator[Rule]:
        n, m = len(c.source), len(c.target)
        for i, j in combinations(range(n + 1), 2):
            span = c.source[i:j]
            if j - i == n or len(places(span, c.source)) > 1 or not balanced(span):
                continue
            if j == i + 1 and isinstance(span[0], Nt):
                continue
            for part in {c.target[a:b] for a, b in combinations(range(m + 1), 2)}:
                inner = rule_of(span, part)
                if not inner or not balanced(part):
                    continue
                everywhere = places(part, c.target)
                for k in range(1, len(everywhere) + 1):
                    for holes in combinations(everywhere, k):
                        if any(b - a < len(part) for a, b in pairwise(holes)):
                            continue
                        target: list[Symbol] = []
                        p = 0
                        while p < m:
                            target.append(Nt(99) if p in holes else c.target[p])
                            p += len(part) if p in holes else 1
                        outer = rule_of((*c.source[:i], Nt(99), *c.source[j:]), tuple(target))
                        if outer and derivable(others, outer, 0):
                            yield inner
                        if outer and list(holes) == everywhere and derivable(others, inner, 0):
                            yield outer

    return {
        rule
        for rule in candidates()
        if rule.arity <= 2
        and (lone_target or rule.target != (Nt(1),))
        and (repeats or len([s for s in rule.target if isinstance(s, Nt)]) == rule.arity)
    }


def r(*texts: str) -> list[Rule]:
    return [parse_rule(text) for text in texts]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(random_rules(longest=3), max_size=4),
    random_rules(longest=5, targets="AB()"),
    st.booleans(),
    st.booleans(),
)
@example(r("NT_1 b ### NT_1 NT_1", "a ### A"), parse_rule("a b ### A A"), True, True)
@example(r("NT_1 b NT_2 ### NT_2 NT_1", "a ### A"), parse_rule("a b a a ### A A A"), False, True)
def test_splits_are_those_of_a_plain_search(rules: list[Rule], c: Rule, repeats: bool, lone_target: bool) -> None:
    rules = [rule for rule in rules if rule.source != (Nt(1),)]
    assert found([c, *rules], c, repeats, lone_target) == plain([c, *rules], c, repeats, lone_target)


def test_a_candidate_may_go_with_a_rule_that_is_only_derivable() -> None:
    rules = r(
        "big city ### large ( city )",
        "big NT_1 ### large ( NT_1 )",
        "city ### city",
        "the big city ### x ( large ( city ) )",
    )
    assert parse_rule("the NT_1 ### x ( NT_1 )") in found([*rules[1:]], rules[-1])


@pytest.mark.parametrize("brackets", [("(", ")"), ("[", "]")])
def test_only_parentheses_must_be_balanced(brackets: tuple[str, str]) -> None:
    left, right = brackets
    rules = r(f"b ### {right} B", f"a b ### A {left} {right} B")
    assert (parse_rule(f"a NT_1 ### A {left} NT_1") in found(rules, rules[1])) is (left == "[")
