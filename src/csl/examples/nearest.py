"""The training example whose input is nearest to an input: fewest tokens to insert, delete or replace.

The bound by common tokens, max(n, m) − |common|, is O(n) for an example; the distance itself, O(n m), is computed only
where the bound is below the best so far, from the lowest bound on.
"""

from collections import Counter
from collections.abc import Sequence
from math import inf

from csl.examples.example import Example


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Count the tokens to insert, delete or replace, at least, to make one sequence of the other (Levenshtein).

    >>> edit_distance("walk twice".split(), "walk and run twice".split())
    2
    """
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


class Nearest:
    """Examples to search, at least one."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._examples = [(example, Counter(example.source)) for example in examples]

    def find(self, source: Sequence[str]) -> tuple[Example, int]:
        """Give the example with the nearest input, the first of several, and its distance."""
        own, n = Counter(source), len(source)
        bounds = [max(n, len(example.source)) - (counts & own).total() for example, counts in self._examples]
        order = sorted(range(len(bounds)), key=bounds.__getitem__)
        distance, best = inf, order[0]
        for place in order:
            if bounds[place] > distance:
                break
            found = edit_distance(source, self._examples[place][0].source)
            distance, best = min((distance, best), (found, place))
        return self._examples[best][0], int(distance)
