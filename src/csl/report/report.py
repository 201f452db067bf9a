"""Everything that a report shows, gathered from a run folder as plain values.

Rules are named by their line in grammar.txt, counted from 1. A section for which a run has no data is None or empty.
Lists are cut to what a page can show, totals count everything: COGS, with 24,000 training and 10,500 test examples,
takes seconds on one core. Nothing depends on the time or on where files lie.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.examples.score import Score, breakdown, by_category, by_length, correct, count_correct, percent, score
from csl.report.coverage import Coverage, Uncovered, describe_coverage, describe_uncovered
from csl.report.derivations import Derivations, TreeRow, evenly, pair_trees, reading_trees
from csl.report.drawing import Point
from csl.report.raw import Texts, Types
from csl.report.rules import Rules, describe_rules
from csl.report.run_data import TRAINED, RunData
from csl.report.synthetic import Synthetic, choose_samples, describe_samples

POINTS = 500  # of a curve

Groups = dict[str, dict[str, int]]
"""By the name of a group: the number of its `examples`, and how many of them each system has correct."""
Fact = tuple[str, str, str]
"""A figure of the summary: label, value, note."""
Curve = dict[str, list[Point]]
"""Figures by step: a series of points for each name."""


@dataclass(frozen=True)
class Scores:
    """The accuracy of systems on the test set."""

    systems: dict[str, Score]
    breakdown: Groups  # inputs to which csl gives an output, and the others
    by_length: Groups
    by_category: Groups
    left_out: list[str]  # systems whose predictions are for other inputs than those of the test set


@dataclass(frozen=True)
class Report:
    """Everything that a report shows."""

    title: str
    curves: dict[str, Curve]  # objective and rules of induction; fit; loss, dev and risk of trained models
    partitions: int  # of induction
    states: int | None  # of the model
    rules: Rules
    trees: list[TreeRow]
    uncovered: Uncovered | None
    scores: Scores | None
    synthetic: Synthetic | None
    coverage: Coverage | None
    recipe: str
    options: dict[str, Any]
    versions: dict[str, str]
    types: Types | None = None  # of raw text
    labels: dict[str, str] = field(default_factory=dict)  # the names of systems, where they have others
    checks: list[tuple[str, Score]] = field(default_factory=list)  # held-out inputs, before pairs were drawn
    refused: str = ""  # why none were

    @property
    def summary(self) -> list[Fact]:
        """The figures that matter most, in the order of the stages."""
        rules, rows = self.rules, self.rules.rows
        seeds = sum(row.seed for row in rows)
        open_rules = f"{sum(row.arity > 0 for row in rows):,} with nonterminals"
        facts = [("rules", f"{len(rows):,}", open_rules + (f", {seeds:,} seeds" if seeds else ""))]
        if found := self.types:
            values = sum(kind.total for kind in found.types)
            note = f"outputs are {found.language}; {values:,} values of {len(found.types):,} types"
            facts.insert(0, ("categories", f"{len(found.categories):,}", note))
        if rules.examples is None:
            facts.append(("training examples", "–", "not found: what rules save is not known"))
        else:
            facts.append(("training examples", f"{rules.examples:,}", f"{rules.derived:,} derived by the grammar"))
            note = f"the training pairs as rules: {rules.size_before:,.0f}"
            facts.append(("objective", f"{rules.objective:,.0f}", note))
        if self.states is not None:
            fits = [points for name, points in self.curves["fit"].items() if name.endswith("train")]
            note = f"mean log p(x, y) at the last step: {fits[-1][-1][1]:.2f}" if fits else ""
            facts.append(("states", f"{self.states:,}", note))
        for name, part in self.checks:
            precise = f", {percent(part.right, part.covered)} of those correctly" if part.covered else ""
            facts.append((f"{name} covered", percent(part.covered, part.examples), f"of {part.examples:,}{precise}"))
        if self.refused:
            facts.append(("check", "refused", f"{self.refused}: synthetic pairs would do harm"))
        if made := self.synthetic:
            new = "" if made.new is None else f", {made.new:,} not in training"
            facts.append(("synthetic pairs", f"{made.total:,}", f"{made.distinct:,} distinct{new}"))
        if tried := self.uncovered:
            derivable = "" if tried.derivable is None else f"; {tried.derivable:,} with the correct output"
            note = f"{tried.covered:,} of {tried.inputs_total:,}{derivable}"
            facts.append((f"{tried.of} inputs covered", percent(tried.covered, tried.inputs_total), note))
        for name, part in (self.scores.systems if self.scores else {}).items():
            note = f"{part.right:,} of {part.examples:,} correct, {part.covered:,} answered"
            facts.append((f"accuracy, {self.labels.get(name, name)}", percent(part.right, part.examples), note))
        if pairs := self.coverage:
            note = f"{pairs.dependent:,} of {pairs.derived:,} that are derived, {pairs.pairs_total:,} new rule pairs"
            label = f"{pairs.of} inputs in need of new rule pairs"
            facts.append((label, percent(pairs.dependent, pairs.derived), note))
        return facts


def make_report(
    run: Path, *, test: Path | None = None, unlabelled: Path | None = None, engine: Threads = ONE_THREAD
) -> Report:
    """Gather what a report of a run shows.

    `test` is data/test.tsv of the run folder by default; it has a category in column 3. With `unlabelled`, what is
    worth annotating is chosen among these inputs; without a test set they take its place.
    """
    data = RunData.read(run, test, unlabelled)
    derivations = Derivations(data.grammar, data.model, data.induction.max_units, engine)
    distinct = list(dict.fromkeys(data.train))
    best = dict(zip(distinct, derivations.best(distinct), strict=True))
    trained = [best[example] for example in data.train]
    trees = pair_trees("train", distinct, list(best.values()))

    of = "test" if data.test else "unlabelled"
    texts = Texts(data.run.preparation(), data.model, engine)
    known, unlabelled_inputs = texts.known(data.test), [way.source for way in texts.read(data.unlabelled)]
    ways = texts.read([example.source_text for example in data.test])
    sources = [way.source for way in ways] or unlabelled_inputs
    readings = derivations.read(sources)
    outputs = [texts.write(r.target, way) if r else "" for r, way in zip(readings, ways, strict=False)]
    right = correct(data.test, outputs) if data.test else None
    if right:
        trees += reading_trees(known, readings, right, derivations)

    synthetic = None
    if data.samples:
        shown = choose_samples(data.samples, derivations, texts)
        trees += pair_trees("synthetic", [example for example, _ in shown], [rules for _, rules in shown])
        drawn_from = Texts(texts.preparation, data.run.phrases() or data.model, engine)
        beliefs = drawn_from.beliefs([example for example, _ in shown], data.train)
        synthetic = describe_samples(data.samples, shown, data.run.examples(), beliefs)

    coverage = None
    if sources and data.train:
        unlabelled_readings = derivations.read(unlabelled_inputs) if data.test else readings
        labelled = [
            Example(source, reading.target if reading else ())
            for source, reading in zip(unlabelled_inputs, unlabelled_readings, strict=True)
        ]
        pool = labelled if data.test else []
        coverage = describe_coverage(of, data.train, known or labelled, right, derivations, pool)
    curves, partitions = read_curves(data)
    return Report(
        title=data.title,
        curves=curves,
        partitions=partitions,
        states=data.model.theta_rule.shape[0] if data.model else None,
        rules=describe_rules(derivations.rules, data.seed_rules, data.train, trained, data.induction),
        trees=trees,
        uncovered=describe_uncovered(of, sources, known, readings, derivations, engine) if sources else None,
        scores=_scores(data, outputs) if data.test else None,
        synthetic=synthetic,
        coverage=coverage,
        types=texts.types(data.run.output_cfg()),
        labels=data.labels,
        checks=data.checks,
        refused=data.refused,
        recipe=data.recipe,
        options=data.options,
        versions=data.versions,
    )


def _scores(data: RunData, parsed: list[str]) -> Scores | None:
    """Score the predictions of the run; if it has none of csl but a model, those of its parser."""
    systems, left_out = data.predictions()
    if data.model:
        systems = {"csl": parsed, **systems}
    return score_systems(data.test, systems, left_out) if systems else None


def score_systems(examples: Sequence[Example], systems: dict[str, list[str]], left_out: list[str]) -> Scores:
    """Compare the outputs of systems, empty where there is none, with the expected ones."""
    hits = {name: correct(examples, outputs) for name, outputs in systems.items()}

    def counted(groups: dict[str, list[int]]) -> Groups:
        return {name.removesuffix(" tokens"): count_correct(hits, places) for name, places in groups.items()}

    parts: Groups = {}
    if csl := systems.get("csl"):
        total, _ = breakdown(examples, csl, systems)
        parts = {"covered by csl": total.covered, "others": total.others}
    return Scores(
        systems={name: score(examples, outputs)[0] for name, outputs in systems.items()},
        breakdown={name: counts for name, counts in parts.items() if counts["examples"]},
        by_length=counted(by_length(examples)),
        by_category=counted(by_category(examples)),
        left_out=left_out,
    )


def read_curves(data: RunData) -> tuple[dict[str, Curve], int]:
    """Read the figures that the stages wrote at each step, of long curves some points; and the number of partitions."""
    induction = data.metrics("induce")
    fits = evenly([*data.metrics("fit"), *data.metrics("refit")], POINTS)
    trained = {system: data.metrics(stage) for system, stage in TRAINED.items()}

    def points(lines: Sequence[dict[str, Any]], key: str, stage: str | None = None) -> list[Point]:
        kept = (line for line in lines if line.get("stage") == stage and line.get(key) is not None)
        return [(line["step"], line[key]) for line in kept]

    stages = dict.fromkeys(line["stage"] for line in fits)
    curves: dict[str, Curve] = {
        **{key: {"": [(k, line[key]) for k, line in enumerate(induction, start=1)]} for key in ("objective", "rules")},
        "fit": {f"{stage}, {part}": points(fits, part, stage) for stage in stages for part in ("train", "dev")},
        "loss": {system: evenly(points(lines, "loss"), POINTS) for system, lines in trained.items()},
        "dev": {system: points(lines, "dev") for system, lines in trained.items()},
        "risk": {system: [(100 * x, y) for x, y in curve] for system, curve in data.risk_coverage.items()},
    }
    return curves, max((line["partition"] for line in induction), default=0)
