"""The model written out plainly: the probability of one derivation as a product, and of anything else as a sum."""

from collections.abc import Iterable, Sequence
from math import exp, fsum, log

import numpy as np

from csl.grammar import Grammar, Rule
from csl.model.model import FloatArray, Model
from csl.parsing.derivation import Derivation


def random_theta(grammar: Grammar, states: int, seed: int, spread: float = 1.5) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    contexts = 1 + sum(rule.arity for rule in grammar)
    return rng.normal(0, spread, (contexts, states)), rng.normal(0, spread, (states, len(grammar)))


def all_log_p(model: Model) -> FloatArray:
    return model.log_p(np.arange(len(model.theta_context)), np.arange(len(model.grammar)))


def normalised(theta: Iterable[float]) -> list[float]:
    powers = [exp(value) for value in theta]
    return [power / sum(powers) for power in powers]


class PlainModel:
    """p(r | r_p, i) by rule, parent rule (None: the root) and index."""

    def __init__(self, grammar: Grammar, theta_context: FloatArray, theta_rule: FloatArray) -> None:
        contexts: list[tuple[Rule | None, int]] = [(None, 0)]
        contexts += [(rule, i) for rule in grammar for i in range(rule.arity)]
        rule_given_state = [normalised(row) for row in theta_rule]
        self.p: dict[tuple[Rule, Rule | None, int], float] = {}
        for (parent, i), row in zip(contexts, theta_context, strict=True):
            state_given_context = normalised(row)
            for r, rule in enumerate(grammar):
                parts = zip(state_given_context, rule_given_state, strict=True)
                self.p[rule, parent, i] = fsum(of_state * of_rule[r] for of_state, of_rule in parts)

    def log_prob(self, tree: Derivation, parent: Rule | None = None, index: int = 0) -> float:
        """Log p(z)."""
        below = (self.log_prob(child, tree.rule, i) for i, child in enumerate(tree.children))
        return log(self.p[tree.rule, parent, index]) + sum(below)

    def log_sum(self, trees: Sequence[Derivation]) -> float:
        """Log of the summed probability of derivations."""
        return log(fsum(exp(self.log_prob(tree)) for tree in trees)) if trees else -np.inf
