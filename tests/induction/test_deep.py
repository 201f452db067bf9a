"""Moves of several rules: sound, worth what they say, the same whatever the order; and what they find."""

import random
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.datasets import scan
from csl.engine import Threads
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Rule, compose
from csl.induction.config import PRESETS, InductionConfig
from csl.induction.deep import compounds, deepen, repair, saved, worthwhile, writing_more
from csl.induction.induce import induce
from csl.parsing.deriver import Deriver

from ..grammars import configs, little_data
from .test_search import Bench

seeds = st.integers(0, 10**6)
deep_configs = configs.map(lambda config: config.model_copy(update={"search": "deep"}))


def converged(data: list[Example], config: InductionConfig) -> Bench:
    bench = Bench(data, config)
    for _ in bench.steps():
        pass
    bench.search.finish()
    return bench


def rule(bench: Bench, i: int) -> Rule:
    return bench.store.rule(i, bench.vocabulary)


@settings(deadline=None, max_examples=20)
@given(seeds, deep_configs)
def test_what_a_compound_action_lets_go_is_made_up_by_what_it_adds(seed: int, config: InductionConfig) -> None:
    bench = Bench(little_data(seed), config)
    bench.search.add(bench.ids, bench.ids)
    for action in compounds(bench.search):
        outer = rule(bench, action.outer)
        assert outer.arity <= config.max_nonterminals
        assert len(action.members) == len(set(action.members.tolist())) > 1
        for inner, member in zip(action.inner, action.members, strict=True):
            made = [compose(outer, k, rule(bench, inner)) for k in range(1, outer.arity + 1)]
            assert rule(bench, member) in made


@settings(deadline=None, max_examples=20)
@given(seeds, deep_configs)
def test_the_objective_falls_by_what_was_said(seed: int, config: InductionConfig) -> None:
    bench = Bench(little_data(seed), config)
    search = bench.search
    search.add(bench.ids, bench.ids)
    for found in compounds(search):
        cost = search.objective.costs(np.append(np.append(found.inner, found.members), np.int32(found.outer)))
        action = worthwhile(search, found, cost)
        said, before = saved(search, action, cost), search.total()
        search.replace(np.append(action.inner, np.int32(action.outer)), action.members)
        assert before - search.total() == said
    assert Deriver(bench.grammar(), config.max_units).derivable(bench.examples).all()


@settings(deadline=None, max_examples=15)
@given(seeds, deep_configs)
def test_the_moves_lose_no_example_and_never_raise_the_objective(seed: int, config: InductionConfig) -> None:
    bench = converged(little_data(seed), config)
    before = bench.search.total()
    uses = deepen(bench.search)
    assert (bench.search.total() < before) == (uses is not None)
    assert bench.search.total() == bench.total_from_scratch()
    assert Deriver(bench.grammar(), config.max_units).derivable(bench.examples).all()


@settings(deadline=None, max_examples=15)
@given(seeds, deep_configs, st.integers(0, 100))
def test_a_repair_is_kept_if_the_objective_falls_and_undone_otherwise(
    seed: int, config: InductionConfig, chosen: int
) -> None:
    bench = converged(little_data(seed), config)
    search = bench.search
    before, rules = search.total(), search.rules
    kept = repair(search, rules[[chosen % len(rules), -1]], search.examples)
    if kept:
        assert search.total() < before
        assert Deriver(bench.grammar(), config.max_units).derivable(bench.examples).all()
    else:
        assert search.rules.tolist() == rules.tolist()


@settings(deadline=None, max_examples=10)
@given(seeds, deep_configs, st.randoms(use_true_random=False))
def test_order_and_threads_do_not_matter(seed: int, config: InductionConfig, chance: random.Random) -> None:
    data = little_data(seed)
    once = induce(data, config)
    chance.shuffle(data)
    assert induce(data, config, engine=Threads(2)) == once


def test_a_word_that_never_stands_alone_is_split_off() -> None:
    data = [
        Example.of(f"{verb} {way} {word}", f"{word[0]} {way} {verb.upper()}")
        for verb in ("walk", "run")
        for way in ("far", "near")
        for word in ("left", "right")
    ]
    some = [e for e in data if e.source_text != "run near right"]
    assert Deriver(induce(some, InductionConfig(search="deep")).grammar).derivable(data).all()


def test_rules_that_write_the_same_around_what_another_of_their_source_writes_are_a_group() -> None:
    pairs = ["May 5", "May any-5", "June 6", "June any-6", "July 7", "Monday any-1"]
    data = [Example.of(source, " ".join(target.split("-"))) for source, target in map(str.split, pairs)]
    bench = Bench(data, InductionConfig(search="deep"))
    bench.search.add(bench.ids, bench.ids)
    [group] = writing_more(bench.search, bench.ids)
    assert {str(rule(bench, r)) for r in group} == {"May ### any 5", "June ### any 6"}


@pytest.mark.parametrize(
    "split", [scan.TEMPLATES[0], *(pytest.param(split, marks=pytest.mark.slow) for split in scan.TEMPLATES[1:])]
)
def test_scan_with_a_phrase_held_out_is_derived(split: str) -> None:
    task = scan.prepare(None, split)
    config = PRESETS["scan"].model_copy(update={"search": "deep"})
    found = induce(task.train, config)
    assert found.objective < 140
    assert Deriver(found.grammar).derivable(task.test).all()
    assert "NT_1 around NT_2 ### NT_2 NT_1 NT_2 NT_1 NT_2 NT_1 NT_2 NT_1" in map(str, found.grammar)


@settings(deadline=None, max_examples=15)
@given(seeds, configs)
def test_auto_keeps_the_moves_if_they_save_a_third_of_the_objective(seed: int, config: InductionConfig) -> None:
    data = little_data(seed)
    searches = ("paper", "deep", "auto")
    paper, deep, auto = (induce(data, config.model_copy(update={"search": search})) for search in searches)
    assert deep.objective <= paper.objective
    assert auto == (deep if deep.objective <= 2 / 3 * paper.objective else paper)


def test_auto_keeps_moves_that_find_a_foothold() -> None:
    data = [Example.of(f"to {a} from {b}", f"{b.upper()} > {a.upper()}") for a in "abcdef" for b in "uvwxyz"]
    paper, auto = (induce(data, InductionConfig.model_validate({"search": search})) for search in ("paper", "auto"))
    assert len(paper.grammar) == 36
    assert len(auto.grammar) < 18


def test_there_are_no_moves_in_large_grammars(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [Example.of(f"to {a} from {b}", f"{b.upper()} > {a.upper()}") for a in "abcdef" for b in "uvwxyz"]
    deep, paper = InductionConfig(search="deep"), induce(data, InductionConfig(search="paper"))
    with monkeypatch.context() as patch:
        patch.setattr("csl.induction.deep.LARGEST", 35)
        assert induce(data, deep) == paper
    assert len(induce(data, deep).grammar) < 18


@pytest.mark.parametrize("search", ["deep", "auto"])
def test_the_objective_of_nqg_is_refused(search: Literal["deep", "auto"]) -> None:
    with pytest.raises(InputError):
        induce([Example.of("a", "A")], InductionConfig(search=search, objective="nqg"))
