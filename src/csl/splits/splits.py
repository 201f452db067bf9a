"""Split makers for any data set: random, length, template and TMCD.

Each gives positions of examples, and the same examples, size and seed give the same split. How TMCD searches is in
`tmcd`, what it counts in `divergence`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from csl.errors import InputError
from csl.examples import Example
from csl.splits.divergence import Profile
from csl.splits.programs import abstract
from csl.splits.tmcd import tmcd_training


@dataclass(frozen=True, slots=True)
class Split:
    """Positions of the examples on each side, ascending."""

    train: list[int]
    test: list[int]
    dev: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, train: Iterable[int], total: int) -> "Split":
        """Everything that is not in training is in the test set; neither side may be empty."""
        chosen = set(train)
        if not 0 < len(chosen) < total:
            raise InputError(
                f"the split puts {len(chosen)} of {total} examples into training; both sides need some: "
                "ask for another size"
            )
        return cls(sorted(chosen), [i for i in range(total) if i not in chosen])

    def with_dev(self, n_dev: int, seed: int) -> "Split":
        """Draw a dev set from the test set, as the paper does for GeoQuery."""
        if not 0 <= n_dev < len(self.test):
            raise InputError(f"a dev set of {n_dev} leaves no test set: there are {len(self.test)} examples for both")
        drawn = np.random.default_rng(seed).permutation(self.test).tolist()
        return Split(self.train, sorted(drawn[n_dev:]), sorted(drawn[:n_dev]))


def parse_sizes(text: str, total: int) -> tuple[int, int]:
    """Read `TRAIN,TEST` or `TRAIN,DEV,TEST`, which must add up to the number of examples; return train and dev."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or min(numbers) < 0:
        raise InputError(f"sizes {text!r} are not of the form TRAIN,TEST or TRAIN,DEV,TEST")
    if sum(numbers) != total:
        raise InputError(f"sizes {text} add up to {sum(numbers)}, but there are {total} examples")
    return numbers[0], numbers[1] if len(numbers) == 3 else 0


def random_split(total: int, n_train: int, seed: int) -> Split:
    """Draw the training examples."""
    return Split.of(np.random.default_rng(seed).permutation(total)[:n_train].tolist(), total)


def length_split(lengths: Sequence[int], n_train: int, seed: int) -> Split:
    """Train on the shortest examples; among those at the boundary length, draw."""
    drawn: list[int] = np.random.default_rng(seed).permutation(len(lengths)).tolist()
    return Split.of(sorted(drawn, key=lengths.__getitem__)[:n_train], len(lengths))


def template_split(examples: Sequence[Example], n_train: int, seed: int, entities: re.Pattern[str]) -> Split:
    """Share no template, an output with its entities and literals abstracted, between train and test.

    Templates in random order go to training wherever they still fit, so that training has `n_train` examples or, if
    no template is small enough to fill the last gap, somewhat fewer.
    """
    by_template: dict[tuple[str, ...], list[int]] = {}
    for i, example in enumerate(examples):
        by_template.setdefault(abstract(example.target, entities), []).append(i)
    if len(by_template) == 1:
        raise InputError("all outputs have the same template, so that no split by template exists")
    groups = list(by_template.values())
    train: list[int] = []
    for g in np.random.default_rng(seed).permutation(len(groups)):
        if len(train) + len(groups[g]) <= n_train:
            train += groups[g]
    return Split.of(train, len(examples))


def tmcd_split(profiles: Sequence[Profile], n_train: int, seed: int, min_count: int = 2) -> Split:
    """Maximise compound divergence, with every atom of the test set in at least `min_count` training examples."""
    return Split.of(tmcd_training(profiles, n_train, seed, min_count), len(profiles))
