"""Which derivations are drawn."""

from csl.examples import Example
from csl.grammar import parse_grammar
from csl.report.derivations import Derivations
from csl.report.trees import EACH, LARGEST, by_size, pair_trees, reading_trees

BY = Derivations(parse_grammar(["a ### A", "b ### B", "NT_1 NT_2 ### NT_1 NT_2", "NT_1 NT_2 ### NT_2 NT_1 ;"]), None, 1)


def test_they_are_chosen_evenly_by_size_and_huge_ones_left_out() -> None:
    sizes = [*range(100, 0, -1), 0, LARGEST + 1]
    assert by_size([(0,) * size for size in sizes], 3) == [99, 50, 0]


def test_a_pair_is_drawn_as_a_tree() -> None:
    row, *others = pair_trees("train", [Example.of("a b", "A B"), Example.of("x", "X")], [(2, 0, 1), ()], BY)
    leaves = [{"rule": 1, "children": []}, {"rule": 2, "children": []}]
    assert row["tree"] == {"rule": 3, "children": leaves}
    assert not others
    assert (row["origin"], row["input"], row["output"], row["right"]) == ("train", "a b", "A B", None)


def test_wrong_readings_come_first_with_the_right_derivation() -> None:
    examples = [Example.of("a b", "A B"), Example.of("a b", "B A ;"), Example.of("a b", "C"), Example.of("x", "X")]
    readings = BY.read([example.source for example in examples])
    rows = reading_trees(examples, readings, [True, False, False, False], BY)
    assert [(row["output"], row["right"], row["right_tree"] is None) for row in rows] == [
        ("B A ;", False, False), ("C", False, True), ("A B", True, True)
    ]  # fmt: skip
    assert rows[0]["right_tree"]
    assert (rows[0]["predicted"], rows[0]["right_tree"]["rule"]) == ("A B", 4)


def test_some_of_many_are_drawn() -> None:
    many = [Example.of(" ".join("ab" * k), " ".join("AB" * k)) for k in range(1, 30)]
    rows = pair_trees("train", many, BY.best(many), BY)
    assert len(rows) == EACH
    assert (rows[0]["input"], rows[-1]["input"]) == (many[0].source_text, many[-1].source_text)
