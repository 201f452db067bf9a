"""The whole way from examples to an augmented training set, in a run folder.

Beside what induction and fitting write: samples.tsv, the synthetic pairs; augmented.tsv, original and synthetic pairs
in equal proportions (or, as weights, each once with a weight); augmented.card.json, what was done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from csl import __version__
from csl.augment.augment import Mixture, check_held_out, warn
from csl.data import Example, read_examples, write_examples
from csl.data.files import write_json
from csl.experiment.fitting import fit_into, read_run
from csl.experiment.run import induce_into
from csl.experiment.sampling import describe, source_licence, write_samples
from csl.grammar import Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.model.config import FitConfig
from csl.model.evaluate import Score
from csl.parsing.deriver import Deriver
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sampler

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """The options of all stages."""

    induction: InductionConfig
    fitting: FitConfig
    sampling: SampleConfig
    number: int
    weights: bool = False


def augment_into(
    folder: Path,
    examples: Sequence[Example],
    plan: Plan,
    *,
    seeds: Sequence[Rule] = (),
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
    about: dict[str, object] | None = None,
    say: Say = lambda _: None,
    progress: Say = lambda _: None,
) -> list[str]:
    """Induce, fit, sample and merge. Returns what speaks against the result.

    `say` hears what each stage found, `progress` what is going on.
    """
    progress("learning from nine tenths of the examples, to check on the rest (a first run compiles for a while) …")
    held_out = check_held_out(
        examples, plan.induction, plan.fitting, seeds=seeds, output_cfg=output_cfg, threads=threads
    )
    say(
        f"check: learnt from nine tenths, of a held-out tenth {held_out.coverage:.1%} is covered and "
        f"{held_out.precision:.1%} of that right"
    )
    induce_into(
        folder, examples, plan.induction, seeds=seeds, output_cfg=output_cfg, threads=threads, about=about, say=say,
        progress=lambda step, _: progress(f"inducing: {step.rules:,} rules, objective {step.objective:,.0f}"),
    )  # fmt: skip
    grammar, _ = read_run(folder)
    open_rules = sum(rule.arity > 0 for rule in grammar)
    derivable = Deriver(grammar, plan.fitting.max_units).derivable(examples, threads).mean()
    say(f"grammar: {len(grammar):,} rules, {open_rules:,} with nonterminals, derive {derivable:.1%} of the examples")
    fitted = fit_into(
        folder, examples, plan.fitting, threads=threads,
        progress=lambda report: progress(f"fitting: step {report.step:,}, mean log p(x, y) {report.train:.3f}"),
    )  # fmt: skip
    say(f"model: {plan.fitting.states} states, {fitted.steps:,} steps, mean log p(x, y) {fitted.log_prob:.2f}")
    sampler = Sampler(grammar, plan.sampling, model=fitted.model, output_cfg=output_cfg, train=examples)
    samples = folder / "samples.tsv"
    licence = source_licence(folder)
    drawn = write_samples(
        samples, sampler, plan.number, threads=threads, about={"licence": licence},
        progress=lambda n: progress(f"sampling: {n:,} of {plan.number:,} pairs"),
    )  # fmt: skip
    known = set(examples)
    synthetic = list(read_examples(samples)) if drawn else []
    fresh = sum(example not in known for example in synthetic)
    say(f"samples: {drawn:,} ({describe(plan.sampling)}), {fresh / max(1, drawn):.0%} not in the training set")
    mixture = Mixture(examples, synthetic)
    columns = ("weight", "origin") if plan.weights else ()
    path = folder / "augmented.tsv"
    lines = write_examples(path, mixture.weighted() if plan.weights else mixture, columns=columns)
    warnings = warn(grammar, held_out, plan.number, drawn)
    write_json(
        folder / "augmented.card.json",
        {
            "csl": __version__, "original": len(examples), "synthetic": drawn, "copies": mixture.copies, "lines": lines,
            "columns": ["input", "output", *columns], "held_out": _numbers(held_out), "warnings": warnings,
            "rules": len(grammar), "sampling": plan.sampling.model_dump(), "licence": licence,
        },
    )  # fmt: skip
    original, copied = mixture.copies
    say(f"merged: {len(examples):,} original pairs {original} times and {drawn:,} synthetic ones {copied} times")
    return warnings


def _numbers(score: Score) -> dict[str, float]:
    return {"examples": score.examples, "coverage": score.coverage, "precision": score.precision}
