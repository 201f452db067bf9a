"""What `auto` chooses follows from the data, and it says why."""

from pathlib import Path

from csl.datasets import cogs, geoquery, scan, smcalflow
from csl.examples import Example
from csl.grammar import Rule
from csl.induction.auto import ENOUGH, Choice, choose, for_raw_text, missed_by_presets
from csl.induction.config import PRESETS
from csl.induction.induce import induce
from csl.parsing.deriver import Deriver

SCAN = PRESETS["scan"].model_copy(update={"max_nonterminals": 4, "search": "deep"})


def reason(choice: Choice, word: str) -> str:
    """The one reason that has the word."""
    [found] = [line for line in choice.reasons if word in line]
    return found


def test_scan_gets_its_preset_with_more_nonterminals() -> None:
    choice = choose(scan.prepare(None, "jump").train)
    assert choice.config == SCAN
    assert choice.seeds == ()
    assert "generated" in reason(choice, "look")
    assert "13,204 distinct examples: in 16 partitions" in reason(choice, "partitions")
    assert "0 identity seed rules" in reason(choice, "identity")


def test_a_part_of_scan_is_learnt_all_at_once() -> None:
    choice = choose(scan.prepare(None, "jump").train[::10])
    assert choice.config == SCAN.model_copy(update={"partitions": 1, "steps": 20})
    assert "all at once" in reason(choice, "distinct examples")


def test_cogs_gets_the_weights_of_its_preset_and_seeds(shared_data: Path) -> None:
    examples = list(cogs.read_pairs(shared_data / "cogs" / "train.tsv"))
    choice = choose(examples)
    assert choice.config == PRESETS["cogs"].model_copy(update={"search": "deep"})
    assert "generated" in reason(choice, "look")
    assert "preset cogs" in reason(choice, "preset")
    assert {("cake", "cake"), ("Emma", "Emma")} <= {(*rule.source, *rule.target) for rule in choice.seeds}
    assert f"{len(choice.seeds)} identity seed rules" in reason(choice, "identity")


def test_geoquery_looks_written_and_gets_placeholders_as_seeds(shared_data: Path) -> None:
    choice = choose(geoquery.prepare(shared_data / "geoquery", "standard").train)
    assert choice.config == PRESETS["smcalflow"]
    assert "written" in reason(choice, "look")
    assert Rule(("m0",), ("m0",)) in choice.seeds
    assert all(rule.source == rule.target for rule in choice.seeds)


def test_smcalflow_looks_written_and_gets_its_preset(shared_data: Path) -> None:
    choice = choose(smcalflow.prepare_fifth(shared_data / "smcalflow_cs", "16").train)
    assert choice.config == PRESETS["smcalflow"]
    assert "written" in reason(choice, "look")
    assert "preset smcalflow" in reason(choice, "preset")


DAYS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6"}
MONTHS = {"january": "jan", "february": "feb", "march": "mar", "april": "apr", "may": "may_", "june": "jun"}
DATES = [
    Example.of(f"on the {day} of {month}", f"date ( {d} , {m} )")
    for day, d in DAYS.items()
    for month, m in MONTHS.items()
]


def test_words_that_never_stand_alone_need_no_seeds() -> None:
    choice = choose(DATES)
    assert choice.seeds == ()
    assert choice.config.search == "deep"
    grammar = induce(DATES[1:], choice.config).grammar
    assert Deriver(grammar).derivable(DATES).all()
    assert {(*rule.source, *rule.target) for rule in grammar if not rule.arity} == {*DAYS.items(), *MONTHS.items()}


def test_the_order_of_the_examples_does_not_change_the_choice() -> None:
    examples = scan.prepare(None, "jump").train[:2000]
    assert choose(examples[::-1]) == choose(examples)
    assert choose(DATES[::-1]) == choose(DATES)


def test_duplicates_do_not_change_the_choice() -> None:
    examples = scan.prepare(None, "jump").train[:500]
    assert choose(examples * 3) == choose(examples)


def test_a_reason_is_true_where_outputs_repeat_and_copy() -> None:
    examples = [Example.of(f"{a} twice", f"{a} {a}") for a in "abcdef"] + [Example.of(a, a) for a in "abcdef"]
    choice = choose(examples)
    assert "few outputs repeat" not in " ".join(choice.reasons)


def test_what_a_preset_does_without_is_said() -> None:
    assert missed_by_presets([Example.of("copy a", "a"), Example.of("( b", "( B")]) == (
        "no seed rules: 50% of the examples have a word on both sides; auto makes rules of these"
    )
    assert missed_by_presets(DATES) is None
    assert missed_by_presets([]) is None


def test_raw_text_gets_moves_of_several_rules_only_if_there_are_enough_examples() -> None:
    few = [Example.of(f"word{i}", f"W{i}") for i in range(ENOUGH - 1)]
    assert for_raw_text(few).config.search == "paper"
    assert for_raw_text([*few, *few]).config.search == "paper"
    assert for_raw_text([*few, Example.of("more", "M")]).config.search == "auto"
