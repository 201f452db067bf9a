"""The whole way from examples to an augmented training set, in a run folder.

Beside what induction and fitting write: samples.tsv, the synthetic pairs; augmented.tsv, original and synthetic pairs
in equal proportions (or, as weights, each once with a weight); augmented.card.json, what was done.
"""

import hashlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from csl import __version__
from csl.runs.mixture import Mixture, check_held_out, warn
from csl.examples import Example, read_examples, write_examples
from csl.files import hash_file, read_json, write_json
from csl.lock import folder_lock
from csl.options import changed
from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.errors import InputError
from csl.arrays import DAMAGED
from csl.runs.fitting import fit_into, load_model, read_run
from csl.runs.run import fingerprint, induce_into
from csl.runs.sampling import describe, in_json, source_licence, write_samples
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.model import config as fitting
from csl.model.config import FitConfig
from csl.model.model import Model
from csl.parsing.deriver import Deriver
from csl.sampling.config import SampleConfig, preset_with
from csl.sampling.sampler import Sampler

Say = Callable[[str], None]
FILES = ("samples.tsv", "augmented.tsv")
CARD = "augmented.card.json"  # written last: a folder with it is finished


@dataclass(frozen=True)
class Plan:
    """The options of all stages. Preset auto chooses those of fitting by the size of the data."""

    induction: InductionConfig
    number: int
    weights: bool = False
    preset: str = "auto"
    seed: int = 0
    sampling: Mapping[str, object] = field(default_factory=dict)  # over the preset

    def configs(self, rules: int, examples: int) -> tuple[FitConfig, SampleConfig]:
        """Give the options of fitting and sampling for a grammar of this size."""
        fit = fitting.choose(rules, examples)[0] if self.preset == "auto" else fitting.preset(self.preset)
        draw = preset_with(self.preset, {"seed": self.seed, **self.sampling})
        return changed(fit, {"seed": self.seed}), draw


def augment_into(
    folder: Path,
    examples: Sequence[Example],
    plan: Plan,
    *,
    seeds: Sequence[Rule] = (),
    chosen: Sequence[Rule] = (),
    output_cfg: OutputCfg | None = None,
    engine: Engine = ONE_THREAD,
    resume: bool = True,
    about: dict[str, object] | None = None,
    say: Say = lambda _: None,
    progress: Say = lambda _: None,
) -> list[str]:
    """Induce, fit, sample and merge. Returns what speaks against the result. `chosen` are seeds that auto adds.

    `say` hears what each stage found, `progress` what is going on. What is in the folder already is not made again,
    unless `resume` is off; a folder that holds the grammar of other examples or options is refused.
    """
    every = list(dict.fromkeys([*seeds, *chosen]))
    mark = hashlib.sha256(f"{fingerprint(examples, plan.induction, every, output_cfg)} {plan}".encode()).hexdigest()
    with folder_lock(folder):
        if resume and (card := _finished_card(folder, mark, say)):
            say(f"{folder} holds this augmented set already; --no-resume makes it anew")
            return list(card["warnings"])
        return _augment(folder, examples, plan, mark, seeds, every, output_cfg, engine, resume, about, say, progress)


def _augment(
    folder: Path,
    examples: Sequence[Example],
    plan: Plan,
    mark: str,
    seeds: Sequence[Rule],
    every: Sequence[Rule],
    output_cfg: OutputCfg | None,
    engine: Engine,
    resume: bool,
    about: dict[str, object] | None,
    say: Say,
    progress: Say,
) -> list[str]:
    progress("inducing a grammar (a first run compiles for a while) …")
    induce_into(
        folder, examples, plan.induction, seeds=every, output_cfg=output_cfg, engine=engine, resume=resume,
        about=about, say=_of_note(say),
        progress=lambda step, _: progress(f"inducing: {step.rules:,} rules, objective {step.objective:,.0f}"),
    )  # fmt: skip
    (folder / CARD).unlink(missing_ok=True)  # the folder was not refused, and is no longer finished
    grammar, _ = read_run(folder)
    fit_options, draw_options = plan.configs(len(grammar), len(examples))
    if fit_options.optimizer == "adam" and importlib.util.find_spec("torch") is None:
        say("torch is not installed: fitting by expectation-maximisation instead of Adam")
        fit_options = changed(fit_options, {"optimizer": "em"})
    open_rules = sum(rule.arity > 0 for rule in grammar)
    derivable = Deriver(grammar, fit_options.max_units).derivable(examples, engine).mean()
    say(f"grammar: {len(grammar):,} rules, {open_rules:,} with nonterminals, derive {derivable:.1%} of the examples")

    progress("learning from nine tenths of the examples, to check on the rest …")
    check = partial(
        check_held_out, examples, plan.induction, fit_options, seeds=seeds, auto=plan.preset == "auto", engine=engine
    )
    held_out, without_cfg = check(output_cfg=output_cfg), check() if output_cfg else None
    say(
        f"check: learnt from the others, {held_out.covered:,} of {held_out.examples:,} held-out inputs are covered and "
        f"{held_out.precision:.1%} of those right"
    )
    model = _fit(folder, examples, fit_options, engine, resume, say, progress)
    path, licence = folder / "samples.tsv", source_licence(folder)
    drawn, problem = _sample(path, grammar, model, draw_options, plan.number, examples, engine, licence, progress)
    known = set(examples)
    synthetic = list(read_examples(path)) if drawn else []
    fresh = sum(example not in known for example in synthetic)
    say(f"samples: {drawn:,} ({describe(draw_options)}), {fresh / max(1, drawn):.0%} not in the training set")

    mixture = Mixture(examples, synthetic)
    columns = ("weight", "origin") if plan.weights else ()
    lines = write_examples(folder / "augmented.tsv", mixture.weighted() if plan.weights else mixture, columns=columns)
    warnings = warn(grammar, held_out, plan.number, drawn, without_cfg) + problem
    write_json(
        folder / CARD,
        {
            "csl": __version__, "original": len(examples), "synthetic": drawn, "new": fresh, "copies": mixture.copies,
            "lines": lines, "columns": ["input", "output", *columns], "warnings": warnings, "rules": len(grammar),
            "held_out": {"examples": held_out.examples, "covered": held_out.covered, "right": held_out.right},
            "fit": fit_options.model_dump(), "sampling": in_json(draw_options), "config_hash": mark,
            "licence": licence, "sha256": {name: hash_file(folder / name) for name in FILES},
        },
    )  # fmt: skip
    original, copied = mixture.copies
    say(f"merged: {len(examples):,} original pairs × {original:,} and {drawn:,} synthetic pairs × {copied:,}")
    return warnings


def _of_note(say: Say) -> Say:
    """Of what a stage says, hear of damaged files and invalid outputs, not of how it goes on in the folder."""
    return lambda line: say(line) if DAMAGED in line or "output CFG" in line else None


def _finished_card(folder: Path, mark: str, say: Say) -> dict[str, Any] | None:
    """Read the data card of a folder, if it is finished and of the run with this mark."""
    if not all((folder / name).exists() for name in (CARD, *FILES)):
        return None
    try:
        card: dict[str, Any] = read_json(folder / CARD)
        if card["config_hash"] != mark:
            return None
        for name in FILES:
            if hash_file(folder / name) != card["sha256"][name]:
                say(f"{folder / name}: {DAMAGED}; it is made anew")
                return None
        return card
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("not a data card; remove it", folder / CARD) from error


def _fit(
    folder: Path,
    examples: Sequence[Example],
    config: FitConfig,
    engine: Engine,
    resume: bool,
    say: Say,
    progress: Say,
) -> Model:
    fitted = fit_into(
        folder, examples, config, engine=engine, resume=resume, say=_of_note(say),
        progress=lambda report: progress(f"fitting: step {report.step:,}, mean log p(x, y) {report.train:.3f}"),
    )  # fmt: skip
    if not fitted:
        say(f"model: {config.states} states, as it is in the folder")
        return load_model(folder)
    say(f"model: {config.states} states, {fitted.steps:,} steps, mean log p(x, y) {fitted.log_prob:.2f}")
    return fitted.model


def _sample(
    path: Path,
    grammar: Grammar,
    model: Model,
    config: SampleConfig,
    number: int,
    examples: Sequence[Example],
    engine: Engine,
    licence: str | None,
    progress: Say,
) -> tuple[int, list[str]]:
    """Write samples; return how many, and what prevented it if there is nothing to sample at all."""
    try:
        sampler = Sampler(grammar, config, model=model, output_cfg=model.output_cfg, train=examples)
    except InputError as error:  # no rule has nonterminals, or none leads to a valid output
        return write_examples(path, []), [f"nothing to sample, augmented.tsv has only the original pairs: {error}"]
    return write_samples(
        path, sampler, number, engine=engine, about={"licence": licence},
        progress=lambda n: progress(f"sampling: {n:,} of {number:,} pairs"),
    ), []  # fmt: skip
