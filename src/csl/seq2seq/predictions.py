"""Files of predictions: the ensemble, and the breakdown by what CSL covers (paper, "Performance Breakdown").

A file of predictions has a line for each input, `input<TAB>output`, as `csl parse` and `csl predict` write it; the
output is empty where the model abstains, and further columns are ignored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from csl.errors import InputError
from csl.examples import Example
from csl.examples.score import groups, same_output
from csl.files import read_lines


@dataclass(frozen=True)
class Predictions:
    """Inputs and the best output of each, empty where there is none."""

    path: Path
    inputs: list[str]
    outputs: list[str]

    @classmethod
    def read(cls, path: Path | str) -> "Predictions":
        """Read a file of predictions."""
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


@dataclass(frozen=True)
class Breakdown:
    """A row of the paper's table: accuracies by system, of inputs that CSL covers, of the others, and of all."""

    name: str
    examples: int
    covered: int
    inside: dict[str, float]
    outside: dict[str, float]
    all: dict[str, float]


def breakdown(examples: Sequence[Example], csl: Sequence[str], systems: Mapping[str, Sequence[str]]) -> list[Breakdown]:
    """Break the accuracy of systems down by whether CSL gives an output; a row for each category, then one for all."""
    right = {
        name: [same_output(output, example.target_text) for output, example in zip(outputs, examples, strict=True)]
        for name, outputs in systems.items()
    }

    def accuracies(places: Sequence[int]) -> dict[str, float]:
        return {name: sum(hits[i] for i in places) / max(1, len(places)) for name, hits in right.items()}

    def row(name: str, places: Sequence[int]) -> Breakdown:
        inside, outside = [i for i in places if csl[i]], [i for i in places if not csl[i]]
        return Breakdown(name, len(places), len(inside), *map(accuracies, (inside, outside, places)))

    categories = groups(examples) if any("category" in example.meta for example in examples) else {}
    return [*(row(name, places) for name, places in categories.items()), row("all", range(len(examples)))]
