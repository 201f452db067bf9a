"""The Python interface: what `import csl` offers."""

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec

from csl.baselines.geca import Geca, GecaConfig
from csl.engine.threads import Threads
from csl.errors import InputError
from csl.examples import Example
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
from csl.runs.mixture import Augmented, Mixture, check_held_out, warn
from csl.sampling.config import SampleConfig
from csl.sampling.config import preset as sample_preset
from csl.sampling.sampler import Sampler


def induce(
    examples: Iterable[Example],
    config: InductionConfig | str = "auto",
    *,
    seeds: Iterable[Rule] = (),
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
    progress: Callable[[Step], None] | None = None,
) -> Grammar:
    """Induce a grammar that derives every example.

    `config` is an `InductionConfig`, the name of a preset, or "auto", which chooses options, and seed rules beside
    yours, by a look at the examples. `progress` is called after every step.
    """
    examples = list(examples)
    if config == "auto":
        seeds = list(seeds)
        choice = choose(examples, seeds, output_cfg)
        config, seeds = choice.config, [*seeds, *choice.seeds]
    elif isinstance(config, str):
        config = preset(config)
    return _induce(
        examples, config, seeds=seeds, output_cfg=output_cfg, engine=Threads(threads), progress=progress
    ).grammar


def fit(
    grammar: Grammar,
    examples: Iterable[Example],
    config: FitConfig | str = "auto",
    *,
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Model:
    """Fit a model: `csl.fit(grammar, examples).parse("jump twice")`.

    `config` is a `FitConfig`, the name of a preset, or "auto". With an output CFG the model parses to valid outputs
    only. Pairs that the grammar does not derive are left out, with a warning that counts them.
    """
    examples = list(examples)
    if config == "auto":
        config, _ = choose_fit(len(grammar), len(examples))
    elif isinstance(config, str):
        config = fit_preset(config)
    engine = Threads(threads)
    fitted = _fit(grammar, examples, config, output_cfg=output_cfg, engine=engine, progress=progress)
    if fitted.left_out:
        line = f"{len(fitted.left_out):,} pairs left out: the grammar does not derive them, or in too many ways"
        warnings.warn(line, stacklevel=2)
    return fitted.model


def augment(
    examples: Iterable[Example],
    number: int = 100_000,
    *,
    config: str = "auto",
    sampling: SampleConfig | None = None,
    seeds: Iterable[Rule] = (),
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
) -> Augmented:
    """Sample new pairs from examples: a mixture of both in equal parts, to train on.

    Iterating over the result gives the mixture; `.synthetic` are the new pairs, `.weighted()` gives each pair once with
    a weight, `.to_dataset()` a Hugging Face `Dataset`. `config` is the name of a preset, or "auto".
    """
    examples, own, engine = list(examples), list(seeds), Threads(threads)
    rules = own
    if config == "auto":
        choice = choose(examples, own, output_cfg)
        inducing, rules = choice.config, [*own, *choice.seeds]
        fitting = None
    else:
        inducing, fitting = preset(config), fit_preset(config)
    grammar = _induce(examples, inducing, seeds=rules, output_cfg=output_cfg, engine=engine).grammar
    fitting, said = fitting or choose_fit(len(grammar), len(examples))[0], list[str]()
    if fitting.optimizer == "adam" and find_spec("torch") is None:
        fitting = fitting.model_copy(update={"optimizer": "em"})
        said.append("torch is not installed: fitted by expectation-maximisation instead of Adam")
    drawing = sampling or sample_preset(config)
    model = _fit(grammar, examples, fitting, output_cfg=output_cfg, engine=engine).model
    synthetic: list[Example] = []
    try:
        sampler = Sampler(grammar, drawing, model=model, output_cfg=output_cfg, train=examples)
    except InputError as error:  # no rule has nonterminals, or none leads to a valid output
        said.append(f"nothing to sample, there are only the original pairs: {error}")
    else:
        synthetic = [sample.example for sample in sampler.stream(number, engine)]
    check = partial(check_held_out, examples, inducing, fitting, seeds=own, auto=config == "auto", engine=engine)
    without_cfg = check() if output_cfg else None
    said += warn(grammar, check(output_cfg=output_cfg), number, len(synthetic), without_cfg)
    return Augmented(examples, synthetic, grammar, model, tuple(said))


def geca(examples: Iterable[Example], number: int = 100_000, config: GecaConfig | None = None) -> Mixture:
    """Make new pairs by GECA, which swaps fragments of examples: a mixture of both in equal parts, to train on."""
    examples = list(examples)
    swaps = Geca(examples, config or GecaConfig()).stream(number)
    return Mixture(examples, [swap.example for swap in swaps])
