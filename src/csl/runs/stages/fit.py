"""Fitting: from a grammar and examples to a model."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.examples import Example, split_tokens
from csl.examples.formats import read_inputs
from csl.files import write_text
from csl.grammar import Grammar
from csl.grammar.output_cfg import OutputCfg
from csl.log import Log
from csl.model import config as configs
from csl.model.config import FitConfig
from csl.model.data import build
from csl.model.fit import Fitted, Progress, likeliest, optimise, with_labels
from csl.options import changed
from csl.runs.checkpoint import Checkpoint
from csl.runs.folder import Figures, RunFolder
from csl.runs.recipe import AUTO, DEV, FitOptions, Recipe, only
from csl.runs.stage import Stage, Work, hash_of
from csl.runs.stages.induce import options_of

log = Log("fit")
FEW = 0.5  # of the examples: a grammar that derives fewer is not theirs

Checkpoints = Callable[[str, FitConfig], Checkpoint]  # for a name, and the options of one start


@dataclass(frozen=True)
class Labelled:
    """Inputs without outputs, which the model labels before a second fit."""

    inputs: Sequence[Sequence[str]] = ()
    ratio: float = 1.0  # their number to that of the examples
    restarts: int = 5  # starts of the second fit, at least


class Fit(Stage):
    """Fit the probabilities of the grammar's rules."""

    name = "fit"
    reads = ("grammar.txt", "data/train.tsv")
    may_read = ("data/output.cfg", "prepared/")  # it is kept with the model, for parsing
    artefacts = {
        "model.npz": "the model: `csl parse`, `csl evaluate`, `csl sample`",
        "unlabelled.txt": "inputs that the model labelled itself",
        "metrics/fit.jsonl": "the fit, a line each 50 steps; with restarts, those of the start that was kept",
        "metrics/refit.jsonl": "the second fit, with the inputs that the model labelled",
    }

    def needs(self, recipe: Recipe) -> Sequence[str]:
        return (*self.reads, "data/dev.tsv") if recipe.fit.unlabelled == DEV else self.reads

    def options(self, work: Work) -> Any:
        options = work.recipe.fit
        named = options.unlabelled
        inputs = named if named in ("", DEV) else hash_of(_lines(named))
        return options_of(options) | {"unlabelled": inputs}

    def run(self, work: Work) -> Figures:
        folder, options = work.folder, work.recipe.fit
        grammar, train = folder.grammar(), folder.training()
        config = resolve(options, len(grammar), len(train), prepared=folder.preparation() is not None)
        labelled = Labelled(_unlabelled(folder, options), options.ratio, options.refit_restarts)

        def checkpoints(name: str, start: FitConfig) -> Checkpoint:
            return folder.checkpoint(f"fit-{name}-{start.seed}", f"{work.key} {start}", name)

        fitted = fit(
            grammar, train, config, labelled=labelled, output_cfg=folder.output_cfg(), engine=work.engine,
            checkpoints=checkpoints,
        )  # fmt: skip
        derived = 1 - len(fitted.left_out) / max(1, len(train))
        if derived < FEW:
            raise InputError(
                f"the grammar derives only {derived:.1%} of the training examples; is it theirs? "
                "See `csl grammar coverage`",
                folder.path / "grammar.txt",
            )
        fitted.model.save(folder.path / "model.npz")
        figures: Figures = {
            "states": config.states, "steps": fitted.steps, "log_prob": fitted.log_prob, "config": config.model_dump(),
            "left_out": len(fitted.left_out), "parameters": fitted.model.parameters,
        }  # fmt: skip
        if len(fitted.starts) > 1:
            figures |= {"kept": fitted.seed, "starts": fitted.starts}
        if labelled.inputs:
            figures["labelled"] = fitted.labelled
        return figures

    def summary(self, figures: Figures) -> str:
        labelled = f", {figures['labelled']:,} inputs labelled" if "labelled" in figures else ""
        left_out = f", {figures['left_out']:,} pairs left out" if figures["left_out"] else ""
        return (
            f"{figures['states']:,} states, {figures['parameters']:,} parameters, {figures['steps']:,} steps, "
            f"mean log p(x, y) {figures['log_prob']:.2f}{labelled}{left_out}"
        )


def resolve(options: FitOptions, rules: int, examples: int, *, prepared: bool = False) -> FitConfig:
    """Give the options of a fit."""
    config = only(FitConfig, options)
    if options.preset == AUTO:
        chosen, reason = configs.choose(rules, examples, prepared=prepared)
        log.info(f"auto: {reason}")
        config = changed(chosen, config.model_dump(exclude_unset=True))
    return config


def fit(
    grammar: Grammar,
    examples: Sequence[Example],
    config: FitConfig,
    *,
    labelled: Labelled | None = None,
    output_cfg: OutputCfg | None = None,
    engine: Threads = ONE_THREAD,
    checkpoints: Checkpoints = lambda name, start: Checkpoint(),
) -> Fitted:
    """Fit a model, from each start; then again with the inputs that it labels. The same in memory and in a folder."""

    def fit_all(name: str, pairs: Sequence[Example], config: FitConfig) -> Fitted:
        log.progress(f"{name}: building the forests of the training pairs …")
        data = build(grammar, pairs, config.max_units, engine)
        saved, fits = [], []
        for start in config.starts():
            saved.append(checkpoint := checkpoints(name, start))
            if state := checkpoint.load():
                log.info(f"{name}: resuming after step {int(state['number']):,}")

            def report(progress: Progress, checkpoint: Checkpoint = checkpoint) -> None:
                checkpoint.log(json.dumps({"stage": name, **progress._asdict()}))
                start = f"start {1 + progress.seed % config.restarts} of {config.restarts}, " * (config.restarts > 1)
                log.progress(
                    f"{name}: {start}step {progress.step:,} of {progress.steps:,}, "
                    f"mean log p(x, y) {progress.train:.3f}"
                )

            fits.append(optimise(grammar, data, start, output_cfg, report, checkpoint))
        best = likeliest(fits)
        if config.restarts > 1:
            values = ", ".join(f"{fitted.log_prob:.3f}" for fitted in fits)
            log.info(f"{name}: mean log p(x, y) by start: {values}; kept seed {best.seed}, the likeliest")
            saved[[fitted.seed for fitted in fits].index(best.seed)].write_metrics()
        return best

    fitted = fit_all("fit", examples, config)
    if fitted.left_out:
        shown = "; ".join(f"{e.source_text} → {e.target_text}" for e in fitted.left_out[:2])
        log.warning(
            f"{len(fitted.left_out):,} pairs left out: the grammar does not derive them, or in too many ways ({shown})"
        )
    if labelled and labelled.inputs:
        both, number = with_labels(fitted.model, examples, labelled.inputs, labelled.ratio, engine)
        log.info(f"{number:,} of {len(labelled.inputs):,} inputs labelled; the others are not covered")
        again = config.model_copy(update={"restarts": max(config.restarts, labelled.restarts)})
        fitted = replace(fit_all("refit", both, again), labelled=number)
    return fitted


def _unlabelled(folder: RunFolder, options: FitOptions) -> list[tuple[str, ...]]:
    """Read inputs without outputs, those of dev or of a file, which the run keeps a copy of."""
    if options.unlabelled == DEV:
        if not folder.has_examples("dev"):
            raise InputError("fit.unlabelled = dev: the data has no dev set; give a file of inputs")
        return [example.source for example in folder.examples("dev")]
    inputs = _lines(options.unlabelled) if options.unlabelled else []
    if inputs:
        write_text(folder.path / "unlabelled.txt", "".join(f"{line}\n" for line in inputs))
    return [split_tokens(line) for line in inputs]


def _lines(path: str) -> list[str]:
    return [line for line in read_inputs(path) if line]
