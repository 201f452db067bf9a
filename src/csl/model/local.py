"""Forests that number rules and contexts by themselves: a table of all contexts by all rules can be too large."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.source_chart import Forests

Places = npt.NDArray[np.int64]


class Local(NamedTuple):
    """Forests, in which rules are numbered by their place in `rules`, and contexts by theirs in `contexts`."""

    forests: Forests
    starts: Places  # rule → its first context, and at the end their number
    rules: Places  # those that occur
    contexts: Places  # the root, and those of the rules


def localised(forests: Forests, starts: Places) -> Local:
    """Give forests numbers of their own for their rules, whose first contexts are `starts`."""
    occurs = np.zeros(len(starts) - 1, np.bool_)
    occurs[forests.rules] = True
    rules, number = np.flatnonzero(occurs), np.cumsum(occurs, dtype=np.int32) - 1
    arity = np.diff(starts)[rules]
    ends = 1 + np.cumsum(arity)
    contexts = np.arange(1, 1 + arity.sum()) + np.repeat(starts[rules] - (ends - arity), arity)
    return Local(
        forests._replace(rules=number[forests.rules]),
        np.append(ends - arity, 1 + arity.sum()),
        rules,
        np.append(0, contexts),
    )
