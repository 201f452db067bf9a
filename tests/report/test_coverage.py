"""Why inputs get no output, which rule pairs are new (on SCAN, whose splits tell), and what is worth annotating."""

from hypothesis import given
from hypothesis import strategies as st

from csl.datasets import scan
from csl.examples import Example
from csl.grammar import parse_grammar
from csl.report.coverage import (
    UNCOVERED,
    Lacks,
    RulePair,
    Suggestion,
    Uncovered,
    choose,
    describe_coverage,
    describe_uncovered,
)
from csl.report.derivations import Derivations, Reading

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
TOY = Derivations(parse_grammar([*VERBS, *TIMES, "NT_1 and NT_2 ### NT_1 NT_2"]), None, 0)


def test_in_scan_jump_exactly_the_places_of_jump_are_new() -> None:
    task = scan.prepare(None, "jump")
    by = Derivations(SCAN, None, 0)
    found = describe_coverage("test", task.train, task.test, [True] * len(task.test), by)
    assert (found.inputs_total, found.derived, found.dependent) == (7706, 7706, 7706)
    assert (found.right_known, found.right_dependent) == (0, 7706)
    assert {pair.child for pair in found.pairs} == {JUMP}
    # jump stands alone in training, so it is new below each of the 8 rules with one nonterminal and in both places of 2
    assert found.pairs_total == len(found.pairs) == 12
    assert sum(choice.adds for choice in found.suggest) == 7706
    assert found.suggest[0].input == "jump left after jump right"
    for number, row in enumerate(found.inputs):
        for pair in (found.pairs[place] for place in row.pairs):
            assert number in pair.inputs or len(pair.inputs) == 20


def test_no_input_depends_on_pairs_that_another_derivation_does_without() -> None:
    train = [Example.of("walk and run and look", "I_WALK I_RUN I_LOOK")]
    test = [Example.of("walk and run and look", "I_WALK I_RUN I_LOOK"), Example.of("run", "I_RUN")]
    found = describe_coverage("test", train, test, None, TOY)
    assert (found.derived, found.dependent, found.right_known) == (2, 1, None)
    assert found.pairs == [RulePair(parent=None, slot=0, child=3, total=1, inputs=[0])]


def test_suggestions_come_from_the_pool_and_unknown_tokens_count() -> None:
    train = [Example.of("walk", "I_WALK"), Example.of("run twice", "I_RUN I_RUN")]
    test = [
        Example.of("walk twice", "I_WALK I_WALK"),
        Example.of("hop", "I_HOP"),
        Example.of("hop twice", "I_HOP I_HOP"),
        Example.of("walk run", "I_WALK I_RUN"),
    ]
    pool = [Example(("hop", "twice", "now"), ()), Example.of("walk twice", "I_WALK I_WALK"), Example(("stop",), ())]
    found = describe_coverage("test", train, test, [False] * 4, TOY, pool)
    assert found.suggest == [
        Suggestion("hop twice now", adds=2, pairs=[], tokens=["hop"]),
        Suggestion("walk twice", adds=1, pairs=[0], tokens=[]),
    ]


# inputs without an output

BY = Derivations(parse_grammar(["walk ### WALK", "jump ### JUMP", "NT_1 and NT_2 ### NT_1 NT_2"]), None, 1)


def describe(examples: list[Example], readings: list[Reading | None] | None = None) -> Uncovered:
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
    assert (found.inputs_total, found.covered, found.derivable, found.total) == (4, 2, 1, 2)
    assert found.reasons == {"unknown tokens": 1, "no rule": 1, "no valid output": 0}
    assert found.unknown_tokens == [("hop", 1)]
    unknown, no_rule = found.inputs
    assert (unknown.reason, unknown.unknown, unknown.spans) == ("unknown tokens", ["hop"], [(4, 7)])
    assert (no_rule.reason, no_rule.unknown, no_rule.spans) == ("no rule", [], [(0, 1), (1, 4)])
    assert no_rule.output == "WALK JUMP WALK"


def test_a_covered_input_without_reading_has_no_valid_output() -> None:
    found = describe([Example.of("walk", "WALK")], [None])
    assert found.reasons["no valid output"] == found.total == 1
    assert found.inputs[0].spans == []


def test_many_inputs_are_all_counted_and_some_shown() -> None:
    found = describe([Example.of(f"walk x{k}", "WALK") for k in range(1000)])
    assert found.total == found.reasons["unknown tokens"] == 1000
    shown = [row.input for row in found.inputs]
    assert len(shown) == UNCOVERED
    assert (shown[0], shown[-1]) == ("walk x0", "walk x999")


def test_unlabelled_inputs_have_no_output() -> None:
    found = describe_uncovered("unlabelled", [("hop",)], [], [None], BY)
    assert (found.of, found.derivable, found.inputs[0].output) == ("unlabelled", None, None)


# what is worth annotating

lacks = st.frozensets(st.sampled_from([(0, 1), (0, 2), (3, 1), "hop", "skip"]), max_size=4)


def offers(needs: list[Lacks]) -> list[tuple[tuple[str, ...], Lacks]]:
    return [((f"x{k:02}",), need) for k, need in enumerate(needs)]


@given(st.lists(lacks, max_size=12), st.lists(lacks, max_size=12))
def test_each_choice_fills_most_of_what_is_left(needs: list[Lacks], pool: list[Lacks]) -> None:
    given_so_far: Lacks = frozenset()
    for source, count, _ in choose(needs, offers(pool), 10):

        def filled(offer: Lacks, given: Lacks = given_so_far) -> int:
            return sum(need <= given | offer for need in needs) - sum(need <= given for need in needs)

        assert count == max(map(filled, pool)) > 0
        given_so_far |= dict(offers(pool))[source]
    if len(choose(needs, offers(pool), 10)) < 10:
        helpless = [need for need in needs if need and not need <= given_so_far]
        assert not any(need <= given_so_far | offer for need in helpless for offer in pool)


def test_among_equals_what_more_inputs_lack_then_the_shortest() -> None:
    needs = [frozenset({"a"}), frozenset({"b"}), frozenset({"b", "c"})]
    pool = [(("a",), frozenset({"a"})), (("b", "b"), frozenset({"b"})), (("b",), frozenset({"b"}))]
    assert [(source, filled) for source, filled, _ in choose(needs, pool, 2)] == [(("b",), 1), (("a",), 1)]


def test_only_what_somebody_lacks_is_named() -> None:
    pool = [(("x",), frozenset({"a", "z"}))]
    assert choose([frozenset({"a"})], pool, 3)[0][2] == {"a"}
    assert choose([frozenset({"q"})], pool, 3) == []
    assert choose([frozenset()], pool, 3) == []
