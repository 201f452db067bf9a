"""Outputs compared with the correct ones: exact match except for white space, over all examples and in groups."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from csl.examples.example import Example

MOST_CATEGORIES = 40  # a column with more values than this is not a category
LENGTHS = (5, 10, 15, 20, 30)  # where the groups by number of input tokens end
_WORD_OR_PUNCTUATION = re.compile(r"\w+|[^\w\s]")


def same_output(first: str, second: str) -> bool:
    """Tell whether outputs are equal but for white space at punctuation: `f ( a )` is `f(a)`, `a b` is not `ab`."""
    return _WORD_OR_PUNCTUATION.findall(first) == _WORD_OR_PUNCTUATION.findall(second)


@dataclass(frozen=True)
class Score:
    """Counts over a set of examples."""

    examples: int
    covered: int
    right: int

    @property
    def accuracy(self) -> float:
        """The share of examples whose output is correct."""
        return self.right / max(1, self.examples)

    @property
    def coverage(self) -> float:
        """The share of inputs that get an output."""
        return self.covered / max(1, self.examples)

    @property
    def precision(self) -> float:
        """The share of outputs that are correct."""
        return self.right / max(1, self.covered)


def score(examples: Sequence[Example], outputs: Sequence[str]) -> tuple[Score, dict[str, Score]]:
    """Compare outputs, empty where there is none, with those of the examples: all, and in groups."""
    right = [same_output(output, example.target_text) for example, output in zip(examples, outputs, strict=True)]

    def count(places: Sequence[int]) -> Score:
        return Score(len(places), sum(bool(outputs[i]) for i in places), sum(right[i] for i in places))

    return count(range(len(examples))), {name: count(places) for name, places in groups(examples).items()}


def groups(examples: Sequence[Example]) -> Mapping[str, list[int]]:
    """Group examples by category if they have one, otherwise by the length of the input."""
    names = [example.meta.get("category", "") for example in examples]
    if not 1 < len(set(names)) <= MOST_CATEGORIES:
        starts = [1, *(end + 1 for end in LENGTHS)]
        labels = [f"{a}–{b} tokens" for a, b in zip(starts, LENGTHS, strict=False)] + [f"over {LENGTHS[-1]} tokens"]
        names = [labels[sum(len(example.source) > end for end in LENGTHS)] for example in examples]
        order = [label for label in labels if label in set(names)]
    else:
        order = sorted(set(names))
    return {name: [i for i, n in enumerate(names) if n == name] for name in order}


def percent(part: int, whole: int) -> str:
    """Write a share in percent; 100.0% means all of them."""
    text = f"{part / whole:.1%}" if whole else "–"
    return "99.9%" if text == "100.0%" and part < whole else text
