import io

from rich.console import Console

from csl.grammar import parse_grammar
from csl.parsing.derivation import Derivation
from csl.parsing.drawing import draw_derivation, draw_spans


def test_a_derivation_is_a_tree_of_rules_in_plain_text() -> None:
    rules = parse_grammar(["NT_1 and NT_2 ### NT_1 NT_2", "NT_1 twice ### NT_1 NT_1", "[b] ### B", "\\NT_1 ### C"])
    console = Console(file=io.StringIO(), width=80)
    console.print(draw_derivation(Derivation.from_rules(rules)))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "NT_1 and NT_2 ### NT_1 NT_2",
        "├── NT_1 twice ### NT_1 NT_1",
        "│   └── [b] ### B",
        "└── \\NT_1 ### C",
    ]


def test_types_stand_behind_the_rules_in_the_order_of_the_tree() -> None:
    rules = parse_grammar(["NT_1 and NT_2 ### NT_1 NT_2", "NT_1 twice ### NT_1 NT_1", "b ### B", "c ### C"])
    console = Console(file=io.StringIO(), width=80)
    console.print(draw_derivation(Derivation.from_rules(rules), ["ROOT", "X", "Y", "Z"]))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [line.rsplit(" : ")[-1] for line in lines] == ["ROOT", "X", "Y", "Z"]
    assert lines[3].startswith("└── c ### C")


def test_spans_stand_in_brackets() -> None:
    lines = draw_spans(["a", "b", "c", "d"], [(0, 1), (2, 4)], ["b"])
    assert [line.plain for line in lines] == ["[a] b [c d]"]


def test_spans_that_overlap_stand_on_lines_of_their_own() -> None:
    lines = draw_spans(["a", "b", "c", "d"], [(0, 2), (1, 3), (2, 4)], [])
    assert [line.plain for line in lines] == ["[a b] [c d]", "a [b c] d"]


def test_an_input_without_covered_spans_stands_as_it_is() -> None:
    assert [line.plain for line in draw_spans(["a", "b"], [], ["a", "b"])] == ["a b"]
