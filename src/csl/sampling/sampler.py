"""A stream of sampled pairs in constant memory.

Draws are numbered and made in chunks of fixed size, so that the stream depends only on the seed, not on the number of
threads. If a grammar has fewer distinct pairs than are asked for, the stream ends when draws bring almost nothing new
any more.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from itertools import count as count_from
from typing import Any

import numpy as np
import numpy.typing as npt

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.flat import Rules
from csl.kernels.sample import (
    EXACT,
    Local,
    Tables,
    context_counts,
    draw,
    draw_local,
    expand,
    keep_new,
    missing,
    pair_keys,
)
from csl.model.model import FloatArray, Model, context_starts, softmax
from csl.parsing.derivation import Derivation
from csl.parsing.deriver import Deriver
from csl.sampling.automaton import build_automaton
from csl.sampling.config import DEEPEST, TEMPERED, SampleConfig
from csl.sampling.tables import build_local, build_tables, check_size, ends

CHUNK = 4096  # draws made together
PATIENCE = 25  # chunks after which is looked at how many new pairs they brought
PILOT = 25  # chunks that tell how often rules come up
SCARCE = 0.001  # if they add less than this share to what was found, or nothing, the grammar counts as exhausted

Drawn = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
"""A chunk of draws: rules in preorder, end to end, and their offsets."""

Chances = tuple[FloatArray, FloatArray]
"""p(s | context) and p(r | s)."""

Draw = Callable[[int], Drawn]
"""Makes a chunk of draws, from this number on."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A sampled pair, with the numbers of the rules of its derivation in preorder."""

    example: Example
    rules: tuple[int, ...]


class Stream(Iterator[Sample]):
    """Samples, one after the other; `exhausted` is true when they ended because nothing new came up."""

    def __init__(self, samples: Callable[["Stream"], Iterator[Sample]]) -> None:
        self.exhausted = False
        self._samples = samples(self)

    def __next__(self) -> Sample:
        return next(self._samples)


class Sampler:
    """Draws pairs from a grammar."""

    def __init__(
        self,
        grammar: Grammar,
        config: SampleConfig,
        *,
        model: Model | None = None,
        output_cfg: OutputCfg | None = None,
        train: Sequence[Example] = (),
    ) -> None:
        """Build the tables. Most strategies need a model; `train` is what counts as known."""
        config.check()
        if not config.max_depth:
            if model is None or model.levels is None:
                raise InputError(
                    "max_depth = 0 needs a model that knows its training pairs: csl fit --no-resume, or set one"
                )
            config = config.model_copy(update={"max_depth": min(DEEPEST, max(config.min_depth, model.levels))})
        self.rules: tuple[Rule, ...] = tuple(grammar)
        self.config = config
        self.model = model
        first = {example: k for k, example in reversed(list(enumerate(train, start=1)))}
        self._train = list(dict.fromkeys(train))
        self._lines = np.array([first[example] for example in self._train], np.int64)
        self._deriver = Deriver(grammar)
        vocabulary = self._deriver.vocabulary
        self._tokens = np.array([vocabulary.token(i) for i in range(len(vocabulary))], object)
        self._last: Stream | None = None
        if not config.needs_model:
            self._draw = self._local(grammar, None, output_cfg)
        else:
            if model is None:
                raise InputError(f"strategy {config.strategy!r} needs a fitted model: run `csl fit`, or choose uniform")
            draw = self._local if config.is_local else self._exact
            self._draw = draw(grammar, self._probabilities(model), output_cfg)

    def _probabilities(self, model: Model) -> Chances:
        """p(s | context), and p(r | s) with temperature and δ."""
        config, theta = self.config, model.theta_rule
        if config.strategy in TEMPERED:
            theta = np.zeros_like(theta) if math.isinf(config.temperature) else theta / config.temperature
        many = np.array([rule.arity > config.bias_above for rule in self.rules])
        return softmax(model.theta_context), softmax(theta + config.depth_bias * many)

    def _exact(self, grammar: Grammar, chances: Chances, output_cfg: OutputCfg | None) -> Draw:
        config = self.config
        automaton = build_automaton(grammar, output_cfg)
        tables = ONE_THREAD.call(build_tables, automaton, *chances, config.max_depth)
        exact = tables.reach[EXACT, config.min_depth :, 0][:, tables.goal]
        if not exact.sum() > 0:
            raise self._nothing(output_cfg)
        even = config.depths == "even"
        return partial(_draw_exact, tables, config.max_depth, config.min_depth, even, config.seed, config.max_length)

    def _local(self, grammar: Grammar, chances: Chances | None, output_cfg: OutputCfg | None) -> Draw:
        config, p = self.config, None
        if chances:
            context, rules = chances
            check_size(len(context) * rules.shape[1])
            p = context @ rules
        local = build_local(grammar, output_cfg, p)
        first, last = local.categories[local.root], local.categories[local.root + 1]
        rows = range(local.rows[first], local.rows[last])
        owner = np.repeat(local.rule[first:last], np.diff(local.rows[first : last + 1]))
        fits = [
            local.levels[k] <= config.max_depth and local.arity[r] >= config.min_depth - 1
            for k, r in zip(rows, owner, strict=True)
        ]
        if not any(fits):
            raise self._nothing(output_cfg)
        uses = np.zeros((0, 0))
        if config.strategy == "coverage":
            used, sizes, _ = self._deriver.derive_all(self._train)
            uses = context_counts(used, np.concatenate([[0], np.cumsum(sizes)]), context_starts(grammar), local.arity)
        return partial(_draw_local, local, config.max_depth, config.min_depth, config.seed, uses, config.max_length)

    def _nothing(self, output_cfg: OutputCfg | None) -> InputError:
        """Explain why there is nothing to draw."""
        least, most = self.config.min_depth, self.config.max_depth
        if least > 1 and not any(rule.arity for rule in self.rules):
            return InputError("no rule of the grammar has nonterminals, so that there is nothing to recombine")
        if output_cfg and not ends(build_local(Grammar(self.rules), output_cfg)):
            return InputError("no rules have types that fit together to a whole output: see docs/output-cfg.md")
        return InputError(f"no valid derivation has between {least} and {most} levels; change the depths")

    @property
    def exhausted(self) -> bool:
        """Whether the stream that was started last ended because nothing new came up."""
        return self._last is not None and self._last.exhausted

    def stream(self, count: int, engine: Threads = ONE_THREAD) -> Stream:
        """Draw `count` pairs, fewer if there are not so many; streams do not depend on each other."""
        self._last = Stream(lambda stream: self._samples(count, engine, stream))
        return self._last

    def _samples(self, count: int, engine: Threads, stream: Stream) -> Iterator[Sample]:
        found, drawn, fresh = 0, 0, 0
        slots, known = np.zeros(1 << 16, np.uint64), 0  # keys of pairs that are not wanted (again)
        if self.config.new and self._train:
            x, y = (self._deriver.encode(getattr(e, side) for e in self._train) for side in ("source", "target"))
            _, slots, known = keep_new(pair_keys(*x, *y), slots, known)
        if count < 1:
            return
        keep, uses = self._chances(), Counter[int]()
        state = (self._draw, self._deriver.arrays, self.config.max_length)
        for start in count_from(0, CHUNK * engine.number):
            starts = np.arange(start, start + CHUNK * engine.number, CHUNK)
            for rules, offsets, x, xo, y, yo in chain(*engine.chunks(_chunks, starts, state, parts=engine.number)):
                keys, good = pair_keys(x, xo, y, yo), (np.diff(xo) > 0) & (np.diff(yo) > 0)
                if self.config.balance > 1:
                    chance = np.random.default_rng((self.config.seed, drawn)).random(CHUNK)
                    good &= chance < _each(np.maximum, keep[rules], offsets)
                if self.config.unique:
                    good[good], slots, known = keep_new(keys[good], slots, known)
                else:
                    good &= missing(keys, slots)
                if self.config.output_power < 1:
                    good[good] = self._by_output(pair_keys(y, yo, y, yo)[good], uses, drawn)
                drawn, fresh = drawn + 1, fresh + int(good.sum())
                for i in np.flatnonzero(good):
                    source, target = self._tokens[x[xo[i] : xo[i + 1]]], self._tokens[y[yo[i] : yo[i + 1]]]
                    yield Sample(
                        Example(tuple(source), tuple(target)), tuple(rules[offsets[i] : offsets[i + 1]].tolist())
                    )
                    found += 1
                    if found == count:
                        return
                if drawn % PATIENCE == 0:
                    if fresh * self.config.balance < max(1, SCARCE * min(found, PATIENCE * CHUNK)):
                        stream.exhausted = True
                        return
                    fresh = 0

    def _by_output(self, outputs: npt.NDArray[np.uint64], uses: Counter[int], chunk: int) -> npt.NDArray[np.bool_]:
        """Choose pairs by the keys of their outputs: of the first n with one output, n^p on average."""
        number, power = np.empty(len(outputs)), self.config.output_power
        for i, output in enumerate(outputs.tolist()):
            uses[output] += 1
            number[i] = uses[output]
        before = np.where(number > 1, (number - 1) ** power, 0)
        kept: npt.NDArray[np.bool_] = (
            np.random.default_rng((self.config.seed, 1, chunk)).random(len(outputs)) < number**power - before
        )
        return kept

    def _chances(self) -> npt.NDArray[np.float64]:
        """Give for each rule the chance that a draw with it is kept, if no rarer rule is in the draw.

        Chances are as 1 to the rule's frequency in a pilot, so that rules are used alike, as far as there are draws for
        it; on the whole one of `balance` draws is kept.
        """
        frequency, rarest = np.zeros(len(self.rules)), []
        chunks = [self._draw(start) for start in range(0, PILOT * CHUNK, CHUNK)] if self.config.balance > 1 else []
        for rules, _ in chunks:
            frequency += np.bincount(rules, minlength=len(self.rules)) / (PILOT * CHUNK)
        for rules, offsets in chunks:
            rarest.append(_each(np.minimum, frequency[rules], offsets))
        low, high = 0.0, 1.0
        for _ in range(50 if chunks else 0):
            middle = (low + high) / 2
            kept = np.minimum(1, middle / np.concatenate(rarest)).mean()
            low, high = (low, middle) if kept * self.config.balance > 1 else (middle, high)
        return np.minimum(1, high / np.maximum(frequency, high))

    def derivation(self, sample: Sample) -> Derivation:
        """Rebuild the derivation of a sample."""
        return Derivation.from_rules(self.rules[r] for r in sample.rules)

    def parents(self) -> dict[int, int]:
        """For each rule that training examples use, the place of the first that does, counted from 1."""
        used, sizes, _ = self._deriver.derive_all(self._train)
        number = np.repeat(self._lines, sizes)
        rules, first = np.unique(used, return_index=True)
        return dict(zip(rules.tolist(), number[first].tolist(), strict=True))


def _each(best: np.ufunc, values: npt.NDArray[np.float64], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Reduce the values of each draw."""
    return best.reduceat(values, offsets[:-1])


def _draw_exact(
    tables: Tables, max_depth: int, min_depth: int, even: bool, seed: int, longest: int, start: int
) -> Drawn:
    drawn: Drawn = draw(tables, max_depth, min_depth, even, seed, start, CHUNK, longest)
    return drawn


def _draw_local(
    local: Local, max_depth: int, min_depth: int, seed: int, uses: FloatArray, longest: int, start: int
) -> Drawn:
    drawn: Drawn = draw_local(local, max_depth, min_depth, seed, start, CHUNK, uses.copy(), longest)
    return drawn


def _chunks(starts: npt.NDArray[np.int64], state: tuple[Draw, Rules, int]) -> list[tuple[npt.NDArray[Any], ...]]:
    """Make chunks of draws, and the pairs that they derive."""
    some, arrays, max_length = state
    made = []
    for start in starts:
        rules, offsets = some(int(start))
        made.append((rules, offsets, *expand(arrays, rules, offsets, max_length)))
    return made
