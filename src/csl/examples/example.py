"""An example: one (input, output) pair of a data set, as tokens."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from csl.errors import InputError

_TOKEN = re.compile(r"\S+", re.ASCII)


def split_tokens(text: str) -> tuple[str, ...]:
    """Split a text at ASCII white space; others, such as a non-breaking space, are part of a token and come back."""
    return tuple(_TOKEN.findall(text))


@dataclass(frozen=True, slots=True)
class Example:
    """A pair ⟨x, y⟩. Two examples are equal when their tokens are; `meta` (named columns) does not count."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    meta: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a text, which would become tokens of one character."""
        if isinstance(self.source, str) or isinstance(self.target, str):
            raise InputError(f"{self.source!r}, {self.target!r}: a side is a tuple of tokens; for texts: Example.of")

    @classmethod
    def of(cls, source: str, target: str, /, **meta: str) -> "Example":
        """Split both sides at white space: `Example.of("jump twice", "JUMP JUMP")`."""
        return cls(split_tokens(source), split_tokens(target), meta)

    @property
    def source_text(self) -> str:
        """The input as one string."""
        return " ".join(self.source)

    @property
    def target_text(self) -> str:
        """The output as one string."""
        return " ".join(self.target)


def tally(examples: Collection[Example]) -> str:
    """Report how many examples there are, how many are distinct, and how many inputs have more than one output."""
    outputs = Counter(example.source for example in set(examples))
    ambiguous = sum(count > 1 for count in outputs.values())
    counts = f"{len(examples):,} examples, {outputs.total():,} distinct"
    return counts + (f", {ambiguous:,} input{'s'[: ambiguous > 1]} with more than one output" if ambiguous else "")
