"""What `auto` chooses follows from the data, and it says why."""

from pathlib import Path

from csl.data import Example
from csl.datasets import cogs, geoquery, scan, smcalflow
from csl.grammar import Rule
from csl.induction.auto import Choice, choose
from csl.induction.config import PRESETS


def reason(choice: Choice, word: str) -> str:
    """The one reason that has the word."""
    [found] = [line for line in choice.reasons if word in line]
    return found


def test_scan_gets_its_preset() -> None:
    choice = choose(scan.prepare(None, "jump").train)
    assert choice.config == PRESETS["scan"]
    assert choice.seeds == ()
    assert "generated" in reason(choice, "look")
    assert "13,204 distinct examples: in 16 partitions" in reason(choice, "partitions")
    assert "nonterminals allowed" in reason(choice, "repeated target")
    assert "0 identity seed rules" in reason(choice, "identity")


def test_a_part_of_scan_is_learnt_all_at_once() -> None:
    choice = choose(scan.prepare(None, "jump").train[::10])
    assert choice.config == PRESETS["scan"].model_copy(update={"partitions": 1, "steps": 20})
    assert "all at once" in reason(choice, "distinct examples")


def test_cogs_gets_the_weights_of_its_preset_and_seeds(shared_data: Path) -> None:
    examples = list(cogs.read_pairs(shared_data / "cogs" / "train.tsv"))
    choice = choose(examples)
    assert choice.config == PRESETS["cogs"]
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
    choice = choose(smcalflow.prepare_tenth(shared_data / "smcalflow_cs", "16").train)
    assert choice.config == PRESETS["smcalflow"]
    assert "written" in reason(choice, "look")
    assert "preset smcalflow" in reason(choice, "preset")
    assert "nonterminals allowed" in reason(choice, "repeated target")


def test_without_repetition_nonterminals_are_not_repeated() -> None:
    examples = [Example.of(f"{a} and {b}", f"{a.upper()} {b.upper()}") for a in "abcd" for b in "abcd" if a != b]
    choice = choose(examples)
    assert not choice.config.repeated_target
    assert "not allowed" in reason(choice, "repeated target")


def test_duplicates_do_not_change_the_choice() -> None:
    examples = scan.prepare(None, "jump").train[:500]
    assert choose(examples * 3) == choose(examples)


def test_a_reason_is_true_where_outputs_repeat_and_copy() -> None:
    examples = [Example.of(f"{a} twice", f"{a} {a}") for a in "abcdef"] + [Example.of(a, a) for a in "abcdef"]
    choice = choose(examples)
    assert "few outputs repeat" not in " ".join(choice.reasons)
