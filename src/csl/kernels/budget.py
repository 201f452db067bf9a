"""How much a kernel may do for one input: so many items, and until it is stopped.

Items are what a chart or a forest holds: states, edges, applications and their children. Their number does not depend
on the machine, so neither does what is given up. Steps that leave nothing behind count too, but less. The flag is set
from outside, by a clock if the user wants one, while the kernel runs without the GIL.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.kernel import kernel

ITEMS = 8 * 2**20  # of one input, unless the user says otherwise
STEPS = 32  # without a trace that count as one item
ENTRIES = 8  # of a table that is as large as the square of an input that count as one item
SHARE = 8  # a batch is returned when it holds so many-th of the budget: memory is bounded, whatever the batch

UNCOVERED, COVERED, TOO_MANY, STOPPED = 0, 1, 2, 3  # status of an input; TOO_MANY, STOPPED: given up


class Budget(NamedTuple):
    """A bound on the items of one input, and a flag to stop."""

    items: int
    stop: npt.NDArray[np.bool_]  # of one element


def untimed(items: int = ITEMS) -> Budget:
    """Return a budget without a clock."""
    return Budget(items, np.zeros(1, np.bool_))


@kernel
def spent(budget: Budget, items: int) -> bool:
    """Tell whether it is time to give up, with so many items."""
    return items > budget.items or budget.stop[0]


@kernel
def given_up(budget: Budget) -> int:
    """Return the status of an input that is given up: why."""
    return STOPPED if budget.stop[0] else TOO_MANY
