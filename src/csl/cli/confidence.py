"""Confidences in `csl predict`: those of a model's best outputs, and their calibration on examples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csl.cli.options import parser_of
from csl.errors import InputError
from csl.examples.formats import Rows
from csl.examples.score import correct
from csl.runs.folder import run_of
from csl.seq2seq.confidence import REMEDY, Calibration, features_of
from csl.seq2seq.predictions import Prediction

THRESHOLDS = (0.0, 0.5, 0.9, 0.99)  # that a calibration is summed up by


@dataclass(frozen=True)
class Judge:
    """A model, and the run whose parser is asked for a second opinion, if there is one."""

    model: Path
    parser: Path | None

    @classmethod
    def of(cls, model: Path, parser: Path | None) -> "Judge":
        """Take the run given, or the model's own if it has a grammar with its model."""
        own = run_of(model)
        return cls(model, parser or (own if own and (own / "model.npz").is_file() else None))

    def calibration(self) -> Calibration:
        """Load the calibration of the model; refuse one that was fitted with another kind of evidence."""
        found = Calibration.load(self.model)
        if found.parser != bool(self.parser):
            fitted = "with a parser: give its run with --parser" if found.parser else f"without a parser; {REMEDY}"
            raise InputError(f"the confidence of the model was fitted {fitted}", self.model)
        return found

    def confidences(self, rows: Rows, found: Sequence[Sequence[Prediction]]) -> list[float]:
        """Give the probability that the best output of each row is correct, as it is written: in thousandths."""
        return [round(value, 3) for value in self.calibration().confidences(self._features(rows, found))]

    def calibrate(self, rows: Rows, found: Sequence[Sequence[Prediction]]) -> Iterator[str]:
        """Fit confidences to rows with correct outputs, store them, and say what thresholds come to on these rows."""
        features = self._features(rows, found)
        right = correct(rows.examples(), [outputs[0].text for outputs in found])
        fitted = Calibration.fit(features, right, parser=bool(self.parser))
        asked = f"parser of {self.parser}" if self.parser else "no parser"
        yield f"{fitted.save(self.model)}: fitted to {len(right):,} examples, {asked}"
        sure = fitted.confidences(features)
        for threshold in THRESHOLDS:
            kept = [good for value, good in zip(sure, right, strict=True) if value >= threshold]
            if kept:
                shares = f"coverage {len(kept) / len(right):.1%}, precision {sum(kept) / len(kept):.1%}"
                yield f"confidence of at least {threshold:g}: {shares}"

    def _features(self, rows: Rows, found: Sequence[Sequence[Prediction]]) -> Any:
        opinions = parser_of(self.parser).scored([row.input for row in rows.rows]) if self.parser else None
        return features_of([outputs[0] for outputs in found], opinions)
