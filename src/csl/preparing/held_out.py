"""Raw text that is held out: what a grammar, learnt without it, makes of it.

A template is an output with types in place of values. To see both what is like training and what recombines it, each of
a few splits holds out all pairs of a tenth of the templates, and a tenth of the other pairs; one split holds out the
longest templates. The others are prepared from scratch. Of large sets only so many pairs are looked at that this stays
cheap; the same data has the same splits.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from csl.examples import Example
from csl.preparing.preparation import Preparation, Prepared, prepare
from csl.preparing.value_lists import Listed
from csl.preparing.values import template

Words = tuple[str, ...]

SPLITS = 3
HELD_OUT = 10  # a tenth of the templates, and a tenth of the other pairs
MOST_PAIRS, MOST_TOKENS = 1000, 20_000  # of a set that are looked at
MOST_OF_TEMPLATE = 10  # pairs of a held-out template that are looked at


@dataclass(frozen=True)
class Split:
    """Pairs to learn from, held-out pairs of their templates, and pairs of templates that they lack."""

    rest: list[Example]
    known: list[Example]
    new: list[Example]
    template_of: Mapping[Example, Words]

    def prepared(self, preparation: Preparation, values: Listed | None = None) -> Prepared:
        """Prepare the pairs to learn from, in the language that is known, with the values of a list."""
        pairs = [(pair.source_text, pair.target_text) for pair in self.rest]
        found = prepare(pairs, preparation.language.name, keep_case=preparation.casing is None)
        return replace(found, preparation=values.added_to(found.preparation)) if values else found


def looked_at(examples: Sequence[Example]) -> list[int]:
    """Give the places of the pairs that are looked at, in order: all, or of large sets some, at random."""
    distinct = list(dict.fromkeys(examples))
    order = np.random.default_rng(0).permutation(len(distinct))[:MOST_PAIRS]
    tokens = np.cumsum([len(distinct[i].source) + len(distinct[i].target) for i in order])
    chosen = {distinct[i] for i in order[: max(1, int(np.searchsorted(tokens, MOST_TOKENS, "right")))]}
    return [place for place, pair in enumerate(examples) if pair in chosen]


def splits(examples: Sequence[Example], preparation: Preparation) -> Iterator[Split]:
    """Split raw pairs; there is none where no pair would be left to learn from."""
    rng = np.random.default_rng(0)
    distinct = list(dict.fromkeys(examples[i] for i in looked_at(examples)))
    of = {pair: template(preparation.example(pair.source_text, pair.target_text).target) for pair in distinct}
    for new in _held_out(list(of.values()), rng):
        others = [pair for pair in distinct if of[pair] not in new]
        chosen = {others[i] for i in rng.permutation(len(others))[::HELD_OUT]}
        rest = [pair for pair in others if pair not in chosen]
        if rest:
            left, seen = {of[pair] for pair in rest}, Counter[Words]()
            unknown: list[Example] = []
            for pair in distinct:
                if of[pair] not in left:
                    seen[of[pair]] += 1
                    if seen[of[pair]] <= MOST_OF_TEMPLATE:
                        unknown.append(pair)
            known = [pair for pair in others if pair in chosen and of[pair] in left]
            yield Split(rest, known, unknown, of)


def _held_out(templates: Sequence[Words], rng: np.random.Generator) -> Iterator[set[Words]]:
    """Choose templates to hold out: every tenth in an order at random, and last the longest."""
    names = list(dict.fromkeys(templates))
    order = rng.permutation(len(names))
    for first in range(SPLITS - 1):
        yield {names[i] for i in order[first::HELD_OUT]} if len(names) > 1 else set()
    pairs, longest = Counter(templates), set[Words]()
    for name in sorted(names, key=lambda name: (-len(name), name)):
        longest.add(name)
        if HELD_OUT * sum(pairs[other] for other in longest) >= len(templates):
            break
    yield longest if len(names) > 1 else set()
