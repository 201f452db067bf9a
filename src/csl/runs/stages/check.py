"""The check of `csl augment`: how well a grammar learnt from some of the examples parses others.

Of raw text also whole templates are held out (`csl.preparing.held_out`), and parsed by the grammar of phrases that
synthetic pairs are drawn from: these are new combinations, as the pairs are.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.examples.score import Score, correct, score
from csl.files import read_lines
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.auto import choose
from csl.induction.config import InductionConfig
from csl.induction.induce import induce
from csl.log import Log
from csl.logistic import Floats
from csl.model.config import FitConfig
from csl.model.fit import fit
from csl.model.model import Model
from csl.preparing.confidence import Calibration, Evidence
from csl.preparing.held_out import SPLITS, Split, looked_at, splits
from csl.preparing.parser import Answer, Parser
from csl.preparing.phrases import learn_phrases
from csl.preparing.preparation import Preparation
from csl.preparing.value_lists import Listed, listed
from csl.runs.folder import CONFIDENCE, CONFIDENCE_PHRASES, Figures
from csl.runs.recipe import AUTO
from csl.runs.stage import Stage, Work
from csl.runs.stages.induce import options_of

log = Log("check")
HELD_OUT = 10  # every tenth example is held out
FEW_OPEN_RULES = 5
LOW_COVERAGE = 0.2
LEAST = 0.05  # of the held-out inputs must be covered, or samples of raw text are unlike what comes
PRECISE = 0.5  # of the held-out inputs that are covered must be parsed correctly, or samples of raw text do harm
ENOUGH_TO_CALIBRATE = 50  # held-out inputs, to say how confident to be
ENOUGH = 10  # templates that were held out, at least, to judge by new templates
CFG_COST = 0.05  # of the held-out inputs, that an output CFG may cost
NONE = Score(0, 0, 0)
NEW = "held-out inputs with new templates"


class Check(Stage):
    """Learn from some of the examples, parse others, and warn if the grammar looks too weak to help."""

    name = "check"
    reads = ("data/train.tsv", "grammar.txt", "model.npz")
    may_read = ("data/seed_rules.txt", "data/output.cfg", "data/values.tsv", "prepared/")
    artefacts = {
        "confidence.json": "the confidence of parses of raw text, and from which on they are given",
        "confidence.npz": "the grammar of phrases, which confidences ask",
    }

    def options(self, work: Work) -> Any:
        return {"induction": options_of(work.recipe.induction), "fit": options_of(work.recipe.fit)}

    def run(self, work: Work) -> Figures:
        folder, stages = work.folder, work.folder.record.stages
        induction = InductionConfig(**stages["induce"].figures["config"])
        fitting = FitConfig(**stages["fit"].figures["config"])
        preparation, auto = folder.preparation(), work.recipe.induction.preset == AUTO
        more = folder.file("data/values.tsv") if preparation else None
        values = listed(preparation, read_lines(more), more) if preparation and more else None
        figures = check(
            folder.examples(), induction, fitting, grammar=folder.grammar(), preparation=preparation, values=values,
            seed_rules=folder.given_seed_rules(), auto=auto, output_cfg=folder.given_cfg(), engine=work.engine,
        )  # fmt: skip
        if figures["confidence"]:
            Calibration(**figures["confidence"]).save(folder.path / CONFIDENCE)
            log.progress("learning phrases …")
            train, places = folder.training(), looked_at(folder.examples())
            learnt = [train[i] for i in places], folder.seed_rules(), folder.output_cfg()
            learn_phrases(*learnt, fitting.seed, work.engine).save(folder.path / CONFIDENCE_PHRASES)
            figures["phrases"] = {"seed": fitting.seed, "of_all": len(places) == len(train)}
            figures["model"] = folder.checksum("model.npz")
        return figures

    def summary(self, figures: Figures) -> str:
        new = Score(**figures["new"])
        templates = f"; of {new.examples:,} with new templates, by phrases, {_counts(new)}" if new.examples else ""
        found = Score(figures["examples"], figures["covered"], figures["right"])
        sure = figures["confidence"]
        given = f"; outputs are given from a confidence of {sure['threshold']:.2f} on" if sure else ""
        return f"learnt from the others, of {found.examples:,} held-out inputs {_counts(found)}{templates}{given}"


def check(  # noqa: PLR0913 — what was learnt, and from what, all by name
    examples: Sequence[Example],
    induction: InductionConfig,
    fitting: FitConfig,
    *,
    grammar: Grammar,
    preparation: Preparation | None = None,
    values: Listed | None = None,
    seed_rules: Sequence[Rule] = (),
    auto: bool = False,
    output_cfg: OutputCfg | None = None,
    engine: Threads = ONE_THREAD,
) -> Figures:
    """Parse held-out examples, and say what speaks against augmenting with this grammar.

    Of raw text, pairs and templates are held out, and the rest is prepared from scratch, but for `values` of a list.
    Synthetic pairs would do harm if the grammar that they are drawn from parses new templates wrongly: `refused` says
    so.
    """
    quick = fitting.model_copy(update={"optimizer": "em", "steps": min(50, fitting.steps), "restarts": 1})

    def learn(pairs: Sequence[Example], seeds: Sequence[Rule], cfg: OutputCfg | None) -> Model:
        found = induce(pairs, induction, seeds=seeds, output_cfg=cfg, engine=engine).grammar
        return fit(found, pairs, quick, output_cfg=cfg, engine=engine).model

    calibration: Calibration | None = None
    templates: set[tuple[str, ...]] = set()  # that were held out
    if preparation:
        found, new, judged = NONE, NONE, list[Judged]()
        for number, split in enumerate(splits(examples, preparation), 1):
            log.progress(f"learning from some of the examples, to check on others: {number} of {SPLITS} …")
            again = split.prepared(preparation, values)
            seeds, cfg = [*seed_rules, *again.seed_rules], output_cfg or again.categories.cfg
            parser = Parser(learn(again.examples, seeds, cfg), again.preparation)
            phrases = learn_phrases(again.examples, seeds, cfg, fitting.seed, engine)
            judged.append(_judge(Evidence(parser, phrases, again.examples), split, engine))
            found += judged[-1].score
            new += _score(Parser(phrases, again.preparation), split.new, engine)
            templates |= {split.template_of[pair] for pair in split.new}
        if found.examples >= ENOUGH_TO_CALIBRATE and found.covered:
            calibration = Calibration.fit(
                np.concatenate([part.features for part in judged]),
                [right for part in judged for right in part.right],
                [group for part in judged for group in part.templates],
            )
        warnings = _warnings(grammar, found, None)
    else:
        log.progress("learning from nine tenths of the examples, to check on the rest …")
        train, test = _hold_out(examples)
        seeds = [*seed_rules, *choose(train).seeds] if auto and train else list(seed_rules)

        def held_out(cfg: OutputCfg | None) -> Score:
            return _score(Parser(learn(train, seeds, cfg)), test, engine) if train else Score(len(test), 0, 0)

        found, new = held_out(output_cfg), NONE
        warnings = _warnings(grammar, found, held_out(None) if output_cfg else None)
    for warning in warnings:
        log.warning(warning)
    return {
        **asdict(found), "new": asdict(new), "templates": len(templates), "warnings": warnings,
        "refused": refusal(found, new, len(templates)) if preparation else "",
        "confidence": asdict(calibration) if calibration else None,
    }  # fmt: skip


class Judged(NamedTuple):
    """How held-out inputs are parsed: counts, and of those that are covered what confidence is fitted to."""

    score: Score
    features: Floats
    right: list[bool]
    templates: list[tuple[str, ...]]


def _judge(evidence: Evidence, split: Split, engine: Threads) -> Judged:
    """Parse what a split holds out."""
    pairs = [*split.known, *split.new]
    found = evidence.parser.answers([pair.source_text for pair in pairs], engine)
    outputs = [answer.text if isinstance(answer, Answer) else "" for answer in found]
    right = correct(pairs, outputs)
    covered = [k for k, answer in enumerate(found) if isinstance(answer, Answer)]
    texts = [pairs[k].source_text for k in covered]
    features = evidence.features(texts, [answer for answer in found if isinstance(answer, Answer)], engine)
    templates = [split.template_of[pairs[k]] for k in covered]
    return Judged(Score(len(pairs), len(covered), sum(right)), features, [right[k] for k in covered], templates)


def _counts(found: Score) -> str:
    are = "is" if found.covered == 1 else "are"
    return f"{found.covered:,} {are} covered" + (f", {found.precision:.1%} of those correctly" if found.covered else "")


def _score(parser: Parser, examples: Sequence[Example], engine: Threads) -> Score:
    """Count the inputs that are parsed, and those that are parsed correctly."""
    found = parser.answers([example.source_text for example in examples], engine)
    return score(examples, [answer.text if isinstance(answer, Answer) else "" for answer in found])[0]


def refusal(found: Score, new: Score, templates: int) -> str:
    """Say why synthetic pairs of raw text would do harm, if they would: by all held-out inputs, and new templates."""
    judged = [("held-out inputs", found)]
    if templates >= ENOUGH:
        judged.insert(0, (NEW, new))
    for name, counted in judged:
        if counted.precision < PRECISE or counted.coverage < LEAST:
            return f"of {counted.examples:,} {name}, {_counts(counted)}"
    return ""


def verdict(checked: Figures, pairs: int) -> str:
    """Say why there are synthetic pairs of raw text, or none; nothing where nothing speaks for either."""
    new, refused = Score(**checked["new"]), checked["refused"]
    if refused:
        return f"synthetic pairs forced, though {refused}" if pairs else f"no synthetic pairs: {refused}"
    if checked["templates"] < ENOUGH or not pairs:
        return ""
    return f"synthetic pairs kept: of {new.examples:,} {NEW}, {_counts(new)}"


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
