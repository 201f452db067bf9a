"""Why inputs get no output."""

from csl.examples import Example
from csl.grammar import parse_grammar
from csl.report.derivations import Derivations, Reading
from csl.report.schema import UncoveredInputs
from csl.report.uncovered import INPUTS, describe_uncovered

GRAMMAR = parse_grammar(["walk ### WALK", "jump ### JUMP", "NT_1 and NT_2 ### NT_1 NT_2"])
BY = Derivations(GRAMMAR, None, 1)


def describe(examples: list[Example], readings: list[Reading | None] | None = None) -> UncoveredInputs:
    sources = [example.source for example in examples]
    return describe_uncovered("test", sources, examples, readings or BY.read(sources), BY)


def test_reasons_parts_and_unknown_tokens() -> None:
    found = describe(
        [
            Example.of("walk and jump", "WALK JUMP"),
            Example.of("walk and jump", "JUMP"),
            Example.of("hop and hop and walk and jump", "HOP HOP WALK JUMP"),
            Example.of("walk jump and walk", "WALK JUMP WALK"),
        ]
    )
    assert (found["inputs_total"], found["covered"], found["derivable"], found["total"]) == (4, 2, 1, 2)
    assert found["reasons"] == {"unknown tokens": 1, "no rule": 1, "no valid output": 0}
    assert found["unknown_tokens"] == [("hop", 1)]
    unknown, no_rule = found["inputs"]
    assert (unknown["reason"], unknown["unknown"], unknown["spans"]) == ("unknown tokens", ["hop"], [(4, 7)])
    assert (no_rule["reason"], no_rule["unknown"], no_rule["spans"]) == ("no rule", [], [(0, 1), (1, 4)])
    assert no_rule["output"] == "WALK JUMP WALK"


def test_a_covered_input_without_reading_has_no_valid_output() -> None:
    found = describe([Example.of("walk", "WALK")], [None])
    assert found["reasons"]["no valid output"] == found["total"] == 1
    assert found["inputs"][0]["spans"] == []


def test_many_inputs_are_all_counted_and_some_shown() -> None:
    found = describe([Example.of(f"walk x{k}", "WALK") for k in range(1000)])
    assert found["total"] == found["reasons"]["unknown tokens"] == 1000
    shown = [row["input"] for row in found["inputs"]]
    assert len(shown) == INPUTS
    assert (shown[0], shown[-1]) == ("walk x0", "walk x999")


def test_unlabelled_inputs_have_no_output() -> None:
    found = describe_uncovered("unlabelled", [("hop",)], [], [None], BY)
    assert (found["of"], found["derivable"], found["inputs"][0]["output"]) == ("unlabelled", None, None)
