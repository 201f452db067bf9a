"""A worker catches up on the state; here without a cluster, with lists in place of its object store."""

from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from csl import __version__
from csl.engine import worker
from csl.engine.worker import Call, Shared, pack, unpack, work
from csl.errors import InputError

Ints = npt.NDArray[np.int64]
numbers = count(10**9)


class Store:
    """Keeps packed values, and counts what is fetched of them."""

    def __init__(self) -> None:
        self.values: list[npt.NDArray[np.uint8]] = []
        self.fetched = 0

    def put(self, value: object) -> int:
        self.values.append(pack(value))
        return len(self.values) - 1

    def get(self, refs: list[int]) -> list[npt.NDArray[np.uint8]]:
        self.fetched += len(refs)
        return [self.values[ref] for ref in refs]


class Pair(NamedTuple):
    """Arrays that grow."""

    first: Ints
    second: Ints


def joined(part: Ints, arrays: tuple[Ints, ...], more: int) -> list[list[int]]:
    return [[*array.tolist(), *part.tolist(), more] for array in arrays]


def ask(store: Store, shared: Shared, part: int = 7, version: str = __version__) -> object:
    call = Call(version, next(numbers), {0: shared}, {shared.key})
    return unpack(work(store.get, call, pack((joined, [None, 5])), pack(np.array([part]))))


def test_only_what_is_new_is_fetched() -> None:
    store, key = Store(), next(numbers)
    refs = [store.put(Pair(np.array([1, 2]), np.array([3])))]
    assert ask(store, Shared(key, True, refs)) == [[1, 2, 7, 5], [3, 7, 5]]
    refs += [store.put(Pair(np.array([8]), np.array([9]))), store.put(Pair(np.array([0]), np.empty(0, np.int64)))]
    assert ask(store, Shared(key, True, refs)) == [[1, 2, 8, 0, 7, 5], [3, 9, 7, 5]]
    assert ask(store, Shared(key, True, refs)) == [[1, 2, 8, 0, 7, 5], [3, 9, 7, 5]]
    assert store.fetched == 3


def test_what_the_driver_no_longer_keeps_is_forgotten() -> None:
    store, key = Store(), next(numbers)
    refs = [store.put(Pair(np.array([k]), np.array([3]))) for k in (1, 2)]
    assert ask(store, Shared(key, True, refs)) == [[1, 2, 7, 5], [3, 3, 7, 5]]
    assert ask(store, Shared(next(numbers), False, [store.put((np.array([4]),))])) == [[4, 7, 5]]
    assert key not in worker._cache
    before = store.fetched
    assert ask(store, Shared(key, True, refs)) == [[1, 2, 7, 5], [3, 3, 7, 5]]
    assert store.fetched == before + 2


def test_arrays_arrive_writable_as_kernels_are_compiled_for_them() -> None:
    array = np.arange(5)
    arrived = unpack(pack((array, "x")))[0]
    arrived[0] = 9
    assert array[0] == 0
    assert arrived.flags.c_contiguous


def test_another_version_is_refused() -> None:
    store = Store()
    with pytest.raises(InputError, match="install one version"):
        ask(store, Shared(next(numbers), False, [store.put((np.array([4]),))]), version="0.0.0")
