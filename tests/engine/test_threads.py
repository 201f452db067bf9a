"""Work spread over threads."""

import numpy as np
import numpy.typing as npt
import pytest

from csl.engine.engine import Broadcast, Growing
from csl.engine.threads import Threads

Ints = npt.NDArray[np.int64]


def weigh(part: Ints, weights: tuple[Ints, ...], factor: int) -> Ints:
    return weights[0][part] * factor


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("items", [0, 1, 100])
def test_results_come_in_order_and_state_as_its_value(threads: int, items: int) -> None:
    weights = (np.arange(100) ** 2,)
    for state in (Broadcast(weights), Growing(lambda: weights)):
        found = Threads(threads).map(weigh, np.arange(items), state, 3)
        assert found.tolist() == [3 * i * i for i in range(items)]


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_parts_can_be_fixed(threads: int) -> None:
    assert [len(part) for part in Threads(threads).chunks(np.copy, np.arange(10), parts=4)] == [3, 3, 2, 2]


def test_few_items_stay_together() -> None:
    assert len(Threads(2).chunks(np.copy, np.arange(1), least=2)) == 1
    assert len(Threads(2).chunks(np.copy, np.arange(2), least=2)) > 1


def test_what_has_grown_is_seen() -> None:
    arrays = [np.arange(3)]
    growing = Growing(lambda: (arrays[0],))
    assert Threads(1).map(weigh, np.array([2]), growing, 1).tolist() == [2]
    arrays[0] = np.arange(9)
    assert Threads(1).map(weigh, np.array([8]), growing, 1).tolist() == [8]
