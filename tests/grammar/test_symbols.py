import doctest
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.examples import Example
from csl.grammar import Grammar, Nt, Rule, compose, parse_rule, symbols

TOKENS = st.sampled_from(["a", "b", "NT_1", "###", "\\"])


@st.composite
def rules(draw: st.DrawFn, min_arity: int = 0) -> Rule:
    """A rule whose target may leave its nonterminals out of order and repeat them."""
    arity = draw(st.integers(min_arity, 3))
    holes = [Nt(k) for k in range(1, arity + 1)]
    tokens = st.lists(TOKENS, min_size=0 if holes else 1, max_size=3)
    source = draw(st.permutations([*draw(tokens), *holes]))
    again = draw(st.lists(st.sampled_from(holes), max_size=2)) if holes else []
    target = draw(st.permutations([*draw(tokens), *holes, *again]))
    return Rule.canonical(source, target)


@given(rules(), st.permutations([3, 5, 8]))
def test_canonical_form_is_idempotent_and_does_not_depend_on_the_indices(rule: Rule, indices: list[int]) -> None:
    assert Rule.canonical(rule.source, rule.target) == rule

    def renamed(side: tuple[symbols.Symbol, ...]) -> list[symbols.Symbol]:
        return [Nt(indices[s.index - 1]) if isinstance(s, Nt) else s for s in side]

    assert Rule.canonical(renamed(rule.source), renamed(rule.target)) == rule


@given(rules(min_arity=1), rules(min_arity=1), rules(), st.data())
def test_composition_is_associative(a: Rule, b: Rule, c: Rule, data: st.DataObject) -> None:
    i, j = data.draw(st.integers(1, a.arity)), data.draw(st.integers(1, b.arity))
    assert compose(compose(a, i, b), i + j - 1, c) == compose(a, i, compose(b, j, c))


@given(rules(min_arity=2), rules(), rules(), st.data())
def test_the_order_of_independent_compositions_does_not_matter(a: Rule, b: Rule, c: Rule, data: st.DataObject) -> None:
    i = data.draw(st.integers(1, a.arity - 1))
    k = data.draw(st.integers(i + 1, a.arity))
    assert compose(compose(a, k, c), i, b) == compose(compose(a, i, b), k + b.arity - 1, c)


@given(rules(min_arity=1), rules(), st.data())
def test_composition_adds_up_arities_and_symbols(a: Rule, b: Rule, data: st.DataObject) -> None:
    i = data.draw(st.integers(1, a.arity))
    composed = compose(a, i, b)
    assert composed.arity == a.arity - 1 + b.arity
    assert len(composed.source) == len(a.source) - 1 + len(b.source)
    assert len(composed.target) == len(a.target) + a.target.count(Nt(i)) * (len(b.target) - 1)


@pytest.mark.parametrize(
    ("a", "i", "b", "composed"),
    [
        ("NT_1 and NT_2 ### NT_1 NT_2", 2, "jump ### JUMP", "NT_1 and jump ### NT_1 JUMP"),
        (
            "NT_1 after NT_2 ### NT_2 NT_1",
            1,
            "NT_1 or NT_2 ### NT_1 NT_2",
            "NT_1 or NT_2 after NT_3 ### NT_3 NT_1 NT_2",
        ),
        ("NT_1 twice ### NT_1 NT_1", 1, "turn NT_1 ### NT_1 TURN", "turn NT_1 twice ### NT_1 TURN NT_1 TURN"),
    ],
)
def test_composition(a: str, i: int, b: str, composed: str) -> None:
    assert str(compose(parse_rule(a), i, parse_rule(b))) == composed


@pytest.mark.parametrize("i", [0, 3, -1])
def test_composition_at_a_nonterminal_that_is_not_there_is_refused(i: int) -> None:
    rule = parse_rule("NT_1 and NT_2 ### NT_1 NT_2")
    with pytest.raises(ValueError, match=f"no nonterminal {i}"):
        compose(rule, i, rule)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ((), ("a",), "at least one symbol"),
        (("a",), (), "at least one symbol"),
        (("",), ("a",), "cannot be empty"),
        ((Nt(2), Nt(1)), (Nt(1), Nt(2)), "in order"),
        ((Nt(1), Nt(1)), (Nt(1),), "in order"),
        ((Nt(1), "a"), ("a",), "same nonterminals"),
        (("a",), (Nt(1),), "same nonterminals"),
    ],
)
def test_rules_are_well_formed(
    source: tuple[symbols.Symbol, ...], target: tuple[symbols.Symbol, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Rule(source, target)


def test_a_token_that_reads_like_a_nonterminal_is_a_terminal() -> None:
    rule = Rule(("NT_1", Nt(1)), (Nt(1), "NT_1"))
    assert rule.arity == 1
    assert Rule.from_example(Example.of("NT_1", "NT_2")).arity == 0


def test_a_grammar_is_an_ordered_set_of_rules() -> None:
    jump, walk = parse_rule("jump ### JUMP"), parse_rule("NT_1 twice ### NT_1 NT_1")
    grammar = Grammar([walk, jump, walk])
    assert list(grammar) == [walk, jump]
    assert parse_rule("NT_3 twice ### NT_3 NT_3") in grammar
    assert parse_rule("run ### RUN") not in grammar
    assert grammar == Grammar([jump, walk])
    assert grammar.max_arity == 1
    assert Grammar().max_arity == 0


def test_pickled_rules_are_found_again_by_a_process_with_other_hashes() -> None:
    rule = parse_rule("NT_1 twice ### NT_1 NT_1")
    hash(rule)
    code = (
        "import pickle, sys; from csl.grammar import parse_rule; grammar = pickle.load(sys.stdin.buffer);"
        "assert parse_rule('NT_1 twice ### NT_1 NT_1') in grammar"
    )
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code], input=pickle.dumps(Grammar([rule])), env=environment, check=True)


def test_the_documentation_is_true() -> None:
    assert doctest.testmod(symbols).failed == 0
