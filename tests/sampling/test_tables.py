"""Mass tables are sums over enumerated derivations; choices from the top know how quickly they can be finished."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl import reference
from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.sample import EXACT, WITHIN
from csl.model.model import softmax
from csl.reference import levels, probability
from csl.sampling.automaton import build_automaton
from csl.sampling.tables import build_local, build_tables

from ..grammars import grammars, output_cfgs, random_theta
from .frequencies import Finishing
from .test_automaton import Runs, small

cfgs = st.one_of(st.none(), output_cfgs)


@settings(deadline=None, max_examples=60)
@given(rules=grammars, cfg=cfgs, states=st.integers(1, 3), seed=st.integers(0, 50))
def test_masses_are_sums_over_derivations(rules: list[Rule], cfg: OutputCfg | None, states: int, seed: int) -> None:
    grammar = Grammar(rules)
    theta = random_theta(grammar, states, seed)
    plain = reference.Model(grammar, *theta)
    trees = small(grammar)
    deepest = max(map(levels, trees))
    automaton = build_automaton(grammar, cfg)
    tables = build_tables(automaton, softmax(theta[0]), softmax(theta[1]), deepest)
    runs = Runs(grammar, automaton)
    kind_of = {tree: runs.of(tree) for tree in trees}
    for d in range(deepest + 1):
        for c, context in enumerate(plain.contexts):
            for kind in range(automaton.n_kinds):
                masses = [(levels(t), probability(plain, t, context)) for t in trees if kind_of[t] == [kind]]
                within, just = fsum(p for n, p in masses if n <= d), fsum(p for n, p in masses if n == d)
                assert tables.reach[WITHIN, d, c, kind] == pytest.approx(within, rel=1e-9)
                assert tables.reach[EXACT, d, c, kind] == pytest.approx(just, rel=1e-9)
    assert np.allclose(np.einsum("cs,mdsq->mdcq", tables.context, tables.state), tables.reach)


@settings(deadline=None)
@given(rules=grammars, cfg=cfgs)
def test_the_fewest_levels_of_typings(rules: list[Rule], cfg: OutputCfg | None) -> None:
    grammar = Grammar(rules)
    local, plain = build_local(grammar, cfg), Finishing(grammar, cfg)
    for row, (_, _, children) in zip(range(len(local.levels)), sorted(plain.rows), strict=True):
        shallow = [d for d in range(1, 8) if all(plain.finishes(child, d - 1) for child in children)]
        if shallow:
            assert local.levels[row] == shallow[0]


@pytest.mark.parametrize("cfg", [None, OutputCfg.parse(["ROOT => A ##ROOT", "ROOT => C"])], ids=["free", "valid"])
def test_what_never_ends_fits_no_depth(cfg: OutputCfg | None) -> None:
    assert build_local(parse_grammar(["a NT_1 ### A NT_1"]), cfg).levels.min() > 200
