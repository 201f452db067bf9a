"""Work spread over threads."""

import pickle

import numpy as np
import numpy.typing as npt
import pytest

from csl.engine import Threads

Ints = npt.NDArray[np.int64]


def weigh(part: Ints, weights: Ints, factor: int) -> Ints:
    return weights[part] * factor


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("items", [0, 1, 100])
def test_results_come_in_order(threads: int, items: int) -> None:
    found = pickle.loads(pickle.dumps(Threads(threads))).map(weigh, np.arange(items), np.arange(100) ** 2, 3)
    assert found.tolist() == [3 * i * i for i in range(items)]


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_parts_can_be_fixed(threads: int) -> None:
    assert [len(part) for part in Threads(threads).chunks(np.copy, np.arange(10), parts=4)] == [3, 3, 2, 2]


def test_few_items_stay_together() -> None:
    assert len(Threads(2).chunks(np.copy, np.arange(1), least=2)) == 1
    assert len(Threads(2).chunks(np.copy, np.arange(2), least=2)) > 1
