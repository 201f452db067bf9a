"""From examples to an augmented training set, and how far to trust it.

Original and synthetic pairs are mixed in about equal numbers by replicating the smaller set (paper, after Jia and Liang
2016); as weights, each pair is kept once and says how often it counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from csl.examples import Example
from csl.examples.score import Score
from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.errors import CslError
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.auto import choose
from csl.induction.config import InductionConfig
from csl.induction.induce import induce
from csl.model.config import FitConfig
from csl.model.evaluate import evaluate
from csl.model.fit import fit
from csl.model.model import Model

HELD_OUT = 10  # every tenth example is held out for the check
FEW_OPEN_RULES = 5
LOW_COVERAGE = 0.2
CFG_COST = 0.05  # of the held-out inputs, that an output CFG may cost


@dataclass(frozen=True)
class Mixture:
    """Original and synthetic pairs, and how often each is repeated so that both are about equally many."""

    original: Sequence[Example]
    synthetic: Sequence[Example]

    @property
    def copies(self) -> tuple[int, int]:
        """How often an original and a synthetic pair are repeated."""
        a, b = max(1, len(self.original)), max(1, len(self.synthetic))
        return max(1, round(b / a)), max(1, round(a / b))

    def __iter__(self) -> Iterator[Example]:
        for examples, copies in zip((self.original, self.synthetic), self.copies, strict=True):
            for _ in range(copies):
                yield from examples

    def __len__(self) -> int:
        return len(self.original) * self.copies[0] + len(self.synthetic) * self.copies[1]

    def weighted(self) -> Iterator[Example]:
        """Give each pair once, with its weight and where it is from as columns."""
        kinds = ("original", "synthetic")
        for examples, copies, kind in zip((self.original, self.synthetic), self.copies, kinds, strict=True):
            for example in examples:
                yield Example(example.source, example.target, {"weight": str(copies), "origin": kind})

    def to_dataset(self) -> Any:
        """Give a Hugging Face `Dataset` with the columns input, output, weight and origin."""
        try:
            from datasets import Dataset  # type: ignore[import-not-found] # noqa: PLC0415 — an optional library
        except ModuleNotFoundError as error:
            raise CslError("this needs the library datasets: pip install datasets") from error
        rows = [{"input": e.source_text, "output": e.target_text, **e.meta} for e in self.weighted()]
        return Dataset.from_list([row | {"weight": int(row["weight"])} for row in rows])


@dataclass(frozen=True)
class Augmented(Mixture):
    """A mixture, and the grammar and model that the synthetic pairs were drawn from."""

    grammar: Grammar
    model: Model
    warnings: tuple[str, ...]


def check_held_out(
    examples: Sequence[Example],
    induction: InductionConfig,
    fitting: FitConfig,
    *,
    seeds: Sequence[Rule] = (),
    auto: bool = False,
    output_cfg: OutputCfg | None = None,
    engine: Engine = ONE_THREAD,
) -> Score:
    """Learn from nine tenths of the distinct examples, parse the last tenth.

    With `auto`, more seeds are chosen by a look at the nine tenths.
    """
    distinct = list(dict.fromkeys(examples))
    order = np.random.default_rng(0).permutation(len(distinct))
    test = [distinct[i] for i in order[::HELD_OUT]]
    train = [distinct[i] for i in np.sort(np.setdiff1d(order, order[::HELD_OUT]))]
    if not train:
        return Score(len(test), 0, 0)
    if auto:
        seeds = [*seeds, *choose(train, seeds, output_cfg).seeds]
    grammar = induce(train, induction, seeds=seeds, output_cfg=output_cfg, engine=engine).grammar
    quick = fitting.model_copy(update={"optimizer": "em", "steps": min(50, fitting.steps)})
    return evaluate(fit(grammar, train, quick, output_cfg=output_cfg, engine=engine).model, test, engine).score


def warn(grammar: Grammar, held_out: Score, asked: int, drawn: int, without_cfg: Score | None = None) -> list[str]:
    """Say what speaks against augmenting with this grammar."""
    open_rules = sum(rule.arity > 0 for rule in grammar)
    warnings = []
    if open_rules < FEW_OPEN_RULES:
        warnings.append(f"rules with nonterminals: only {open_rules}; there is little to recombine")
    if held_out.coverage < LOW_COVERAGE:
        warnings.append(
            f"held-out inputs covered: only {held_out.covered:,} of {held_out.examples:,}; samples will be narrow, "
            "seed rules (--seeds) may help"
        )
    if without_cfg and without_cfg.right > held_out.right + CFG_COST * held_out.examples:
        warnings.append(
            f"held-out inputs right: {held_out.right:,} of {held_out.examples:,}, without the output CFG "
            f"{without_cfg.right:,}; its categories are too coarse for the rules: see docs/output-cfg.md"
        )
    if drawn < asked:
        warnings.append(f"samples: only {drawn:,} of {asked:,}; nothing else of the kind asked for came up")
    return warnings
