"""Original and synthetic pairs as one training set.

Original pairs are repeated until both are about equally many (paper, after Jia and Liang 2016); as weights, each pair
is kept once and says how often it counts. Synthetic pairs are not repeated: a few must not be half of the training set.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from csl.examples import Example
from csl.examples.formats import Row, to_dataset


@dataclass(frozen=True)
class Mixture:
    """Original and synthetic pairs, and how often each is repeated."""

    original: Sequence[Example]
    synthetic: Sequence[Example]

    @property
    def copies(self) -> tuple[int, int]:
        """How often an original and a synthetic pair are repeated."""
        return max(1, round(len(self.synthetic) / max(1, len(self.original)))), 1

    def __iter__(self) -> Iterator[Example]:
        for examples, copies in zip((self.original, self.synthetic), self.copies, strict=True):
            for _ in range(copies):
                yield from examples

    def __len__(self) -> int:
        return len(self.original) * self.copies[0] + len(self.synthetic) * self.copies[1]

    def weighted(self) -> Iterator[Example]:
        """Give each pair once, with its weight and where it is from as columns."""
        kinds = ("original", "synthetic")
        for examples, copies, kind in zip((self.original, self.synthetic), self.copies, kinds, strict=True):
            for example in examples:
                yield Example(example.source, example.target, {"weight": str(copies), "origin": kind})

    def to_dataset(self) -> Any:
        """Give a Hugging Face `Dataset` with the columns input, output, weight and origin."""
        rows = [
            Row(e.source_text, e.target_text, {"weight": int(e.meta["weight"]), "origin": e.meta["origin"]})
            for e in self.weighted()
        ]
        return to_dataset(rows, columns=("weight", "origin"))
