"""The search keeps its invariant and its books: after every step, and against plain recomputation."""

import random
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.datasets import geoquery, scan
from csl.engine import Threads
from csl.examples import Example
from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Vocabulary
from csl.induction import search
from csl.induction.config import PRESETS, InductionConfig
from csl.induction.objective import UNIT, Objective
from csl.induction.search import Search
from csl.kernels.store import rule_hashes
from csl.parsing.deriver import Deriver
from csl.reference import cost, derivable, size

from ..grammars import configs, little_data, options, random_rules

NQG = InductionConfig(objective="nqg")


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000))
def test_with_the_objective_of_nqg_examples_stay_derivable(seed: int) -> None:
    data = little_data(seed)
    bench = Bench(data, NQG)
    for added in bench.steps():
        assert all(Deriver(bench.grammar(), NQG.max_units).derivable(added))
    assert bench.search.total() / UNIT == sum(size(rule, options(NQG)) for rule in bench.grammar())  # no p̂ in it


def test_the_objective_of_nqg_weighs_a_rule_by_what_it_does_to_outputs() -> None:
    """With ⟨a NT_1, A NT_1⟩ the input `a b` also derives to A C: its output needs a bit more."""
    pairs = [("b", "B"), ("b", "C"), ("a b", "A B"), ("a d", "A D"), ("d", "D")]
    bench = Bench([Example.of(*pair) for pair in pairs], NQG)
    bench.search.add(bench.ids, bench.ids)
    [rule] = bench.store.add_rules(parse_grammar(["a NT_1 ### A NT_1"]), bench.vocabulary)
    bench.search.cover_store()
    removed = np.array([bench.ids[bench.examples.index(Example.of(*pair))] for pair in pairs[2:4]], np.int32)
    assert bench.search._added_bits(int(rule), removed) == 1 * UNIT


class Bench:
    """A search set up by hand, and what it is about in plain Python."""

    def __init__(self, examples: Sequence[Example], config: InductionConfig, seeds: Sequence[Rule] = ()) -> None:
        self.config, self.seeds = config, list(seeds)
        weights = Counter(examples)
        self.weights = dict.fromkeys(weights, 1) if config.drop_duplicates else dict(weights)
        self.examples = sorted(weights, key=lambda e: (len(e.source_text), e.source_text, e.target_text))
        self.vocabulary, self.store = Vocabulary(), RuleStore()
        self.ids = self.store.add_rules(map(Rule.from_example, self.examples), self.vocabulary)
        seed_ids = self.store.add_rules(seeds, self.vocabulary)
        self.search = Search(self.store, self.objective(self.store, self.ids), seed_ids, config, Threads(1))

    def objective(self, store: RuleStore, ids: np.ndarray) -> Objective:
        counts = np.array([self.weights[e] for e in self.examples], np.int64)
        return Objective(store, ids, counts, len(self.vocabulary), self.config, Threads(1))

    def steps(self) -> Iterator[list[Example]]:
        """Run all partitions; yield, after each step, the examples added so far."""
        done = 0
        for part in np.array_split(self.ids, min(self.config.partitions, len(self.ids))):
            self.search.add(part, part)
            done += len(part)
            for _ in range(self.config.steps):
                actions = self.search.step()
                yield self.examples[:done]
                if not actions:
                    break

    def grammar(self) -> Grammar:
        return Grammar(self.store.rule(i, self.vocabulary) for i in self.search.rules)

    def known_derivations_are_right(self) -> bool:
        """Tell whether the rules of each derivation that the search knows are there, and derive the example."""
        values, offsets = self.search.derivations.now
        assert self.search.alive[values].all()
        assert np.diff(offsets).all()
        return all(
            Deriver(Grammar(self.store.rule(i, self.vocabulary) for i in set(values[a:b].tolist())), 99).derivable([e])[
                0
            ]
            for e, a, b in zip(self.examples, offsets, offsets[1:], strict=False)
        )

    def total_from_scratch(self) -> int:
        """L_D of the current rules, by an objective and a store that have seen nothing else."""
        store = RuleStore()
        rules = store.add_rules(list(self.grammar())[::-1], self.vocabulary)
        ids = store.add_rules(map(Rule.from_example, self.examples), self.vocabulary)
        return self.objective(store, ids).total(rules)

    def total_by_hand(self) -> float:
        return sum(cost(rule, self.weights, options(self.config)) for rule in self.grammar())


# ⟨NT_1, NT_1⟩ is left out: it derives what it is put on, by no other rule
extra_rules = random_rules(longest=3, max_arity=2).filter(lambda rule: rule.source != rule.target)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), configs)
def test_after_every_step_the_examples_are_derivable_and_the_objective_is_right(
    seed: int, config: InductionConfig
) -> None:
    bench = Bench(little_data(seed), config)
    for examples in bench.steps():
        assert Deriver(bench.grammar(), config.max_units).derivable(examples).all()
        assert bench.known_derivations_are_right()
        total = bench.search.total()
        assert total == bench.total_from_scratch()
        assert total / UNIT == pytest.approx(bench.total_by_hand(), abs=len(bench.grammar()) / UNIT)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), configs)
def test_little_examples_stay_derivable_by_the_reference(seed: int, config: InductionConfig) -> None:
    bench = Bench(little_data(seed, 12), config)
    for examples in bench.steps():
        rules = list(bench.grammar())
        assert all(derivable(rules, e, config.max_units) for e in examples)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_seeds_stay_and_are_not_split(seed: int) -> None:
    examples = little_data(seed)
    seeds = [Rule.from_example(examples[0]), Rule(("z",), ("Z",)), *parse_grammar(["NT_1 left ### L NT_1"])]
    bench = Bench(examples, InductionConfig(), seeds)
    for _ in bench.steps():
        assert set(seeds) <= set(bench.grammar())
    bench.search.prune()
    assert set(seeds) <= set(bench.grammar())


def costliest_first(bench: Bench) -> list[Rule]:
    """The rules of the grammar that are no seeds, in the order in which they are tried."""
    search = bench.search
    rules = search.rules
    cost, hashes = search.objective.costs(rules)[rules], rule_hashes(bench.store.arrays, rules)
    order = sorted(range(len(rules)), key=lambda k: (-cost[k], hashes[k]))
    return [rule for k in order if (rule := bench.store.rule(rules[k], bench.vocabulary)) not in bench.seeds]


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.lists(extra_rules, max_size=6), st.integers(0, 2))
def test_pruning_is_what_a_greedy_pass_does_that_rechecks_every_example(
    seed: int, more: list[Rule], max_units: int
) -> None:
    config = InductionConfig(max_units=max_units)
    bench = Bench(little_data(seed, 8), config, parse_grammar(["a ### A"]))
    for _ in bench.steps():
        pass
    bench.search.add(bench.ids[::2], bench.ids[:0])  # some examples again, and rules that are not needed
    bench.search.add(bench.store.add_rules(more, bench.vocabulary), bench.ids[:0])
    left = list(bench.grammar())
    for rule in costliest_first(bench):
        others = [other for other in left if other != rule]
        if all(derivable(others, e, max_units) for e in bench.examples):
            left = others
    bench.search.prune()
    assert set(bench.grammar()) == set(left)


@settings(deadline=None, max_examples=100)
@given(st.lists(extra_rules, min_size=1, max_size=9), st.integers(0, 2))
def test_removing_derivable_rules_is_what_a_greedy_pass_does(rules: list[Rule], max_units: int) -> None:
    bench = Bench([Example.of("a b", "A B")], InductionConfig(max_units=max_units), parse_grammar(["a ### A"]))
    bench.search.add(bench.store.add_rules(rules, bench.vocabulary), bench.ids)
    bench.search.add(bench.ids, bench.ids[:0])

    def pass_over(left: list[Rule], order: list[Rule]) -> list[Rule]:
        for rule in order:
            others = [other for other in left if other != rule]
            if rule in left and derivable(others, rule, max_units):
                left = others
        return left

    by_cost = costliest_first(bench)
    everything = list(bench.grammar())
    ids = bench.store.add_rules(everything, bench.vocabulary)
    hash_of = dict(zip(everything, rule_hashes(bench.store.arrays, ids).tolist(), strict=True))
    weights = options(bench.config)
    by_size = sorted(by_cost, key=lambda rule: (-size(rule, weights), hash_of[rule]))  # new rules: first by size alone
    left = pass_over(pass_over(everything, by_size), by_cost)
    bench.search.remove_derivable()
    assert set(bench.grammar()) == set(left)


@pytest.mark.parametrize(("items", "share"), [(2, 2**13), (20, 0)])
def test_what_is_not_decided_within_the_budget_stays(items: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FIRST_ITEMS", min(items, 8)), ("ITEMS", items), ("SHARE", share)):
        monkeypatch.setattr(search, name, value)
    bench = Bench(little_data(3, 40), InductionConfig())
    for examples in bench.steps():
        assert Deriver(bench.grammar(), bench.config.max_units).derivable(examples).all()
    bench.search.finish()
    assert bench.search.undecided > 0
    assert Deriver(bench.grammar(), bench.config.max_units).derivable(bench.examples).all()


def test_examples_whose_derivations_are_known_need_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(little_data(3, 40), InductionConfig())
    for _ in bench.steps():
        pass
    for name, value in (("FIRST_ITEMS", 8), ("ITEMS", 40)):
        monkeypatch.setattr(search, name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that an example stays a rule of its own
        bench.search.finish()
    assert Deriver(bench.grammar(), bench.config.max_units).derivable(bench.examples).all()


def check_every_step(bench: Bench) -> None:
    for examples in bench.steps():
        assert Deriver(bench.grammar(), bench.config.max_units).derivable(examples).all()
        assert bench.known_derivations_are_right()
        assert bench.search.total() == bench.total_from_scratch()


def test_the_books_are_right_on_scan() -> None:
    pairs = scan.prepare(None, "jump").train
    check_every_step(Bench(random.Random(1).sample(pairs, 400), PRESETS["scan"]))


def test_the_books_are_right_on_geoquery(shared_data: Path) -> None:
    task = geoquery.prepare(shared_data / "geoquery", "length")
    check_every_step(Bench(task.train[:150], PRESETS["geoquery"], task.seed_rules))
