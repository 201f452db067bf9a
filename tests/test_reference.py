"""The readable implementation agrees with the fast one: grammars, probabilities, parses, fits and samples.

The tests of the kernels compare them with it, too, one by one. That the paper's page names what exists is checked here.
"""

import ast
import doctest
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import fsum, inf, log
from pathlib import Path
from pkgutil import resolve_name
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from csl import reference
from csl.datasets import scan
from csl.engine import ONE_THREAD
from csl.examples import Example
from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Vocabulary
from csl.induction.config import PRESETS, InductionConfig
from csl.induction.induce import Induced, induce
from csl.kernels.store import rule_hashes
from csl.model.data import build
from csl.model.em import Em
from csl.model.model import Model
from csl.parsing.derivation import Derivation
from csl.reference import derivations_within
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sampler

from .grammars import (
    all_derivations,
    configs,
    grammars,
    inputs,
    little_data,
    options,
    output_cfgs,
    random_theta,
)
from .sampling.frequencies import chi_square_excess

SOURCE = Path(reference.__file__)
PAGE = Path(__file__).parents[1] / "docs" / "paper.md"
Tokens = tuple[str, ...]


def test_the_examples_of_the_docstrings_are_true() -> None:
    assert doctest.testmod(reference).failed == 0


def test_every_function_has_an_example() -> None:
    top = ast.parse(SOURCE.read_text(encoding="utf-8")).body
    named = [node for node in top if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert [node.name for node in named if ">>>" not in (ast.get_docstring(node) or "")] == []


# induction


def kernel_order(examples: list[Example], seeds: list[Rule]) -> Callable[[Rule], int]:
    """The order of rules that the fast search breaks ties with: a hash of their integers."""
    vocabulary, store = Vocabulary(), RuleStore()
    ordered = sorted(set(examples), key=lambda e: (len(e.source_text), e.source_text, e.target_text))
    store.add_rules([*map(Rule.from_example, ordered), *seeds], vocabulary)

    @cache
    def order(rule: Rule) -> int:
        ids = store.add_rules([rule], vocabulary)
        return int(rule_hashes(store.arrays, ids)[0])

    return order


def induce_both(
    examples: list[Example], config: InductionConfig, seeds: list[Rule], cfg: OutputCfg | None = None
) -> tuple[Induced, reference.Search, list[Rule]]:
    config = config.model_copy(update={"search": "paper"})  # the reference knows no other
    counted = list(dict.fromkeys(examples)) if config.drop_duplicates else examples
    search = reference.Search(counted, options(config), seeds, tie=kernel_order(examples, seeds))
    if cfg is not None:
        search.valid = lambda target: bool(cfg.typings(target))
    return induce(examples, config, seeds=seeds, output_cfg=cfg), search, search.induce()


def check_same_grammar(fast: Induced, search: reference.Search, rules: list[Rule]) -> None:
    assert list(fast.grammar) == rules
    assert fast.cost == {rule: search.cost(rule) for rule in rules}
    assert fast.objective == sum(map(search.cost, rules))


SEEDS = list(parse_grammar(["NT_1 ### NT_1 L", "a ### A", "NT_1 left ### L NT_1", "NT_1 ### L NT_1"]))


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), configs, st.lists(st.sampled_from(SEEDS), unique=True, max_size=3))
def test_the_same_grammar_is_induced(seed: int, config: InductionConfig, seeds: list[Rule]) -> None:
    check_same_grammar(*induce_both(little_data(seed, 15), config, seeds))


@settings(deadline=None, max_examples=50)
@given(grammars, configs, output_cfgs, st.integers(0, 10**6))
def test_the_same_grammar_is_induced_with_an_output_cfg(
    rules: list[Rule], config: InductionConfig, cfg: OutputCfg, seed: int
) -> None:
    pairs = [z.example for z in derivations_within(rules[-4:], 2)]
    check_same_grammar(*induce_both(Random(seed).sample(pairs, min(len(pairs), 12)), config, [], cfg))


@pytest.mark.parametrize("size", [30, 100])
def test_the_same_grammar_is_induced_from_scan(size: int) -> None:
    words = {"walk", "jump", "left", "right", "twice", "and", "after"}
    pairs = [Example(x, y) for x in scan.commands() if set(x) <= words and (y := scan.interpret(x))]
    examples = Random(0).sample(pairs, size)
    fast, search, rules = induce_both(examples, PRESETS["scan"], [])
    check_same_grammar(fast, search, rules)
    if size == 100:
        assert [str(rule) for rule in rules] == [
            "jump ### I_JUMP",
            "walk ### I_WALK",
            "NT_1 left ### I_TURN_LEFT NT_1",
            "NT_1 right ### I_TURN_RIGHT NT_1",
            "NT_1 twice ### NT_1 NT_1",
            "NT_1 after NT_2 ### NT_2 NT_1",
            "NT_1 and NT_2 ### NT_1 NT_2",
        ]


# the model


class Case:
    """A random model, fast and plain, and an input with all its derivations."""

    def __init__(self, rules: list[Rule], x: Tokens, max_units: int, states: int, seed: int) -> None:
        grammar = Grammar(rules)
        theta = random_theta(grammar, states, seed)
        self.x, self.max_units = x, max_units
        self.fast = Model(grammar, *theta, max_units=max_units)
        self.plain = reference.Model(grammar, *theta)
        trees = all_derivations(self.plain.rules, x, max_units)
        assume(trees)
        self.trees: dict[Tokens, list[tuple[float, Derivation]]] = {}
        for z in trees:
            self.trees.setdefault(z.example.target, []).append((reference.probability(self.plain, z), z))


cases = st.builds(Case, grammars, inputs, st.integers(0, 2), st.sampled_from([1, 2, 5]), st.integers(0, 100))


@settings(deadline=None, max_examples=100)
@given(cases)
def test_inside_is_the_sum_over_derivations(case: Case) -> None:
    for y, trees in case.trees.items():
        p = reference.inside(case.plain, case.x, y, case.max_units)
        assert p == pytest.approx(fsum(p_z for p_z, _ in trees))
        assert case.fast.log_prob(case.x, y) == pytest.approx(log(p), abs=1e-9)
    p = reference.inside(case.plain, case.x, None, case.max_units)
    assert p == pytest.approx(fsum(p_z for trees in case.trees.values() for p_z, _ in trees))
    assert case.fast.log_prob_inputs([case.x])[0] == pytest.approx(log(p), abs=1e-9)
    assert reference.inside(case.plain, case.x, ("?",), case.max_units) == 0
    assert case.fast.log_prob(case.x, ("?",)) == -inf


@settings(deadline=None, max_examples=100)
@given(cases)
def test_viterbi_is_the_best_derivation(case: Case) -> None:
    trees = {z: p_z for found in case.trees.values() for p_z, z in found}
    p, rules = reference.viterbi(case.plain, case.x, None, case.max_units)
    assert p == pytest.approx(max(trees.values()))
    assert trees[Derivation.from_rules(rules)] == pytest.approx(p)
    parse = case.fast.parse(case.x)
    assert parse is not None
    assert parse.log_prob == pytest.approx(log(p), abs=1e-9)
    assert trees[parse.derivation] == pytest.approx(p)
    for y, found in case.trees.items():
        p, rules = reference.viterbi(case.plain, case.x, y, case.max_units)
        assert p == pytest.approx(max(p_z for p_z, _ in found))
        assert Derivation.from_rules(rules) in [z for _, z in found]
    assert reference.viterbi(case.plain, case.x, ("?",), case.max_units) == (0, [])


@settings(deadline=None, max_examples=50)
@given(cases, st.data())
def test_a_pass_of_fitting_is_the_same(case: Case, data: st.DataObject) -> None:
    pairs = [Example(case.x, y) for y in case.trees]
    examples = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=5))
    em = Em(
        build(case.fast.grammar, examples, case.max_units, ONE_THREAD), case.fast.theta_context, case.fast.theta_rule
    )
    mean, _ = em.step(1)
    context, rule = map(np.exp, em.theta())
    fitted = reference.fit(case.plain, examples, case.max_units)
    assert context == pytest.approx(np.array(list(fitted.p_state.values())), rel=1e-6, abs=1e-9)
    assert rule == pytest.approx(np.array([list(row.values()) for row in fitted.p_rule]), rel=1e-6, abs=1e-9)
    logs = [log(reference.inside(case.plain, e.source, e.target, case.max_units)) for e in examples]
    assert mean == pytest.approx(fsum(logs) / len(logs))
    better = [log(reference.inside(fitted, e.source, e.target, case.max_units)) for e in examples]
    assert fsum(better) > fsum(logs) - 1e-3  # the floor may cost a little


# sampling

GRAMMAR = parse_grammar(["a ### A", "b ### B", "c NT_1 ### f NT_1", "NT_1 e NT_2 ### h NT_2 NT_1 NT_2"])
CFG = OutputCfg.parse(["ROOT => ##X", "X => A", "X => f ##X", "X => f ##Y", "Y => B", "X => h ##X ##X ##X"])


@pytest.mark.parametrize("cfg", [None, CFG], ids=["free", "valid"])
@pytest.mark.parametrize(("temperature", "delta"), [(1.0, 0.0), (3.0, 1.5)])
def test_samples_have_the_probabilities_of_the_model(cfg: OutputCfg | None, temperature: float, delta: float) -> None:
    theta_context, theta_rule = random_theta(GRAMMAR, 3, seed=7, spread=0.8)
    rules = list(GRAMMAR)
    plain = reference.Model(
        rules,
        theta_context,
        [[reference.tempered(r, v, temperature, delta) for r, v in zip(rules, row, strict=True)] for row in theta_rule],
    )

    def valid(target: Tokens) -> bool:
        return cfg is None or cfg.accepts(target)

    weight = {
        tuple(map(rules.index, z.rules())): reference.probability(plain, z)
        for z in derivations_within(rules, 3)
        if reference.levels(z) >= 2 and valid(z.example.target)
    }
    p = {z: value / fsum(weight.values()) for z, value in weight.items()}
    chance = Random(5)
    drawn = (reference.sample(plain, chance, range(2, 4), valid) for _ in range(5_000))
    assert chi_square_excess(Counter(tuple(map(rules.index, z.rules())) for z in drawn), p) < 5
    config = SampleConfig(
        strategy="tempered", temperature=temperature, depth_bias=delta, min_depth=2, max_depth=3, seed=5
    )
    sampler = Sampler(GRAMMAR, config, model=Model(GRAMMAR, theta_context, theta_rule), output_cfg=cfg)
    assert chi_square_excess(Counter(sample.rules for sample in sampler.stream(50_000)), p) < 5


# the page that maps the paper to the code


def test_the_names_on_the_page_of_the_paper_exist() -> None:
    names = set(re.findall(r"`(csl(?:\.\w+)+)`", PAGE.read_text(encoding="utf-8")))
    assert len(names) > 30
    for name in names:
        resolve_name(name)  # raises an error if there is no such module, or it has no such name
