"""The check of `csl augment`: how well a grammar learnt from nine tenths of the examples parses the rest."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.examples.score import Score
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.auto import choose
from csl.induction.config import InductionConfig
from csl.induction.induce import induce
from csl.log import Log
from csl.model.config import FitConfig
from csl.model.fit import fit
from csl.preparing.evaluate import evaluate
from csl.preparing.parser import Parser
from csl.preparing.preparation import Preparation, prepare
from csl.runs.folder import Figures
from csl.runs.recipe import AUTO
from csl.runs.stage import Stage, Work
from csl.runs.stages.induce import options_of

log = Log("check")
HELD_OUT = 10  # every tenth example is held out
FEW_OPEN_RULES = 5
LOW_COVERAGE = 0.2
LEAST = 0.05  # of the held-out inputs must be covered, or samples of raw text are unlike what comes
PRECISE = 0.5  # of the held-out inputs that are covered must be parsed correctly, or samples of raw text do harm
CFG_COST = 0.05  # of the held-out inputs, that an output CFG may cost


class Check(Stage):
    """Learn from nine tenths of the examples, parse the last tenth, and warn if the grammar looks too weak to help."""

    name = "check"
    reads = ("data/train.tsv", "grammar.txt", "model.npz")
    may_read = ("data/seed_rules.txt", "data/output.cfg", "prepared/")
    artefacts = {}

    def options(self, work: Work) -> Any:
        return {"induction": options_of(work.recipe.induction), "fit": options_of(work.recipe.fit)}

    def run(self, work: Work) -> Figures:
        folder, stages = work.folder, work.folder.record.stages
        induction = InductionConfig(**stages["induce"].figures["config"])
        fitting = FitConfig(**stages["fit"].figures["config"])
        seed_rules, auto = folder.given_seed_rules(), work.recipe.induction.preset == AUTO
        return check(
            folder.examples(), induction, fitting, grammar=folder.grammar(), preparation=folder.preparation(),
            seed_rules=seed_rules, auto=auto, output_cfg=folder.given_cfg(), engine=work.engine,
        )  # fmt: skip

    def summary(self, figures: Figures) -> str:
        covered, examples = figures["covered"], figures["examples"]
        correct = f", {figures['right'] / covered:.1%} of those correctly" if covered else ""
        return f"learnt from the others, {covered:,} of {examples:,} held-out inputs are covered{correct}"


def check(  # noqa: PLR0913 — what was learnt, and from what, all by name
    examples: Sequence[Example],
    induction: InductionConfig,
    fitting: FitConfig,
    *,
    grammar: Grammar,
    preparation: Preparation | None = None,
    seed_rules: Sequence[Rule] = (),
    auto: bool = False,
    output_cfg: OutputCfg | None = None,
    engine: Threads = ONE_THREAD,
) -> Figures:
    """Parse held-out examples, and say what speaks against augmenting with this grammar.

    Examples of raw text are prepared again, without those that are held out. Synthetic pairs of a grammar that parses
    these wrongly would do harm: `refused` says so.
    """
    log.progress("learning from nine tenths of the examples, to check on the rest …")
    quick = fitting.model_copy(update={"optimizer": "em", "steps": min(50, fitting.steps), "restarts": 1})
    train, test = _hold_out(examples)

    def held_out(learnt: Sequence[Example], seeds: Sequence[Rule], cfg: OutputCfg | None) -> Score:
        if not learnt:
            return Score(len(test), 0, 0)
        found = induce(learnt, induction, seeds=seeds, output_cfg=cfg, engine=engine).grammar
        model = fit(found, learnt, quick, output_cfg=cfg, engine=engine).model
        return evaluate(Parser(model, again.preparation if again else None), test, engine).score

    again = None
    if preparation and train:
        pairs = [(pair.source_text, pair.target_text) for pair in train]
        again = prepare(pairs, preparation.language.name, keep_case=preparation.casing is None)
        score = held_out(again.examples, [*seed_rules, *again.seed_rules], output_cfg or again.categories.cfg)
        warnings = _warnings(grammar, score, None)
    else:
        seeds = [*seed_rules, *choose(train, seed_rules, output_cfg).seeds] if auto and train else seed_rules
        score = held_out(train, seeds, output_cfg)
        warnings = _warnings(grammar, score, held_out(train, seeds, None) if output_cfg else None)
    refused = ""
    if preparation and (score.precision < PRECISE or score.coverage < LEAST):
        refused = f"of {score.examples:,} held-out inputs {score.covered:,} are covered, {score.right:,} correctly"
    for warning in warnings:
        log.warning(warning)
    return {
        "examples": score.examples, "covered": score.covered, "right": score.right, "warnings": warnings,
        "refused": refused,
    }  # fmt: skip


def _hold_out(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Part the distinct examples: nine tenths to learn from, and one to parse."""
    distinct = list(dict.fromkeys(examples))
    order = np.random.default_rng(0).permutation(len(distinct))
    test = [distinct[i] for i in order[::HELD_OUT]]
    return [distinct[i] for i in np.sort(np.setdiff1d(order, order[::HELD_OUT]))], test


def _warnings(grammar: Grammar, held_out: Score, without_cfg: Score | None) -> list[str]:
    open_rules = sum(rule.arity > 0 for rule in grammar)
    warnings = []
    if open_rules < FEW_OPEN_RULES:
        warnings.append(f"rules with nonterminals: only {open_rules}; there is little to recombine")
    if held_out.coverage < LOW_COVERAGE:
        warnings.append(
            f"held-out inputs covered: only {held_out.covered:,} of {held_out.examples:,}; samples will be narrow, "
            "seed rules (--seed-rules) may help"
        )
    if without_cfg and without_cfg.right > held_out.right + CFG_COST * held_out.examples:
        warnings.append(
            f"held-out inputs correct: {held_out.right:,} of {held_out.examples:,}, without the output CFG "
            f"{without_cfg.right:,}; its categories are too coarse for the rules: see docs/output-cfg.md"
        )
    return warnings
