"""Predictions, files of them, and the ensemble of two.

A file of predictions has an output for each input, as `csl parse` and `csl predict` write it: lines of
`input<TAB>output`, or another format, seen from the name of the file. The output is empty where the model abstains, and
further columns are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from csl.errors import InputError
from csl.examples.formats import container_of, read_rows
from csl.examples.score import same_output
from csl.files import read_lines


@dataclass(frozen=True)
class Prediction:
    """An output, and log p(output | input) where it was asked for."""

    text: str
    log_prob: float | None = None


@dataclass(frozen=True)
class Predictions:
    """Inputs and the best output of each, empty where there is none."""

    path: Path
    inputs: list[str]
    outputs: list[str]

    @classmethod
    def read(cls, path: Path | str) -> "Predictions":
        """Read a file of predictions."""
        if container_of(Path(path)) not in (None, "tsv"):
            rows = read_rows(path, inputs_only=True).rows
            return cls(Path(path), [row.input.strip() for row in rows], [row.output.strip() for row in rows])
        inputs, outputs = [], []
        for number, line in read_lines(path):
            if not line.strip() and "\t" not in line:  # an empty input may have an empty output
                continue
            source, tab, rest = line.partition("\t")
            if not tab:
                raise InputError(
                    "one column; expected input<TAB>output, as csl predict and csl parse write it", path, number
                )
            inputs.append(source.strip())
            outputs.append(rest.partition("\t")[0].strip())
        return cls(Path(path), inputs, outputs)

    def check(self, inputs: Sequence[str], other: Path | str) -> None:
        """Refuse predictions of other inputs than those of another file, or in another order."""
        if len(inputs) != len(self.inputs):
            raise InputError(f"{len(self.inputs):,} predictions, but {other} has {len(inputs):,} inputs", self.path)
        for number, (own, wanted) in enumerate(zip(self.inputs, inputs, strict=True), start=1):
            if not same_output(own, wanted):
                raise InputError(f"the input of prediction {number:,} is {own!r}, in {other} {wanted!r}", self.path)


def ensemble(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Take the first output where there is one, otherwise the second: CSL where it covers, else the seq2seq model."""
    return [a or b for a, b in zip(first, second, strict=True)]
