"""The Python interface: what `import csl` offers."""

import warnings
from collections.abc import Callable, Iterable, Sequence

from csl.data import Example
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.auto import choose
from csl.induction.config import InductionConfig, preset
from csl.induction.induce import Step
from csl.induction.induce import induce as _induce
from csl.model.config import FitConfig
from csl.model.config import choose as choose_fit
from csl.model.config import preset as fit_preset
from csl.model.fit import Progress
from csl.model.fit import fit as _fit
from csl.model.model import Model


def induce(
    examples: Sequence[Example],
    config: InductionConfig | str = "auto",
    *,
    seeds: Iterable[Rule] = (),
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
    progress: Callable[[Step], None] | None = None,
) -> Grammar:
    """Induce a grammar that derives every example.

    `config` is an `InductionConfig`, the name of a preset, or "auto", which chooses options, and identity seed rules
    beside yours, by a look at the examples. `progress` is called after every step.
    """
    if config == "auto":
        choice = choose(examples)
        config, seeds = choice.config, [*seeds, *choice.seeds]
    elif isinstance(config, str):
        config = preset(config)
    return _induce(examples, config, seeds=seeds, output_cfg=output_cfg, threads=threads, progress=progress).grammar


def fit(
    grammar: Grammar,
    examples: Sequence[Example],
    config: FitConfig | str = "auto",
    *,
    dev: Sequence[Example] = (),
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Model:
    """Fit a model: `csl.fit(grammar, examples).parse("jump twice")`.

    `config` is a `FitConfig`, the name of a preset, or "auto". With an output CFG the model parses to valid outputs
    only. Pairs that the grammar does not derive are left out, with a warning that counts them.
    """
    if config == "auto":
        config, _ = choose_fit(len(grammar), len(examples))
    elif isinstance(config, str):
        config = fit_preset(config)
    fitted = _fit(grammar, examples, config, dev=dev, output_cfg=output_cfg, threads=threads, progress=progress)
    if fitted.left_out:
        warnings.warn(f"{len(fitted.left_out):,} pairs left out: the grammar does not derive them", stacklevel=2)
    return fitted.model
