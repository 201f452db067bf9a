"""Outputs compared with the correct ones, over all examples and in groups.

Outputs are compared as their language does, which is seen from the correct ones: JSON as objects, others by their
tokens; or as texts.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from csl.examples.example import Example
from csl.languages.registry import detect

Match = Literal["language", "text"]

MOST_CATEGORIES = 40  # a column with more values than this is not a category
LENGTHS = (5, 10, 15, 20, 30)  # where the groups by number of input tokens end
_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


def same_output(first: str, second: str) -> bool:
    """Tell whether outputs are equal but for white space around punctuation: `f ( a )` is `f(a)`, `a b` not `ab`."""
    return _WORD_OR_MARK.findall(first) == _WORD_OR_MARK.findall(second)


def comparison(targets: Sequence[str], match: Match = "language") -> Callable[[str, str], bool]:
    """Choose how outputs are compared with correct ones; in no language does white space around punctuation count."""
    if match == "text":
        return str.__eq__
    language = detect(targets).language if targets else None
    return lambda a, b: same_output(a, b) or (bool(a) and language is not None and language.same(a, b))


@dataclass(frozen=True)
class Score:
    """Counts over a set of examples."""

    examples: int
    covered: int
    right: int

    def __add__(self, other: "Score") -> "Score":
        return Score(self.examples + other.examples, self.covered + other.covered, self.right + other.right)

    @property
    def accuracy(self) -> float:
        """The share of examples whose output is right."""
        return self.right / max(1, self.examples)

    @property
    def coverage(self) -> float:
        """The share of inputs that get an output."""
        return self.covered / max(1, self.examples)

    @property
    def precision(self) -> float:
        """The share of outputs that are right."""
        return self.right / max(1, self.covered)


def score(
    examples: Sequence[Example], outputs: Sequence[str], match: Match = "language"
) -> tuple[Score, dict[str, Score]]:
    """Compare outputs, empty where there is none, with those of the examples: all, and in groups."""
    right = correct(examples, outputs, match)

    def count(places: Sequence[int]) -> Score:
        return Score(len(places), sum(bool(outputs[i]) for i in places), sum(right[i] for i in places))

    return count(range(len(examples))), {name: count(places) for name, places in groups(examples).items()}


def correct(examples: Sequence[Example], outputs: Sequence[str], match: Match = "language") -> list[bool]:
    """Tell for each example whether its output is correct."""
    targets = [example.target_text for example in examples]
    same = comparison(targets, match)
    return [same(output, target) for target, output in zip(targets, outputs, strict=True)]


@dataclass(frozen=True)
class Breakdown:
    """Counts of the inputs that CSL covers and of the others: `examples`, and the correct outputs of each system."""

    covered: dict[str, int]
    others: dict[str, int]

    @property
    def all(self) -> dict[str, int]:
        """The counts of both together."""
        return {name: count + self.others[name] for name, count in self.covered.items()}


def breakdown(
    examples: Sequence[Example], csl: Sequence[str], systems: Mapping[str, Sequence[str]]
) -> tuple[Breakdown, dict[str, Breakdown]]:
    """Count the correct outputs of systems by whether CSL gives an output, over all examples and by category.

    This is the paper's "Performance Breakdown". Without categories there are no groups.
    """
    hits = {name: correct(examples, outputs) for name, outputs in systems.items()}

    def split(places: Sequence[int]) -> Breakdown:
        return Breakdown(
            count_correct(hits, [i for i in places if csl[i]]), count_correct(hits, [i for i in places if not csl[i]])
        )

    categories = groups(examples) if any("category" in example.meta for example in examples) else {}
    return split(range(len(examples))), {name: split(places) for name, places in categories.items()}


def count_correct(hits: Mapping[str, Sequence[bool]], places: Sequence[int]) -> dict[str, int]:
    """Count examples (`examples`), and how many of them each system has correct."""
    return {"examples": len(places), **{name: sum(right[i] for i in places) for name, right in hits.items()}}


def groups(examples: Sequence[Example]) -> dict[str, list[int]]:
    """Group examples by category if they have one, otherwise by the length of the input."""
    return by_category(examples) or by_length(examples)


def by_category(examples: Sequence[Example]) -> dict[str, list[int]]:
    """Group examples by category; no groups if all have the same, or too many different ones."""
    names = [example.meta.get("category", "") for example in examples]
    return _places(names, sorted(set(names))) if 1 < len(set(names)) <= MOST_CATEGORIES else {}


def by_length(examples: Sequence[Example]) -> dict[str, list[int]]:
    """Group examples by the number of input tokens."""
    starts = [1, *(end + 1 for end in LENGTHS)]
    labels = [f"{a}–{b} tokens" for a, b in zip(starts, LENGTHS, strict=False)] + [f"over {LENGTHS[-1]} tokens"]
    names = [labels[sum(len(example.source) > end for end in LENGTHS)] for example in examples]
    return _places(names, [label for label in labels if label in names])


def _places(names: Sequence[str], order: Sequence[str]) -> dict[str, list[int]]:
    return {name: [i for i, other in enumerate(names) if other == name] for name in order}


def percent(part: int, whole: int) -> str:
    """Write a share in percent; 100.0% means all of them."""
    text = f"{part / whole:.1%}" if whole else "–"
    return "99.9%" if text == "100.0%" and part < whole else text
