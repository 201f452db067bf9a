"""Evaluation: the parser of the grammar on all parts of the data, and every trained system on the test set."""

import math
from collections.abc import Sequence
from dataclasses import asdict

from csl.examples.score import Score, breakdown, score
from csl.files import write_text
from csl.log import Log
from csl.preparing.evaluate import evaluate
from csl.runs.folder import PARTS, Figures
from csl.runs.stage import Stage, Work
from csl.seq2seq.predictions import ensemble

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
        systems = {"csl": found.outputs, **self._predicted(work, [example.source_text for example in examples])}
        for name, first in (("ensemble", "csl"), ("nqg_t5", "nqg")):
            if "t5" in systems and first in systems:
                systems[name] = ensemble(systems[first], systems["t5"])
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

    def _predicted(self, work: Work, inputs: list[str]) -> dict[str, list[str]]:
        """Give the outputs of the systems that were trained."""
        outputs = {}
        for stage in (stage for stage in self._trained if stage.name in work.folder.record.stages):
            log.progress(f"predicting with {stage.label} …")
            outputs[stage.system] = stage.predict(work, inputs)
        return outputs

    def summary(self, figures: Figures) -> str:
        systems = figures["systems"].items()
        shares = [f"{figures['labels'][name]} {score['right'] / score['examples']:.1%}" for name, score in systems]
        return ", ".join(shares) + " correct" if shares else "no test set"


def _counts(found: Score) -> dict[str, int]:
    return {"examples": found.examples, "answered": found.covered, "right": found.right}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
