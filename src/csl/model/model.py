"""The generative model p(x, y) over derivations, and its use as a parser.

p(z) is the product of p(r | r_p, i) over the rule applications of z (paper, Eq. "derivation_prob"), with
p(r | r_p, i) = Σ_s p(r | s) p(s | r_p, i) (Eq. "rule"). The context (r_p, i) is nonterminal i of rule r_p; at the
top of a derivation it is the root. Both factors are softmax of parameters θ.

With an output CFG, parsing looks only at derivations with a typing from its start symbol: the best valid output.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from csl.data import Example
from csl.engine.engine import Engine, Kept
from csl.engine.threads import ONE_THREAD
from csl.grammar import Grammar
from csl.grammar.output_cfg import ROOT, OutputCfg
from csl.kernels.inside import log_inside, viterbi
from csl.kernels.intersection import Typings, with_types
from csl.kernels.source_chart import Forests
from csl.parsing.derivation import MAX_OUTPUT, Derivation
from csl.parsing.deriver import Deriver
from csl.parsing.forest import Application, Forest

FloatArray = npt.NDArray[np.float64]
LIMIT = 2_000_000  # rule applications in the forest of an input; beyond that the model abstains
CHUNK = 64  # inputs whose forests are in memory at once


@dataclass(frozen=True)
class Parse:
    """An output with its best derivation and the log probability of that."""

    target: tuple[str, ...]
    derivation: Derivation
    log_prob: float

    @property
    def text(self) -> str:
        """The output as one string."""
        return " ".join(self.target)


def context_starts(grammar: Grammar) -> npt.NDArray[np.int64]:
    """Give the first context of each rule, one for each of its nonterminals, and their number; the root is 0."""
    return 1 + np.concatenate([[0], np.cumsum([rule.arity for rule in grammar], dtype=np.int64)])


def softmax(theta: FloatArray) -> FloatArray:
    """Normalise along the last axis."""
    e = np.exp(theta - theta.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def typings_of(grammar: Grammar, output_cfg: OutputCfg) -> Typings:
    """Give the typings of all rules, as arrays."""
    number = {name: k for k, name in enumerate(output_cfg.categories)}
    rows = [[(t.category, *t.children) for t in output_cfg.typings(rule.target)] for rule in grammar]
    table = np.full((sum(map(len, rows)), 1 + max(1, grammar.max_arity)), -1, np.int32)
    for k, row in enumerate(row for group in rows for row in group):
        table[k, : len(row)] = [number[name] for name in row]
    offsets = np.concatenate([[0], np.cumsum([len(group) for group in rows], dtype=np.int64)])
    return Typings(offsets, table, number[ROOT.name], len(number))


class Model:
    """A grammar with parameters: θ[context, state] and θ[state, rule]."""

    def __init__(
        self,
        grammar: Grammar,
        theta_context: FloatArray,
        theta_rule: FloatArray,
        output_cfg: OutputCfg | None = None,
        max_units: int = 1,
    ) -> None:
        self.grammar, self.output_cfg, self.max_units = grammar, output_cfg, max_units
        self.theta_context, self.theta_rule = theta_context, theta_rule
        self.deriver = Deriver(grammar, max_units)
        self._contexts = context_starts(grammar)
        states = (self._contexts[-1], theta_rule.shape[0])
        if theta_context.shape != states or theta_rule.shape != (states[1], len(grammar)):
            raise ValueError("the parameters do not fit the grammar")

    @cached_property
    def _p(self) -> tuple[FloatArray, FloatArray]:
        """p(s | context), and p(r | s) by rule."""
        return softmax(self.theta_context), np.ascontiguousarray(softmax(self.theta_rule).T)

    @cached_property
    def log_p(self) -> FloatArray:
        """Log p(r | context), contexts by rules."""
        context, rule = self._p
        with np.errstate(divide="ignore"):
            return np.log(context @ rule.T)

    @cached_property
    def _typings(self) -> Typings | None:
        """The typings of all rules, as arrays."""
        return None if self.output_cfg is None else typings_of(self.grammar, self.output_cfg)

    @cached_property
    def _kept(self) -> "Kept[Model]":
        """The model for engines."""
        return Kept(self)

    def _forests(self, sources: Sequence[Sequence[str]]) -> Forests:
        forests = self.deriver.forests(sources, LIMIT)
        return forests if self._typings is None else with_types(forests, self._typings)

    # parsing

    def parse(self, source: str | Sequence[str]) -> Parse | None:
        """Give the output of the best derivation of an input; None if the grammar does not cover it."""
        return self.parse_all([_tokens(source)])[0]

    def parse_all(self, sources: Sequence[Sequence[str]], engine: Engine = ONE_THREAD) -> list[Parse | None]:
        """Parse many inputs; an output of more than MAX_OUTPUT tokens counts as none."""
        _ = self.log_p, self._typings  # computed once, before workers ask for it
        found = engine.chunks(_best, np.arange(len(sources)), self._kept, sources, least=CHUNK)
        return [self._parse(*best) for part in found for best in part]

    def _parse(self, score: float, used: npt.NDArray[np.int32]) -> Parse | None:
        if math.isinf(score):
            return None
        derivation = Derivation.from_rules(self.deriver.rules[r] for r in used)
        short = derivation.target_length <= MAX_OUTPUT
        return Parse(derivation.example.target, derivation, float(score)) if short else None

    def best_derivations(self, sources: Sequence[Sequence[str]]) -> list[tuple[float, npt.NDArray[np.int32]]]:
        """Give log p of the best derivation of each input, −inf if there is none, and its rules in preorder."""
        scores, used, offsets = viterbi(self._forests(sources), self.log_p, self._contexts)
        return [(float(score), used[offsets[k] : offsets[k + 1]]) for k, score in enumerate(scores)]

    def parse_best(self, source: str | Sequence[str], k: int) -> list[Parse]:
        """Give the k outputs whose best derivations are the most probable."""
        found = self._in_context(self._forests([_tokens(source)])).best(k, distinct=True)
        return [Parse(ranked.target, ranked.derivation, -ranked.cost) for ranked in found]

    def _in_context(self, arrays: Forests) -> Forest:
        """Split the vertices of a forest by the context they are used in: each application then has a probability."""
        children, arguments = arrays.children.tolist(), arrays.arguments.tolist()
        applications, rules = arrays.applications.tolist(), arrays.rules.tolist()
        wanted = [{0}] + [set[int]() for _ in applications[1:-1]] if len(applications) > 1 else []
        for v in range(len(wanted)):  # parents first: when v is reached, all its contexts are known
            for a in range(applications[v], applications[v + 1]):
                for i, p in enumerate(range(arguments[a], arguments[a + 1])):
                    wanted[children[p]].add(int(self._contexts[rules[a]]) + i)
        number = {key: n for n, key in enumerate((v, c) for v, contexts in enumerate(wanted) for c in sorted(contexts))}
        vertices: list[list[Application]] = []
        for v, c in number:
            vertices.append([])
            for a in range(applications[v], applications[v + 1]):
                inner = int(self._contexts[rules[a]])
                args = [number[children[p], inner + i] for i, p in enumerate(range(arguments[a], arguments[a + 1]))]
                vertices[-1].append((-float(self.log_p[c, rules[a]]), rules[a], args))
        return Forest(vertices, self.deriver.rules)

    # probabilities

    def log_prob(self, source: str | Sequence[str], target: str | Sequence[str]) -> float:
        """Log p(x, y), summed over all derivations of the pair; −inf if there is none."""
        return float(self.log_probs([Example(_tokens(source), _tokens(target))])[0])

    def log_probs(self, examples: Sequence[Example], engine: Engine = ONE_THREAD) -> FloatArray:
        """Log p(x, y) of many pairs."""
        return engine.map(_log_probs, np.arange(len(examples)), self._kept, examples, least=CHUNK)

    def log_prob_inputs(self, sources: Sequence[Sequence[str]], engine: Engine = ONE_THREAD) -> FloatArray:
        """Log p(x) of inputs, summed over all derivations to any output."""
        return engine.map(_log_prob_inputs, np.arange(len(sources)), self._kept, sources, least=CHUNK)

    def log_inside(self, forests: Forests) -> FloatArray:
        """Log of the sum of p(z) over the derivations in each forest."""
        return log_inside(forests, np.arange(len(forests.status)), *self._p, self._contexts)


def _tokens(text: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(text.split() if isinstance(text, str) else text)


def _best(
    places: npt.NDArray[np.int64], model: Model, sources: Sequence[Sequence[str]]
) -> list[tuple[float, npt.NDArray[np.int32]]]:
    chunks = np.array_split(places, max(1, len(places) // CHUNK))
    return [best for chunk in chunks for best in model.best_derivations([sources[i] for i in chunk])]


def _log_probs(places: npt.NDArray[np.int64], model: Model, examples: Sequence[Example]) -> FloatArray:
    return model.log_inside(model.deriver.pair_forests([examples[i] for i in places], LIMIT))


def _log_prob_inputs(places: npt.NDArray[np.int64], model: Model, sources: Sequence[Sequence[str]]) -> FloatArray:
    return model.log_inside(model.deriver.forests([sources[i] for i in places], LIMIT))
