"""The generative model p(x, y) over derivations, and its use as a parser.

p(z) is the product of p(r | r_p, i) over the rule applications of z (paper, Eq. "derivation_prob"), with
p(r | r_p, i) = Σ_s p(r | s) p(s | r_p, i) (Eq. "rule"). The context (r_p, i) is nonterminal i of rule r_p; at the
top of a derivation it is the root. Both factors are softmax of parameters θ.

With an output CFG, parsing (`inference` = typed) looks at derivations with a typing from its start symbol: the best
valid output. Where there is none, and always with `inference` = paper ("Inference Procedure"), the best of all
derivations counts if its output is valid.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError, LimitWarning
from csl.examples import Example, split_tokens
from csl.grammar import Grammar
from csl.grammar.output_cfg import ROOT, OutputCfg
from csl.kernels.budget import COVERED, STOPPED, TOO_MANY, UNCOVERED
from csl.kernels.inside import lazy_scores, log_inside, log_p, viterbi
from csl.kernels.intersection import Typings, by_type
from csl.kernels.source_chart import Forests
from csl.model.config import Inference
from csl.model.storage import load_model, save_model
from csl.parsing.derivation import MAX_OUTPUT, Derivation
from csl.parsing.deriver import BATCH, DEFAULT, Batch, Deriver, products
from csl.parsing.forest import Places
from csl.parsing.limits import Abstained, Limits, given_up

FloatArray = npt.NDArray[np.float64]
Table = npt.NDArray[Any]  # of float32 or float64
CHECKED = 256  # tokens of an output that a CFG is asked about, at most
NUMBERS = 8  # of an inside pass that take as much memory as an item

Best = tuple[float, int, Places]
"""Log p of a best derivation, the status of its input, and its rules in preorder."""


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


def context_starts(grammar: Grammar) -> Places:
    """Give the first context of each rule, one for each of its nonterminals, and their number; the root is 0."""
    return 1 + np.concatenate([[0], np.cumsum([rule.arity for rule in grammar], dtype=np.int64)])


def softmax(theta: Table) -> Table:
    """Normalise along the last axis."""
    e = np.exp(theta - theta.max(axis=-1, keepdims=True))
    normalised: Table = e / e.sum(axis=-1, keepdims=True)
    return normalised


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
        levels: int | None = None,
        inference: Inference = "typed",
    ) -> None:
        """Put a model together; `levels` is how many the derivations of its training pairs need, if that is known."""
        self.grammar, self.output_cfg, self.max_units, self.levels = grammar, output_cfg, max_units, levels
        self.theta_context, self.theta_rule, self.inference = theta_context, theta_rule, inference
        self.deriver = Deriver(grammar, max_units)
        self._contexts = context_starts(grammar)
        states = (self._contexts[-1], theta_rule.shape[0])
        if theta_context.shape != states or theta_rule.shape != (states[1], len(grammar)):
            raise ValueError("the parameters do not fit the grammar")

    def save(self, path: Path | str) -> None:
        """Write the model to a file, with its grammar and output CFG."""
        save_model(self, path)

    @staticmethod
    def load(path: Path | str) -> "Model":
        """Read a model that `save` wrote."""
        return load_model(path)

    def with_inference(self, inference: Inference) -> "Model":
        """Give the same model with another way to parse."""
        theta = self.theta_context, self.theta_rule
        return Model(self.grammar, *theta, self.output_cfg, self.max_units, self.levels, inference)

    @property
    def parameters(self) -> int:
        """How many parameters there are: as many as states for each rule and each context."""
        return int(self.theta_context.size + self.theta_rule.size)

    @property
    def _skips_types(self) -> bool:
        """Whether parsing takes the best derivation of all, though there are types."""
        return self.output_cfg is not None and self.inference == "paper"

    @cached_property
    def _p(self) -> tuple[FloatArray, FloatArray]:
        """p(s | context), and p(r | s) by rule."""
        return softmax(self.theta_context), np.ascontiguousarray(softmax(self.theta_rule).T)

    def log_p(self, contexts: Places, rules: Places) -> FloatArray:
        """Log p(r | context) of some contexts (`context_starts`) and rules: a table."""
        return log_p(*self._p, contexts, rules)

    @cached_property
    def _typings(self) -> Typings | None:
        """The typings of all rules, as arrays."""
        return None if self.output_cfg is None else typings_of(self.grammar, self.output_cfg)

    @cached_property
    def _untyped(self) -> "Model":
        """The model without its output CFG."""
        return Model(self.grammar, self.theta_context, self.theta_rule, None, self.max_units)

    def _batches(self, sources: Sequence[Sequence[str]], limits: Limits) -> Iterator[Batch]:
        """Build the forests of inputs, of valid derivations only if there is an output CFG, batch by batch."""
        for batch in self.deriver.batches(sources, limits):
            if self._typings is None:
                yield batch
                continue
            first = batch.first
            for forests in products(batch, by_type(self._typings)):
                yield Batch(first, forests, batch.budget)
                first += len(forests.status)

    # parsing

    def parse(self, source: str | Sequence[str], limits: Limits = DEFAULT) -> Parse | None:
        """Give the output of the best derivation of an input; None if the grammar does not cover it."""
        return self.parse_all([_tokens(source)], limits=limits)[0]

    def parse_all(
        self, sources: Sequence[Sequence[str]], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> list[Parse | None]:
        """Parse many inputs; a warning counts those that are given up, and `outcomes` tells them apart."""
        outcomes = self.outcomes(sources, engine, limits)
        _warn(outcomes)
        return [None if isinstance(outcome, Abstained) else outcome for outcome in outcomes]

    def outcomes(
        self, sources: Sequence[Sequence[str]], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> list[Parse | Abstained]:
        """Parse many inputs: the output of each, or why there is none.

        With an output CFG and `inference` = typed the best of the derivations whose types fit counts. Where there is
        none, the best of all counts if its output is valid: categories can be coarser than the pieces that rules are
        made of. With `inference` = paper the best of all is looked at right away.
        """
        places = {source: k for k, source in enumerate(dict.fromkeys(map(_tokens, sources)))}  # each is parsed once
        if len(places) < len(sources):
            parsed = self.outcomes(list(places), engine, limits)
            return [parsed[places[_tokens(source)]] for source in sources]
        sources = list(places)
        outcomes: list[Parse | Abstained] = [Abstained.NOT_COVERED] * len(sources)
        if not self._skips_types:
            state = (self, sources, limits)
            found = engine.chunks(_best, np.arange(len(sources)), *state, doing="parsing inputs")
            outcomes = [self._outcome(*best) for part in found for best in part]
        if self.output_cfg is not None:
            rest = [k for k, outcome in enumerate(outcomes) if outcome is Abstained.NOT_COVERED]
            untyped = self._untyped.outcomes([sources[k] for k in rest], engine, limits) if rest else []
            for k, outcome in zip(rest, untyped, strict=True):
                if not isinstance(outcome, Parse) or self._is_valid(outcome):
                    outcomes[k] = outcome
        return outcomes

    def _is_valid(self, parse: Parse) -> bool:
        """Tell whether the output CFG accepts an output that is not too long for a look."""
        try:
            return (
                len(parse.target) <= CHECKED and self.output_cfg is not None and self.output_cfg.accepts(parse.target)
            )
        except InputError:  # too ambiguous
            return False

    def _outcome(self, score: float, status: int, used: Places) -> Parse | Abstained:
        if status != COVERED or math.isinf(score):
            return _WHY.get(status, Abstained.NOT_COVERED)
        derivation = Derivation.from_rules(self.deriver.rules[r] for r in used)
        if derivation.target_length > MAX_OUTPUT:
            return Abstained.TOO_LONG
        return Parse(derivation.example.target, derivation, float(score))

    def best_derivations(self, sources: Sequence[Sequence[str]], limits: Limits = DEFAULT) -> list[Best]:
        """Give log p of the best derivation of each input, its status, and the rules in preorder."""
        found: list[Best] = []
        for _, forests, budget in self._batches(sources, limits):
            scores, used, offsets = viterbi(forests, lazy_scores(*self._p), self._contexts, budget)
            for k, score in enumerate(scores):
                status = int(forests.status[k])
                if math.isnan(score):
                    status = STOPPED if budget.stop[0] else TOO_MANY
                found.append((float(score), status, used[offsets[k] : offsets[k + 1]]))
        return found

    # probabilities

    def log_prob(self, source: str | Sequence[str], target: str | Sequence[str], limits: Limits = DEFAULT) -> float:
        """Log p(x, y), summed over all derivations of the pair; −inf if there is none, nan if it is given up."""
        return float(self.log_probs([Example(_tokens(source), _tokens(target))], limits=limits)[0])

    def log_probs(
        self, examples: Sequence[Example], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> FloatArray:
        """Log p(x, y) of many pairs."""
        return engine.map(_log_probs, np.arange(len(examples)), self, examples, limits)

    def log_prob_inputs(
        self, sources: Sequence[Sequence[str]], engine: Threads = ONE_THREAD, limits: Limits = DEFAULT
    ) -> FloatArray:
        """Log p(x) of inputs, summed over all derivations to any output."""
        sources = [_tokens(source) for source in sources]
        return engine.map(_log_prob_inputs, np.arange(len(sources)), self, sources, limits)

    def log_inside(self, forests: Forests, limits: Limits = DEFAULT) -> FloatArray:
        """Log of the sum of p(z) over the derivations in each forest; nan if that is given up."""
        values = np.full(len(forests.status), np.nan)
        few = np.diff(forests.vertices) * self._p[0].shape[1] <= limits.items * NUMBERS
        places = np.flatnonzero((forests.status <= COVERED) & few)
        values[places] = log_inside(forests, places, *self._p, self._contexts)
        return values


_WHY = {UNCOVERED: Abstained.NOT_COVERED, TOO_MANY: Abstained.TOO_MANY, STOPPED: Abstained.STOPPED}


def _warn(outcomes: Sequence[object]) -> None:
    """Warn of inputs that are given up."""
    line = given_up(outcomes, len(outcomes))
    if line:
        warnings.warn(line, LimitWarning, stacklevel=3)


def _tokens(text: str | Sequence[str]) -> tuple[str, ...]:
    return split_tokens(text) if isinstance(text, str) else tuple(text)


def _best(places: npt.NDArray[np.int64], model: Model, sources: Sequence[Sequence[str]], limits: Limits) -> list[Best]:
    if limits.seconds is not None:
        model.best_derivations([()])  # kernels are compiled before the clock starts
    return model.best_derivations([sources[i] for i in places], limits)


def _log_probs(places: npt.NDArray[np.int64], model: Model, examples: Sequence[Example], limits: Limits) -> FloatArray:
    chunks = np.array_split(places, 1 + len(places) // BATCH)
    some = ([examples[i] for i in chunk] for chunk in chunks)
    return np.concatenate([model.log_inside(model.deriver.pair_forests(part, limits), limits) for part in some])


def _log_prob_inputs(
    places: npt.NDArray[np.int64], model: Model, sources: Sequence[Sequence[str]], limits: Limits
) -> FloatArray:
    batches = model.deriver.batches([sources[i] for i in places], limits)
    return np.concatenate([model.log_inside(batch.forests, limits) for batch in batches])
