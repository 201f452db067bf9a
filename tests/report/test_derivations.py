"""Derivations for a report: rule pairs of all derivations, and derivations that avoid some of them."""

import numpy as np

from csl.datasets import scan
from csl.engine.threads import Threads
from csl.examples import Example
from csl.grammar import Grammar, parse_grammar
from csl.parsing.derivation import Derivation
from csl.report.derivations import Derivations

AMBIGUOUS = parse_grammar(
    ["a ### A", "b ### B", "a b ### A B", "NT_1 NT_2 ### NT_1 NT_2", "NT_1 b ### NT_1 B", "NT_1 twice ### NT_1 NT_1"]
)
EXAMPLES = [Example.of("a b a b", "A B A B"), Example.of("a b twice", "A B A B"), Example.of("b b a", "B B A")]


def derivations(grammar: Grammar = AMBIGUOUS) -> Derivations:
    return Derivations(grammar, None, max_units=1)


def pairs_of_tree(tree: Derivation) -> set[tuple[tuple[str, int] | None, str]]:
    """Collect (rule and nonterminal, or None at the top; rule) from the tree itself."""
    found: set[tuple[tuple[str, int] | None, str]] = {(None, str(tree.rule))}
    agenda = [tree]
    while agenda:
        parent = agenda.pop()
        found |= {((str(parent.rule), i), str(child.rule)) for i, child in enumerate(parent.children, start=1)}
        agenda += parent.children
    return found


def named(by: Derivations, pair: tuple[int, int]) -> tuple[tuple[str, int] | None, str]:
    place = by.context(pair[0])
    return place and (str(by.rules[place[0]]), place[1]), str(by.rules[pair[1]])


def test_rule_pairs_are_those_of_all_derivations() -> None:
    by = derivations()
    for example in EXAMPLES:
        analyses = by.deriver.analyses(example.source, 1000)
        trees = [tree for tree in analyses if tree.example == example]
        assert len(trees) > 1
        expected = set().union(*(pairs_of_tree(tree) for tree in trees))
        assert {named(by, (c, r)) for c, r in np.argwhere(by.rule_pairs([example])).tolist()} == expected


def test_the_pairs_of_a_derivation_are_those_of_its_tree() -> None:
    by = derivations()
    for example, rules in zip(EXAMPLES, by.best(EXAMPLES), strict=True):
        tree = Derivation.from_rules(by.rules[r] for r in rules)
        assert tree.example == example
        assert {named(by, pair) for pair in by.pairs_of(rules)} == pairs_of_tree(tree)


def test_without_a_model_the_best_derivation_has_fewest_rules() -> None:
    by = derivations()
    for example, rules in zip(EXAMPLES, by.best(EXAMPLES), strict=True):
        analyses = by.deriver.analyses(example.source, 1000)
        assert len(rules) == min(len(list(tree.rules())) for tree in analyses if tree.example == example)


def test_pairs_to_avoid_are_avoided_at_the_price_of_more_rules() -> None:
    by = derivations()
    example = Example.of("a b", "A B")
    short = by.best([example])[0]
    avoid = np.zeros_like(by.rule_pairs([example]))
    for pair in by.pairs_of(short):
        avoid[pair] = True
    other = by.best([example], avoid)[0]
    assert [str(by.rules[r]) for r in short] == ["a b ### A B"]
    assert len(other) > 1
    assert not any(avoid[pair] for pair in by.pairs_of(other))


def test_what_is_not_derived_is_empty() -> None:
    by = derivations()
    assert by.best([Example.of("a", "B"), Example.of("new", "A"), Example(("a",), ())]) == [(), (), ()]
    assert by.read([("a",), ("new",)]) == [((0,), ("A",)), None]


def test_any_number_of_threads_gives_the_same() -> None:
    examples = scan.prepare(None, "jump").train[:300]
    grammar = parse_grammar(["walk ### I_WALK", "run ### I_RUN", "look ### I_LOOK", "NT_1 twice ### NT_1 NT_1",
                             "NT_1 thrice ### NT_1 NT_1 NT_1", "NT_1 and NT_2 ### NT_1 NT_2"])  # fmt: skip
    one, three = (Derivations(grammar, None, 1, Threads(threads)) for threads in (1, 3))
    assert one.best(examples) == three.best(examples)
    assert any(one.best(examples))
