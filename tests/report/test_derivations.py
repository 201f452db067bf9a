"""Derivations for a report: rule pairs of all derivations, derivations that avoid some of them, and those drawn."""

import numpy as np

from csl.engine import Threads
from csl.examples import Example
from csl.grammar import parse_grammar
from csl.parsing.derivation import Derivation
from csl.report.derivations import DRAWN, LARGEST, Derivations, TreeRow, by_size, pair_trees, reading_trees

AMBIGUOUS = parse_grammar(
    ["a ### A", "b ### B", "a b ### A B", "NT_1 NT_2 ### NT_1 NT_2", "NT_1 b ### NT_1 B", "NT_1 twice ### NT_1 NT_1"]
)
AMBIGUOUS_BY = Derivations(AMBIGUOUS, None, max_units=1)
EXAMPLES = [Example.of("a b a b", "A B A B"), Example.of("a b twice", "A B A B"), Example.of("b b a", "B B A")]


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
    by = AMBIGUOUS_BY
    for example in EXAMPLES:
        analyses = by.deriver.analyses(example.source, 1000)
        trees = [tree for tree in analyses if tree.example == example]
        assert len(trees) > 1
        expected = set().union(*(pairs_of_tree(tree) for tree in trees))
        assert {named(by, (c, r)) for c, r in np.argwhere(by.rule_pairs([example])).tolist()} == expected


def test_the_pairs_of_a_derivation_are_those_of_its_tree() -> None:
    by = AMBIGUOUS_BY
    for example, rules in zip(EXAMPLES, by.best(EXAMPLES), strict=True):
        tree = Derivation.from_rules(by.rules[r] for r in rules)
        assert tree.example == example
        assert {named(by, pair) for pair in by.pairs_of(rules)} == pairs_of_tree(tree)


def test_without_a_model_the_best_derivation_has_fewest_rules() -> None:
    by = AMBIGUOUS_BY
    for example, rules in zip(EXAMPLES, by.best(EXAMPLES), strict=True):
        analyses = by.deriver.analyses(example.source, 1000)
        assert len(rules) == min(len(list(tree.rules())) for tree in analyses if tree.example == example)


def test_pairs_to_avoid_are_avoided_at_the_price_of_more_rules() -> None:
    by = AMBIGUOUS_BY
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
    by = AMBIGUOUS_BY
    assert by.best([Example.of("a", "B"), Example.of("new", "A"), Example(("a",), ())]) == [(), (), ()]
    assert by.read([("a",), ("new",)]) == [((0,), ("A",)), None]


def test_any_number_of_threads_gives_the_same() -> None:
    texts = [" ".join("ab"[k >> i & 1] for i in range(9)) for k in range(300)]
    examples = [Example.of(text, text.upper()) for text in texts]
    one, three = (Derivations(AMBIGUOUS, None, 1, Threads(threads)) for threads in (1, 3))
    assert one.best(examples) == three.best(examples)
    assert all(one.best(examples))


# derivations to draw

BY = Derivations(parse_grammar(["a ### A", "b ### B", "NT_1 NT_2 ### NT_1 NT_2", "NT_1 NT_2 ### NT_2 NT_1 ;"]), None, 1)


def test_they_are_chosen_evenly_by_size_and_huge_ones_left_out() -> None:
    sizes = [*range(100, 0, -1), 0, LARGEST + 1]
    assert by_size([(0,) * size for size in sizes], 3) == [99, 50, 0]


def test_rules_are_named_by_their_lines() -> None:
    rows = pair_trees("train", [Example.of("a b", "A B"), Example.of("x", "X")], [(2, 0, 1), ()])
    assert rows == [TreeRow("train", "a b", "A B", rules=[3, 1, 2])]


def test_wrong_readings_come_first_with_the_right_derivation() -> None:
    examples = [Example.of("a b", "A B"), Example.of("a b", "B A ;"), Example.of("a b", "C"), Example.of("x", "X")]
    readings = BY.read([example.source for example in examples])
    rows = reading_trees(examples, readings, [True, False, False, False], BY)
    assert [(row.output, row.right, row.expected_rules) for row in rows] == [
        ("B A ;", False, [4, 1, 2]), ("C", False, None), ("A B", True, None)
    ]  # fmt: skip
    assert (rows[0].predicted, rows[0].rules) == ("A B", [3, 1, 2])


def test_some_of_many_are_drawn() -> None:
    many = [Example.of(" ".join("ab" * k), " ".join("AB" * k)) for k in range(1, 30)]
    rows = pair_trees("train", many, BY.best(many))
    assert len(rows) == DRAWN
    assert (rows[0].input, rows[-1].input) == (many[0].source_text, many[-1].source_text)
