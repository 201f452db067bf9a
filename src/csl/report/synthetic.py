"""Synthetic pairs beside the training pairs nearest to them. All are counted, some are shown."""

from collections.abc import Sequence
from itertools import accumulate

from csl.examples import Example
from csl.report.derivations import Derivations, Preorder
from csl.report.nearest import Nearest
from csl.report.schema import Synthetic, SyntheticPairs
from csl.report.selection import evenly

SHOWN, NEAREST = 60, 3


def choose_samples(samples: Sequence[Example], derivations: Derivations) -> list[tuple[Example, Preorder]]:
    """Choose samples evenly, each once, with their derivations: as they were drawn, if the samples tell."""
    chosen = list(dict.fromkeys(evenly(samples, SHOWN)))
    found = derivations.best(chosen)
    return [(example, _drawn(example, derivations) or rules) for example, rules in zip(chosen, found, strict=True)]


def _drawn(example: Example, derivations: Derivations) -> Preorder:
    """Give the derivation that the sample says it has; none if it says none, or none of this grammar."""
    numbers = example.meta.get("derivation", "").split()
    if not all(number.isdecimal() and 0 < int(number) <= len(derivations.rules) for number in numbers):
        return ()
    rules = tuple(int(number) - 1 for number in numbers)
    missing = list(accumulate((derivations.rules[r].arity - 1 for r in rules), initial=1))  # after each rule
    return rules if missing[-1] == 0 and 0 not in missing[:-1] else ()


def describe_samples(
    samples: Sequence[Example], shown: Sequence[tuple[Example, Preorder]], train: Sequence[Example]
) -> SyntheticPairs:
    """Count the samples, and describe those that are shown."""
    known, nearest = set(train), Nearest(train)
    return SyntheticPairs(
        total=len(samples),
        distinct=len(set(samples)),
        new=sum(example not in known for example in samples) if train else None,
        pairs=[
            Synthetic(
                input=example.source_text,
                output=example.target_text,
                rules=[r + 1 for r in rules] or None,
                nearest=nearest.nearest(example.source, NEAREST),
            )
            for example, rules in shown
        ],
    )
