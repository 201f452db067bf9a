"""Work spread over threads."""

import pickle

import numpy as np
import numpy.typing as npt
import pytest

from csl import engine
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


def test_brief_work_is_not_cut_once_its_pace_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BRIEF", 60.0)
    threads = Threads(2)
    threads.chunks(np.copy, np.arange(3))
    assert len(threads.chunks(np.copy, np.arange(1000))) == 1
    monkeypatch.setattr(engine, "BRIEF", 0.0)
    assert len(threads.chunks(np.copy, np.arange(1000))) > 1


def test_results_can_be_taken_as_they_come() -> None:
    seen = [part.sum() for part in Threads(2).stream(np.copy, np.arange(100))]
    assert len(seen) > 1
    assert sum(seen) == 99 * 50
    assert [part.tolist() for part in Threads(2).stream(np.copy, np.arange(0))] == [[]]
