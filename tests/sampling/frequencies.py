"""How probable each derivation is that a sampler can draw, and how often it is drawn."""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from math import fsum, sqrt

import numpy as np
import numpy.typing as npt

from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.model.model import FloatArray
from csl.parsing.derivation import Derivation
from csl.reference import Model, levels, probability, tempered

from ..grammars import derivations_within

Preorder = tuple[int, ...]
Draws = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]


def preorder(tree: Derivation, grammar: Grammar) -> Preorder:
    number = {rule: r for r, rule in enumerate(grammar)}
    return tuple(number[rule] for rule in tree.rules())


def exact(
    grammar: Grammar,
    theta: tuple[FloatArray, FloatArray],
    cfg: OutputCfg | None,
    depths: tuple[int, int],
    *,
    temperature: float = 1.0,
    bias: float = 0.0,
    bias_above: int = 1,
) -> dict[Preorder, float]:
    """p(z | valid, depths) of every derivation: its product of rule probabilities, divided by the sum of all."""
    rules = [
        [tempered(rule, value, temperature, bias, bias_above) for rule, value in zip(grammar, row, strict=True)]
        for row in theta[1]
    ]
    plain = Model(grammar, theta[0], rules)
    weight = {
        preorder(tree, grammar): probability(plain, tree)
        for tree in derivations_within(grammar, depths[1])
        if levels(tree) >= depths[0] and (cfg is None or cfg.accepts(tree.example.target))
    }
    total = fsum(weight.values())
    return {rules: value / total for rules, value in weight.items()}


class Uniform:
    """The derivations that choices from the top lead to, by category, levels left and levels needed."""

    def __init__(self, grammar: Grammar, cfg: OutputCfg | None) -> None:
        self.rules = list(grammar)
        self.finishes = cache(self.finishes)  # type: ignore[method-assign]
        self.rows: list[tuple[str, int, tuple[str, ...]]] = [
            (category, r, children) for r, rule in enumerate(grammar) for category, children in typings(rule, cfg)
        ]

    def finishes(self, category: str, depth: int) -> bool:
        return any(self.fits(row, depth) for row in self.rows if row[0] == category)

    def fits(self, row: tuple[str, int, tuple[str, ...]], depth: int) -> bool:
        return depth > 0 and all(self.finishes(child, depth - 1) for child in row[2])

    def draws(self, category: str, depth: int, open_first: bool) -> dict[Preorder, float]:
        """p(z): each rule that fits is as likely as any other, and so is each of its typings that fit."""
        by_rule: dict[int, list[tuple[str, ...]]] = {}
        for row in self.rows:
            if row[0] == category and self.fits(row, depth) and not (open_first and self.rules[row[1]].arity == 0):
                by_rule.setdefault(row[1], []).append(row[2])
        found: dict[Preorder, float] = {}
        for r, group in by_rule.items():
            for children in group:
                parts = [self.draws(child, depth - 1, False).items() for child in children]
                for chosen in product(*parts):
                    rules = (r, *(x for part, _ in chosen for x in part))
                    p = float(np.prod([value for _, value in chosen])) / len(by_rule) / len(group)
                    found[rules] = found.get(rules, 0.0) + p
        return found


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
