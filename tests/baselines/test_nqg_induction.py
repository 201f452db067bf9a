"""NQG's induction: the gain against an enumeration, and grammars of small and of benchmark data."""

from itertools import product
from math import log2
from pathlib import Path

import numpy as np
import pytest

from csl.baselines.nqg.config import PRESETS, NqgInductionConfig
from csl.baselines.nqg.induction import Addition, Search, induce
from csl.datasets.registry import data_set
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Rule, parse_rule
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Vocabulary
from csl.parsing.deriver import Deriver
from csl.reference import derivations

VERBS = {"jump": "JUMP", "walk": "WALK", "run": "RUN"}


def commands(joined: bool = True) -> list[Example]:
    """Verbs, verbs twice, and one of these with a verb."""
    short = {(verb,): (out,) for verb, out in VERBS.items()}
    short |= {(verb, "twice"): (out, out) for verb, out in VERBS.items()}
    long = {(*a, "and", b): (*short[a], VERBS[b]) for a, b in product(short, VERBS) if joined}
    return [Example(x, y) for x, y in (short | long).items()]


def bits(rules: list[Rule], example: Example) -> float:
    trees = derivations(rules, example.source, max_units=0)
    return log2(len(trees) / sum(tree.example.target == example.target for tree in trees))


def test_the_cost_of_outputs_is_that_of_an_enumeration() -> None:
    examples = [*commands(joined=False), Example(("jump", "again"), ("JUMP", "JUMP", "JUMP"))]
    vocabulary, store = Vocabulary(), RuleStore()
    rules = [Rule.from_example(e) for e in examples]
    ids = store.add_rules(rules, vocabulary)
    search = Search(store, ids, ids[:0], (0, 0), NqgInductionConfig(evidence=100))
    for text in ("NT_1 twice ### NT_1 NT_1", "NT_1 twice ### NT_1 JUMP", "NT_1 NT_2 ### NT_1 NT_2"):
        (c,) = store.add_rules([parse_rule(text)], vocabulary)
        search._cover_store()
        gone = [rules[r] for r, found in search._candidates.items() if c in found]
        after = [*(rule for rule in rules if rule not in gone), parse_rule(text)]
        assert search.cost_of_outputs(int(c)) == pytest.approx(
            sum(bits(after, e) - bits(rules, e) for e in examples)
        ), text


def test_the_gain_is_what_goes_less_what_comes() -> None:
    additions: list[Addition] = []
    config = NqgInductionConfig(k_t=10)
    induce(commands(joined=False), config, additions.append)
    first = additions[0]
    assert str(first.rule) == "NT_1 twice ### NT_1 NT_1"
    assert first.gain == 3 * 40 - 13  # three rules of four terminals; one terminal and three nonterminals


def test_commands_are_taken_apart() -> None:
    grammar = induce(commands(), NqgInductionConfig())
    assert {str(rule) for rule in grammar} == {
        "jump ### JUMP", "walk ### WALK", "run ### RUN",
        "NT_1 twice ### NT_1 NT_1", "NT_1 and NT_2 ### NT_1 NT_2",
    }  # fmt: skip


def test_what_the_shortest_inputs_do_not_teach_is_kept_as_it_is() -> None:
    other = Example(("walk", "on", "and", "on"), ("WALK",) * 5)
    examples = [*commands(), other]
    grammar = induce(examples, NqgInductionConfig(sample_size=15))
    assert Rule.from_example(other) in grammar
    assert Deriver(grammar, 0).derivable(examples).all()


def test_the_order_of_examples_and_their_copies_do_not_matter() -> None:
    examples = commands()
    shuffled = [examples[i] for i in np.random.default_rng(1).permutation(len(examples))]
    assert list(induce(examples, NqgInductionConfig())) == list(induce(shuffled + examples, NqgInductionConfig()))


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(InputError, match="no examples"):
        induce([], NqgInductionConfig())
    with pytest.raises(InputError, match="example 2 has an empty side"):
        induce([Example.of("a", "A"), Example.of("", "A")], NqgInductionConfig())


@pytest.mark.parametrize(
    ("name", "split", "least"), [("scan", "jump", 7706), ("scan", "length", 3920), ("geoquery", "standard", 229)]
)
def test_benchmarks_are_covered_as_the_published_system_does(
    shared_data: Path, name: str, split: str, least: int
) -> None:
    task = data_set(name).prepare(shared_data / name, split)
    deriver = Deriver(induce(task.train, PRESETS[name]), 0)
    assert deriver.derivable(task.train).all()
    assert deriver.covered([example.source for example in task.test]).sum() >= least
