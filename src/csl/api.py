"""The Python interface: what `import csl` offers, beside classes. It calls the same functions as the stages of runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from csl.baselines.config import GecaConfig
from csl.baselines.geca import Geca
from csl.engine import Threads
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.induction.induce import Step
from csl.model.config import FitConfig
from csl.model.model import Model
from csl.preparing.filling import Filling
from csl.preparing.parser import Parser
from csl.preparing.phrases import learn_phrases
from csl.runs.mixture import Mixture
from csl.runs.recipe import AUTO, FitOptions, InductionOptions, Recipe, SampleOptions
from csl.runs.stages import check as checking
from csl.runs.stages import fit as fitting
from csl.runs.stages import induce as inducing
from csl.runs.stages.prepare import find_preparation
from csl.runs.stages.sample import draws_for, for_raw_text
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sampler
from csl.seq2seq.config import TrainConfig

if TYPE_CHECKING:
    from csl.seq2seq.predictor import Seq2Seq


@dataclass(frozen=True)
class Augmented(Mixture):
    """A mixture, the grammar and model that its synthetic pairs were drawn from, and what speaks against it."""

    grammar: Grammar
    parser: Parser
    warnings: tuple[str, ...]

    @property
    def model(self) -> Model:
        """The model; with `parser` it takes texts as they were given."""
        return self.parser.model


def induce(
    examples: Iterable[Example],
    config: InductionConfig | str = AUTO,
    *,
    seed_rules: Iterable[Rule] = (),
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
    progress: Callable[[Step], None] = lambda _: None,
) -> Grammar:
    """Induce a grammar that derives every example.

    `config` is an `InductionConfig`, the name of a preset, or "auto", which chooses options, and seed rules beside
    yours, by looking at the examples. `progress` is called after every step.
    """
    examples = list(examples)
    resolved, rules, _ = inducing.resolve(_induction(config), examples, seed_rules, output_cfg)
    return inducing.induce(
        examples, resolved, seed_rules=rules, output_cfg=output_cfg, engine=Threads(threads), progress=progress
    ).grammar


def fit(
    grammar: Grammar,
    examples: Iterable[Example],
    config: FitConfig | str = AUTO,
    *,
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
) -> Model:
    """Fit a model: `csl.fit(grammar, examples).parse("jump twice")`.

    `config` is a `FitConfig`, the name of a preset, or "auto". With an output CFG the model parses to valid outputs
    only. Pairs that the grammar does not derive are left out, with a warning that counts them.
    """
    examples = list(examples)
    resolved = fitting.resolve(_fit(config), len(grammar), len(examples))
    return fitting.fit(grammar, examples, resolved, output_cfg=output_cfg, engine=Threads(threads)).model


def augment(  # noqa: PLR0913 — the options of each stage, all by name
    examples: Iterable[Example],
    number: int = 100_000,
    *,
    preset: str = AUTO,
    induction: InductionConfig | None = None,
    fit: FitConfig | None = None,
    sampling: SampleConfig | None = None,
    seed_rules: Iterable[Rule] = (),
    output_cfg: OutputCfg | None = None,
    check: bool = True,
    threads: int = 1,
) -> Augmented:
    """Sample new pairs from examples: a mixture of both, to train on.

    Iterating over the result gives the mixture; `.synthetic` are the new pairs, `.weighted()` gives each pair once with
    a weight, `.to_dataset()` a Hugging Face `Dataset`. The options are those of a preset, or "auto"; `induction`, `fit`
    and `sampling` replace those of a stage. `check` learns from nine tenths of the examples and parses the rest, to
    warn if the grammar looks too weak to help. With "auto", examples of raw text (`Example.of(text, program)`) are
    prepared as `csl augment` does; the new pairs are raw text again.
    """
    examples, own, engine = list(examples), list(seed_rules), Threads(threads)
    found = find_preparation(examples, output_cfg=output_cfg) if preset == AUTO and not induction else None
    preparation, learnt, rules, cfg = None, examples, own, output_cfg
    if found:
        preparation, learnt, rules = found.preparation, found.examples, [*own, *found.seed_rules]
        cfg = output_cfg or found.categories.cfg
    raw = preparation is not None
    config, rules, _ = inducing.resolve(_induction(induction or preset), learnt, rules, cfg, prepared=raw)
    grammar = inducing.induce(learnt, config, seed_rules=rules, output_cfg=cfg, engine=engine).grammar
    fit_config = fitting.resolve(_fit(fit or preset), len(grammar), len(examples), prepared=raw)
    model = fitting.fit(grammar, learnt, fit_config, output_cfg=cfg, engine=engine).model
    warnings: list[str] = []
    if check:
        found_out = checking.check(
            examples, config, fit_config, grammar=grammar, preparation=preparation, seed_rules=own,
            auto=not induction and preset == AUTO, output_cfg=output_cfg, engine=engine,
        )  # fmt: skip
        warnings += found_out["warnings"]
        if found_out["refused"]:
            warnings.append(f"synthetic pairs may do harm: {found_out['refused']}")
    synthetic: list[Example] = []
    drawing = sampling or _sampling(preset)
    try:
        if preparation:
            phrases = learn_phrases(learnt, rules, cfg, drawing.seed, engine)
            drawing = sampling or for_raw_text(drawing, phrases)
            sampler = Sampler(phrases.grammar, drawing, model=phrases, output_cfg=cfg, train=learnt)
            filling = Filling(preparation, phrases, learnt, seed=drawing.seed, engine=engine)
            drawn = (sample.example for sample in sampler.stream(draws_for(number), engine))
            synthetic = list(filling.fill(drawn, number, known=examples))
        else:
            sampler = Sampler(grammar, drawing, model=model, output_cfg=cfg, train=learnt)
            synthetic = [sample.example for sample in sampler.stream(number, engine)]
    except InputError as error:  # no rule has nonterminals, or none leads to a valid output
        warnings.append(f"nothing to sample, there are only the original pairs: {error}")
    if 0 < len(synthetic) < number:
        warnings.append(f"only {len(synthetic):,} of {number:,} pairs: the grammar has no more of this kind")
    return Augmented(examples, synthetic, grammar, Parser(model, preparation), tuple(warnings))


def train(
    examples: Iterable[Example],
    config: TrainConfig | None = None,
    *,
    synthetic: Iterable[Example] = (),
    dev: Iterable[Example] = (),
    device: str = "auto",
) -> "Seq2Seq":
    """Train a sequence-to-sequence model: `csl.train(examples).predict([…])`; `.save(folder)` keeps it.

    With `synthetic` pairs, they have the share `config.synthetic` of each batch. With `dev` the best weights are kept.
    """
    from csl.seq2seq.train import Training  # noqa: PLC0415 — torch only where it is needed

    if isinstance(config, str | Path):
        raise InputError("csl.train no longer takes a folder; save the model with .save(folder), or use `csl train`")
    return Training(examples, config, synthetic=synthetic, dev=dev, device=device).run().model


def geca(examples: Iterable[Example], number: int = 100_000, config: GecaConfig | None = None) -> Mixture:
    """Make new pairs by GECA, which swaps fragments of examples: a mixture of both, to train on."""
    examples = list(examples)
    swaps = Geca(examples, config or GecaConfig()).stream(number)
    return Mixture(examples, [swap.example for swap in swaps])


def _induction(config: InductionConfig | str) -> InductionOptions:
    if isinstance(config, str):
        return Recipe().with_tables({"induction": {"preset": config}}).induction
    return InductionOptions(**config.model_dump())


def _fit(config: FitConfig | str) -> FitOptions:
    if isinstance(config, str):
        return Recipe().with_tables({"fit": {"preset": config}}).fit
    return FitOptions(**config.model_dump())


def _sampling(preset: str) -> SampleOptions:
    return Recipe().with_tables({"sampling": {"preset": preset}}).sampling
