"""How probable each derivation is that a sampler can draw, and how often it is drawn."""

from collections.abc import Callable, Mapping
from functools import cache
from math import fsum, sqrt

import numpy as np
import numpy.typing as npt

from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.model.model import FloatArray
from csl.parsing.derivation import Derivation
from csl.reference import Model, derivations_within, forward, levels, probability, tempered

Preorder = tuple[int, ...]
Draws = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]


def preorder(tree: Derivation, grammar: Grammar) -> Preorder:
    number = {rule: r for r, rule in enumerate(grammar)}
    return tuple(number[rule] for rule in tree.rules())


def tempered_model(grammar: Grammar, theta: tuple[FloatArray, FloatArray], **how: float) -> Model:
    rules = [[tempered(rule, value, **how) for rule, value in zip(grammar, row, strict=True)] for row in theta[1]]
    return Model(grammar, theta[0], rules)


def valid(grammar: Grammar, cfg: OutputCfg | None, depths: tuple[int, int]) -> list[Derivation]:
    trees = derivations_within(grammar, depths[1])
    return [tree for tree in trees if levels(tree) >= depths[0] and (cfg is None or cfg.accepts(tree.example.target))]


def exact(
    grammar: Grammar, theta: tuple[FloatArray, FloatArray], cfg: OutputCfg | None, depths: tuple[int, int], **how: float
) -> dict[Preorder, float]:
    """p(z | valid, depths) of every derivation: its product of rule probabilities, divided by the sum of all."""
    plain = tempered_model(grammar, theta, **how)
    weight = {preorder(tree, grammar): probability(plain, tree) for tree in valid(grammar, cfg, depths)}
    total = fsum(weight.values())
    return {rules: value / total for rules, value in weight.items()}


def one_by_one(
    grammar: Grammar, theta: tuple[FloatArray, FloatArray], cfg: OutputCfg | None, depths: tuple[int, int], **how: float
) -> dict[Preorder, float]:
    """p(z) if rules are chosen one at a time."""
    plain, trees = tempered_model(grammar, theta, **how), valid(grammar, cfg, depths)
    return {preorder(tree, grammar): p for tree, p in forward(plain, trees).items()}


class Finishing:
    """Which typings can be finished, by category and levels left."""

    def __init__(self, grammar: Grammar, cfg: OutputCfg | None) -> None:
        self.finishes = cache(self.finishes)  # type: ignore[method-assign]
        self.rows: list[tuple[str, int, tuple[str, ...]]] = [
            (category, r, children) for r, rule in enumerate(grammar) for category, children in typings(rule, cfg)
        ]

    def finishes(self, category: str, depth: int) -> bool:
        return any(self.fits(row, depth) for row in self.rows if row[0] == category)

    def fits(self, row: tuple[str, int, tuple[str, ...]], depth: int) -> bool:
        return depth > 0 and all(self.finishes(child, depth - 1) for child in row[2])


def typings(rule: Rule, cfg: OutputCfg | None) -> list[tuple[str, tuple[str, ...]]]:
    if cfg is None:
        return [("ROOT", ("ROOT",) * rule.arity)]
    return [(t.category, t.children) for t in cfg.typings(rule.target)]


# comparing frequencies


def frequencies(draw: Callable[[int], Draws], count: int, n_rules: int) -> dict[Preorder, int]:
    """How often each derivation is drawn. A derivation is told by its rules as the digits of a number."""
    parts: list[npt.NDArray[np.int64]] = []
    done = 0
    while done < count:
        rules, offsets = draw(done)
        sizes = np.diff(offsets)
        assert (n_rules + 1) ** int(sizes.max()) < 2**62
        code = np.zeros(len(sizes), np.int64)
        for k in range(sizes.max()):
            there = sizes > k
            code[there] = code[there] * (n_rules + 1) + rules[offsets[:-1][there] + k] + 1
        parts.append(code)
        done += len(code)
    codes, counts = np.unique(np.concatenate(parts), return_counts=True)
    return {decoded(int(code), n_rules + 1): int(n) for code, n in zip(codes, counts, strict=True)}


def decoded(code: int, base: int) -> Preorder:
    digits: list[int] = []
    while code:
        code, digit = divmod(code, base)
        digits.insert(0, digit - 1)
    return tuple(digits)


def chi_square_excess(observed: Mapping[Preorder, int], p: Mapping[Preorder, float]) -> float:
    """By how many standard deviations the χ² statistic is above what is expected (Wilson and Hilferty 1931).

    Derivations that are expected fewer than ten times count as one; one with no probability must not be drawn.
    """
    assert observed.keys() <= p.keys(), "drawn but impossible"
    total = sum(observed.values())
    cells = [(observed.get(z, 0), total * value) for z, value in p.items()]
    common = [cell for cell in cells if cell[1] >= 10]
    rare = [cell for cell in cells if cell[1] < 10]
    if fsum(expected for _, expected in rare) >= 10:
        common.append((sum(n for n, _ in rare), fsum(expected for _, expected in rare)))
    statistic = fsum((n - expected) ** 2 / expected for n, expected in common)
    df = len(common) - 1
    return ((statistic / df) ** (1 / 3) - (1 - 2 / (9 * df))) / sqrt(2 / (9 * df))
