"""Compositional coverage on SCAN, whose splits say what is new, and on small cases."""

from csl.datasets import scan
from csl.examples import Example
from csl.grammar import parse_grammar
from csl.report.composition import Composition
from csl.report.derivations import Derivations

VERBS = [f"{verb} ### I_{verb.upper()}" for verb in ("jump", "look", "run", "walk")]
TURNS = [
    rule
    for side in ("left", "right")
    for turn in [f"I_TURN_{side.upper()}"]
    for rule in (
        f"turn {side} ### {turn}",
        f"turn opposite {side} ### {turn} {turn}",
        f"turn around {side} ### {turn} {turn} {turn} {turn}",
        f"NT_1 {side} ### {turn} NT_1",
        f"NT_1 opposite {side} ### {turn} {turn} NT_1",
        f"NT_1 around {side} ### {turn} NT_1 {turn} NT_1 {turn} NT_1 {turn} NT_1",
    )
]
TIMES = ["NT_1 twice ### NT_1 NT_1", "NT_1 thrice ### NT_1 NT_1 NT_1"]
SCAN = parse_grammar([*VERBS, *TURNS, *TIMES, "NT_1 and NT_2 ### NT_1 NT_2", "NT_1 after NT_2 ### NT_2 NT_1"])
JUMP = 1  # its line


def test_in_scan_jump_exactly_the_places_of_jump_are_new() -> None:
    task = scan.prepare(None, "jump")
    by = Derivations(SCAN, None, 0)
    found = Composition(task.train, by).describe("test", task.test, [True] * len(task.test))
    totals = found["totals"]
    assert (totals["inputs"], totals["derived"], totals["dependent"]) == (7706, 7706, 7706)
    assert (totals["right_known"], totals["right_dependent"]) == (0, 7706)
    assert {pair["child"] for pair in found["pairs"]} == {JUMP}
    # jump stands alone in training, so it is new below each of the 8 rules with one nonterminal and in both places of 2
    assert totals["pairs"] == len(found["pairs"]) == 12
    assert sum(choice["adds"] for choice in found["suggest"]) == 7706
    assert found["suggest"][0]["input"] == "jump left after jump right"
    for number, row in enumerate(found["inputs"]):
        for place in row["pairs"]:
            pair = found["pairs"][place]
            assert number in pair["inputs"] or len(pair["inputs"]) == 20


def toy() -> Derivations:
    return Derivations(parse_grammar([*VERBS, *TIMES, "NT_1 and NT_2 ### NT_1 NT_2"]), None, 0)


def test_no_input_depends_on_pairs_that_another_derivation_does_without() -> None:
    train = [Example.of("walk and run and look", "I_WALK I_RUN I_LOOK")]
    test = [Example.of("walk and run and look", "I_WALK I_RUN I_LOOK"), Example.of("run", "I_RUN")]
    found = Composition(train, toy()).describe("test", test, None)
    assert (found["totals"]["derived"], found["totals"]["dependent"], found["totals"]["right_known"]) == (2, 1, None)
    assert found["pairs"] == [{"parent": None, "slot": 0, "child": 3, "total": 1, "inputs": [0]}]


def test_suggestions_come_from_the_pool_and_unknown_tokens_count() -> None:
    train = [Example.of("walk", "I_WALK"), Example.of("run twice", "I_RUN I_RUN")]
    test = [
        Example.of("walk twice", "I_WALK I_WALK"),
        Example.of("hop", "I_HOP"),
        Example.of("hop twice", "I_HOP I_HOP"),
        Example.of("walk run", "I_WALK I_RUN"),
    ]
    pool = [Example(("hop", "twice", "now"), ()), Example.of("walk twice", "I_WALK I_WALK"), Example(("stop",), ())]
    found = Composition(train, toy()).describe("test", test, [False] * 4, pool)
    assert found["suggest"] == [
        {"input": "hop twice now", "adds": 2, "pairs": [], "tokens": ["hop"]},
        {"input": "walk twice", "adds": 1, "pairs": [0], "tokens": []},
    ]
