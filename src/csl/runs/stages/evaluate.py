"""Evaluation: the parser of the grammar on all parts of the data, and every trained system on the test set."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from csl.examples import Example
from csl.examples.score import Score, breakdown, correct, score
from csl.files import write_text
from csl.log import Log
from csl.preparing.evaluate import evaluate
from csl.preparing.parser import Parser
from csl.runs.folder import PARTS, Figures
from csl.runs.stage import Stage, Work
from csl.seq2seq.confidence import Calibration, features_of, risk_coverage
from csl.seq2seq.predictions import Prediction, ensemble

log = Log("evaluate")


class Evaluate(Stage):
    """Score CSL's parser, the trained systems, and the ensembles of both."""

    name = "evaluate"
    reads = ("grammar.txt", "model.npz", "data/train.tsv")
    artefacts = {"predictions/": "outputs for the test set, a file for each system; empty where it has none"}

    def __init__(self, trained: Sequence[Stage]) -> None:
        self._trained = trained
        self.labels = {"csl": "CSL", **{stage.system: stage.label for stage in trained}}
        self.labels |= {"ensemble": "ensemble of CSL and T5", "nqg_t5": "NQG-T5"}
        models = (name for stage in trained for name in stage.artefacts if not name.startswith("metrics/"))
        self.may_read = ("data/dev.tsv", "data/test.tsv", "data/output.cfg", "prepared/", *models)

    def run(self, work: Work) -> Figures:
        parser = work.folder.parser()
        inference = parser.model.inference  # by which inputs are covered
        figures: Figures = {"systems": {}, "parts": {}, "inference": inference}
        for part in PARTS:
            if examples := work.folder.examples(part):
                log.progress(f"parsing {part} …")
                found = evaluate(parser, examples, work.engine)
                logs = {key: _number(getattr(found, key)) for key in ("log_p_xy", "log_p_y_given_x")}
                figures["parts"][part] = {**_counts(found.score), **logs, "derivable": found.derivable}
        if not examples:  # of test
            return figures
        predicted, dev_predicted = self._predicted(work, examples)
        systems = {"csl": found.outputs} | {name: [one.text for one in made] for name, made in predicted.items()}
        for name, first in (("ensemble", "csl"), ("nqg_t5", "nqg")):
            if "t5" in systems and first in systems:
                systems[name] = ensemble(systems[first], systems["t5"])
        if dev_predicted:
            log.progress("confidences …")
            figures["risk_coverage"] = _risk_coverage(work, parser, examples, predicted, dev_predicted)
        if "t5" in systems:
            whole, parts = breakdown(examples, systems["csl"], systems)
            figures["breakdown"] = asdict(whole) | {"groups": {name: asdict(part) for name, part in parts.items()}}
        figures["labels"] = {name: self.labels[name] for name in systems}
        for name, outputs in systems.items():
            total, by_group = score(examples, outputs)
            counts = {group: _counts(part) for group, part in by_group.items()}
            figures["systems"][name] = {**_counts(total), "groups": counts}
            lines = (f"{example.source_text}\t{output}\n" for example, output in zip(examples, outputs, strict=True))
            write_text(work.folder.path / "predictions" / f"{name}.tsv", "".join(lines))
        return figures | {key: figures["parts"]["test"][key] for key in ("log_p_xy", "log_p_y_given_x", "derivable")}

    def _predicted(
        self, work: Work, examples: list[Example]
    ) -> tuple[dict[str, list[Prediction]], dict[str, list[Prediction]]]:
        """Give the outputs of the systems that were trained and, of those with scores, their outputs for dev."""
        inputs, dev = ([e.source_text for e in part] for part in (examples, work.folder.examples("dev")))
        predicted, dev_predicted = {}, {}
        for stage in (stage for stage in self._trained if stage.name in work.folder.record.stages):
            log.progress(f"predicting with {stage.label} …")
            found = stage.predict(work, [*inputs, *dev] if stage.scores else inputs)
            predicted[stage.system] = found[: len(inputs)]
            if held_out := found[len(inputs) :]:
                dev_predicted[stage.system] = held_out
        return predicted, dev_predicted

    def summary(self, figures: Figures) -> str:
        systems = figures["systems"].items()
        shares = [f"{figures['labels'][name]} {score['right'] / score['examples']:.1%}" for name, score in systems]
        return ", ".join(shares) + " correct" if shares else "no test set"


def _risk_coverage(
    work: Work,
    parser: Parser,
    examples: list[Example],
    predicted: Mapping[str, Sequence[Prediction]],
    dev_predicted: Mapping[str, Sequence[Prediction]],
) -> dict[str, list[tuple[float, float]]]:
    """Give the risk and coverage of systems on the examples, with confidences that are fitted to dev."""
    dev = work.folder.examples("dev")
    asked, dev_asked = (parser.scored([e.source_text for e in part], work.engine) for part in (examples, dev))
    curves = {}
    for name, held_out in dev_predicted.items():
        right = correct(dev, [one.text for one in held_out])
        fitted = Calibration.fit(features_of(held_out, dev_asked), right, parser=True)
        sure = fitted.confidences(features_of(predicted[name], asked))
        curve = risk_coverage(sure, correct(examples, [one.text for one in predicted[name]]))
        curves[name] = [(round(coverage, 4), round(risk, 4)) for coverage, risk in curve]
    return curves


def _counts(found: Score) -> dict[str, int]:
    return {"examples": found.examples, "answered": found.covered, "right": found.right}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
