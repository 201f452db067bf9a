"""Everything a report shows, gathered from a run folder (`csl.report.schema` says what that is).

Lists are cut, counts are not: COGS, with 24,000 training and 10,500 test examples, takes seconds on one core.
"""

from collections.abc import Sequence
from pathlib import Path

from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.examples import Example
from csl.examples.score import same_output
from csl.report import curves, summary
from csl.report.composition import Composition
from csl.report.derivations import Derivations, Reading
from csl.report.material import Material
from csl.report.rules import describe_rules
from csl.report.schema import Coverage, Report, Scores
from csl.report.scores import describe_scores, read_predictions
from csl.report.synthetic import choose_samples, describe_samples
from csl.report.trees import pair_trees, reading_trees
from csl.report.uncovered import describe_uncovered


def collect(
    run: Path, *, test: Path | None = None, unlabelled: Path | None = None, engine: Engine = ONE_THREAD
) -> Report:
    """Gather what a report of a run shows.

    `test` is data/test.tsv of the run folder unless it is named; it has a category in column 3. With `unlabelled`, what
    is worth annotating is chosen among these inputs; without a test set they stand in its place.
    """
    material = Material.read(run, test, unlabelled)
    derivations = Derivations(material.grammar, material.model, material.induction.max_units, engine)
    distinct = list(dict.fromkeys(material.train))
    best = dict(zip(distinct, derivations.best(distinct), strict=True))
    trained = [best[example] for example in material.train]
    rules = describe_rules(derivations.rules, material.seeds, material.train, trained, material.induction)
    trees = pair_trees("train", distinct, list(best.values()), derivations)

    of = "test" if material.test else "unlabelled"
    sources = [example.source for example in material.test] or list(material.unlabelled)
    readings = derivations.read(sources)
    uncovered = describe_uncovered(of, sources, material.test, readings, derivations, engine) if sources else None
    outputs = [reading.text if reading else "" for reading in readings]
    right = [same_output(output, e.target_text) for output, e in zip(outputs, material.test, strict=False)]
    if material.test:
        trees += reading_trees(material.test, readings, right, derivations)
    scores = _scores(material, outputs) if material.test else None
    coverage = _coverage(of, material, readings, right, derivations) if sources and material.train else None

    synthetic = None
    if material.samples:
        shown = choose_samples(material.samples, derivations)
        drawn, drawn_by = [example for example, _ in shown], [rules for _, rules in shown]
        trees += pair_trees("synthetic", drawn, drawn_by, derivations)
        synthetic = describe_samples(material.samples, shown, material.train)

    metrics = curves.read_metrics(run)
    fit = curves.fit_curve(metrics)
    states = material.model.theta_rule.shape[0] if material.model else None
    return Report(
        title=summary.title(material),
        summary=summary.summarise(rules, fit, states, uncovered, scores, synthetic, coverage),
        induction=curves.induction_curve(metrics) or None,
        fit=fit or None,
        training=curves.training_curves(run) or None,
        rules=rules,
        trees=trees,
        uncovered=uncovered,
        scores=scores,
        synthetic=synthetic,
        coverage=coverage,
        config=summary.options(material),
        versions=summary.versions(material),
    )


def _scores(material: Material, outputs: list[str]) -> Scores | None:
    """Score the predictions of the run, and the parser if there are none of it; None if there is nothing to score."""
    systems, other = read_predictions(material.folder, material.test)
    if material.model:
        systems = {"csl": outputs, **systems}
    return describe_scores(material.test, systems, other) if systems else None


def _coverage(
    of: str,
    material: Material,
    readings: Sequence[Reading | None],
    right: Sequence[bool],
    derivations: Derivations,
) -> Coverage:
    """Look at the test set and, for what is worth annotating, at the unlabelled inputs; or at these alone."""

    def labelled(readings: Sequence[Reading | None]) -> list[Example]:
        pairs = zip(material.unlabelled, readings, strict=True)
        return [Example(source, reading.target if reading else ()) for source, reading in pairs]

    composition = Composition(material.train, derivations)
    if not material.test:
        return composition.describe(of, labelled(readings), None)
    return composition.describe(of, material.test, right, labelled(derivations.read(material.unlabelled)))
