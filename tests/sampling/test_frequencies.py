"""A million draws have the frequencies that an enumeration of all derivations gives."""

from functools import cache

import numpy as np
import pytest

from csl.grammar import parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.model.model import Model
from csl.reference import derivations_within
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sampler

from ..grammars import random_theta, typing_count
from .frequencies import Preorder, chi_square_excess, exact, frequencies, one_by_one

MILLION = 1_000_000
FIVE_SIGMA = 5.0  # the seed is fixed: a value above this is a mistake in the code, not bad luck

GRAMMAR = parse_grammar(
    ["a ### A", "b ### B", "c NT_1 ### f NT_1", "NT_1 d ### g NT_1 NT_1", "NT_1 e NT_2 ### h NT_2 NT_1 NT_2"]
)
CHAIN = parse_grammar(["a ### A", "b ### B", "c NT_1 ### f NT_1", "NT_1 d ### g NT_1 NT_1"])
CFG = OutputCfg.parse(  # A is both an X and a Y, so that f A has two typings and h A A A more
    [
        "ROOT => ##X", "ROOT => f ##Y", "X => A", "X => f ##X", "X => g ##X ##X", "X => h ##Y ##X ##Y",
        "Y => A", "Y => B", "Y => f ##Y", "X => h ##X ##X ##X",
    ]
)  # fmt: skip
THETA = {name: random_theta(g, 3, seed=7, spread=0.8) for name, g in (("GRAMMAR", GRAMMAR), ("CHAIN", CHAIN))}
GRAMMARS = {"GRAMMAR": GRAMMAR, "CHAIN": CHAIN}
ALIKE = tuple(np.zeros_like(theta) for theta in THETA["GRAMMAR"])


def drawn(name: str, cfg: OutputCfg | None, seed: int = 11, **options: object) -> dict[Preorder, int]:
    config = SampleConfig.model_validate({"seed": seed, "unique": False, "new": False, **options})
    sampler = Sampler(GRAMMARS[name], config, model=Model(GRAMMARS[name], *THETA[name]), output_cfg=cfg)
    return frequencies(sampler._draw, MILLION, len(GRAMMARS[name]))  # before anything is dropped, as long or known


@cache
def expected(name: str, cfg: OutputCfg | None, depths: tuple[int, int], **options: float) -> dict[Preorder, float]:
    return exact(GRAMMARS[name], THETA[name], cfg, depths, **options)


both = pytest.mark.parametrize("cfg", [None, CFG], ids=["free", "valid"])


@both
@pytest.mark.parametrize(
    ("name", "depths"),
    [
        ("GRAMMAR", (1, 3)),
        ("GRAMMAR", (2, 3)),
        ("GRAMMAR", (3, 3)),
        ("CHAIN", (1, 6)),
        ("CHAIN", (4, 6)),
    ],
)
def test_the_model_strategy_draws_from_the_model(name: str, depths: tuple[int, int], cfg: OutputCfg | None) -> None:
    observed = drawn(name, cfg, min_depth=depths[0], max_depth=depths[1])
    assert chi_square_excess(observed, expected(name, cfg, depths)) < FIVE_SIGMA


@both
@pytest.mark.parametrize("temperature", [3.0, float("inf")])
def test_the_tempered_strategy_divides_theta(temperature: float, cfg: OutputCfg | None) -> None:
    observed = drawn("GRAMMAR", cfg, strategy="tempered", temperature=temperature, min_depth=2, max_depth=3)
    p = expected("GRAMMAR", cfg, (2, 3), temperature=temperature)
    assert chi_square_excess(observed, p) < FIVE_SIGMA
    assert chi_square_excess(observed, expected("GRAMMAR", cfg, (2, 3))) > 100


@both
@pytest.mark.parametrize("above", [0, 1])
def test_the_depth_bias_is_added_to_rules_with_many_nonterminals(above: int, cfg: OutputCfg | None) -> None:
    observed = drawn("GRAMMAR", cfg, depth_bias=1.5, bias_above=above, min_depth=1, max_depth=3)
    p = expected("GRAMMAR", cfg, (1, 3), delta=1.5, above=above)
    assert chi_square_excess(observed, p) < FIVE_SIGMA
    assert chi_square_excess(observed, expected("GRAMMAR", cfg, (1, 3))) > 100


@both
@pytest.mark.parametrize("least", [1, 2])
def test_even_depths_draw_the_number_of_levels_first(least: int, cfg: OutputCfg | None) -> None:
    observed = drawn("CHAIN", cfg, depths="even", min_depth=least, max_depth=5)
    levels = range(least, 6)
    p = {z: share / len(levels) for d in levels for z, share in expected("CHAIN", cfg, (d, d)).items()}
    assert chi_square_excess(observed, p) < FIVE_SIGMA
    assert chi_square_excess(observed, expected("CHAIN", cfg, (least, 5))) > 100


def test_derivations_with_several_typings_are_counted_once() -> None:
    trees = [tree for tree in derivations_within(GRAMMAR, 3) if CFG.accepts(tree.example.target)]
    counts = [typing_count(tree, CFG) for tree in trees]
    assert min(counts) == 1 < max(counts)
    assert len(trees) == 48


def test_depth_4_and_more() -> None:
    """15,000 derivations: those that are expected fewer than ten times are compared as one."""
    observed = drawn("GRAMMAR", CFG, min_depth=4, max_depth=4)
    assert chi_square_excess(observed, expected("GRAMMAR", CFG, (4, 4))) < FIVE_SIGMA


@both
@pytest.mark.parametrize(
    ("name", "depths", "options", "how"),
    [
        ("GRAMMAR", (1, 3), {}, {}),
        ("GRAMMAR", (2, 3), {"temperature": 3.0}, {"temperature": 3.0}),
        ("GRAMMAR", (1, 3), {"temperature": float("inf")}, {"temperature": float("inf")}),
        ("GRAMMAR", (2, 3), {"depth_bias": 1.5}, {"delta": 1.5}),
        ("CHAIN", (2, 6), {"temperature": 2.0, "depth_bias": 1.0, "bias_above": 0},
         {"temperature": 2.0, "delta": 1.0, "above": 0}),
    ],
)  # fmt: skip
def test_forward_sampling_draws_each_rule_from_the_model(
    name: str, depths: tuple[int, int], options: dict[str, float], how: dict[str, float], cfg: OutputCfg | None
) -> None:
    observed = drawn(name, cfg, strategy="forward", min_depth=depths[0], max_depth=depths[1], **options)
    p = one_by_one(GRAMMARS[name], THETA[name], cfg, depths, **how)
    assert sum(p.values()) == pytest.approx(1)
    assert chi_square_excess(observed, p) < FIVE_SIGMA
    assert chi_square_excess(observed, expected(name, cfg, depths, **how)) > 100


@both
@pytest.mark.parametrize("least", [1, 2])
def test_the_uniform_strategy_is_forward_sampling_with_all_rules_alike(cfg: OutputCfg | None, least: int) -> None:
    observed = drawn("GRAMMAR", cfg, strategy="uniform", min_depth=least, max_depth=3)
    assert chi_square_excess(observed, one_by_one(GRAMMAR, ALIKE, cfg, (least, 3))) < FIVE_SIGMA
    hot = drawn("GRAMMAR", cfg, strategy="forward", temperature=float("inf"), min_depth=least, max_depth=3)
    assert hot == observed


def test_tables_of_another_model_are_found_out() -> None:
    observed = drawn("GRAMMAR", CFG, min_depth=1, max_depth=3)
    slightly = THETA["GRAMMAR"][0], THETA["GRAMMAR"][1] + 0.05 * np.arange(5)
    assert chi_square_excess(observed, expected("GRAMMAR", CFG, (1, 3))) < FIVE_SIGMA
    assert chi_square_excess(observed, exact(GRAMMAR, slightly, CFG, (1, 3))) > 10
