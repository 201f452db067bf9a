"""The grammar that pairs are drawn from has phrases, and no argument that nobody said."""

from csl.examples import Example
from csl.grammar import Nt, Rule, parse_grammar
from csl.grammar.notation import parse_rule
from csl.parsing.deriver import Deriver
from csl.preparing.phrases import joined, learn_phrases

from .conftest import Learnt


def test_arguments_that_nobody_said_are_left_out(learnt: Learnt) -> None:
    prepared, unsaid = learnt.prepared, Rule((Nt(1),), (Nt(1), "(", "all", ")"))
    phrases = learn_phrases(prepared.examples, [*prepared.seed_rules, unsaid], prepared.categories.cfg)
    assert unsaid not in phrases.grammar
    assert all(phrases.parse(example.source_text) for example in prepared.examples)


def test_it_is_the_same_every_time(learnt: Learnt) -> None:
    prepared = learnt.prepared
    one, two = (learn_phrases(prepared.examples, prepared.seed_rules, prepared.categories.cfg) for _ in range(2))
    assert one.grammar == two.grammar
    assert (one.theta_rule == two.theta_rule).all()


COMMANDS = [
    "kitchen ### K", "hall ### H", "set NT_1 to 50 ### SET NT_1 50", "quit NT_1 ### OFF NT_1",
    "dim and NT_1 percent ### NT_1", "please NT_1 ### NT_1", "oh NT_1 ### NT_1", "never NT_1 ### NT_1",
]  # fmt: skip


def test_words_that_stand_around_one_rule_only_become_part_of_it() -> None:
    pairs = [
        Example.of("dim and set kitchen to 50 percent", "SET K 50"),
        Example.of("please quit hall", "OFF H"),
        Example.of("please set hall to 50", "SET H 50"),
        Example.of("oh please quit kitchen", "OFF K"),
        Example.of("oh please dim and set hall to 50 percent", "SET H 50"),
    ]
    found = joined(parse_grammar(COMMANDS), pairs)
    assert Deriver(found).derivable(pairs).all()
    new = ["dim and set NT_1 to 50 percent ### SET NT_1 50", "oh please NT_1 ### NT_1"]
    assert {str(rule) for rule in found} == {*COMMANDS[:4], COMMANDS[5], *new}


def test_rules_that_are_joined_are_joined_again() -> None:
    pairs = [
        Example.of("oh please quit kitchen", "OFF K"),
        Example.of("please quit hall", "OFF H"),
        Example.of("please set hall to 50", "SET H 50"),
    ]
    found = joined(parse_grammar(COMMANDS), pairs)  # oh with please, then both with quit
    assert {str(rule) for rule in found if "oh" in rule.source} == {"oh please quit NT_1 ### OFF NT_1"}
    assert parse_rule("please NT_1 ### NT_1") in found
