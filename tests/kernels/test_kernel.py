"""Kernels: when they run as plain Python, and that the result is the same."""

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from csl.api import augment
from csl.examples import Example
from csl.kernels import kernel as module
from csl.kernels.flat import arity_of, sides
from csl.kernels.kernel import Kernel, compiled, kernel

TEMPLATES = (
    ("How large is {}?", "size(state('{}'))"),
    ("Which rivers cross {}?", "rivers(cross(state('{}')))"),
    ("How large is the capital of {}?", "size(capital(state('{}')))"),
)
PAIRS = [(x.format(name), y.format(name.lower())) for x, y in TEMPLATES for name in ("Texas", "Ohio", "Utah")][:-1]


@kernel
def _twice(x):
    return 2 * x


@kernel
def doubled(values):
    """Double each value."""
    out = values.copy()
    for i in range(len(out)):
        out[i] = _twice(values[i])
    return out


@compiled()
def halved(values):
    """Halve each value."""
    return values / 2


def is_compiled(called: Any) -> bool:
    return bool(called.compiled.signatures)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel of which nothing is compiled, with the usual bounds."""
    monkeypatch.setattr(module, "SMALL", 100)
    monkeypatch.setattr(Kernel, "seconds", 0.0)
    monkeypatch.setattr(Kernel, "is_on_disk", lambda _: False)
    return Kernel(doubled.plain)


def test_little_data_is_not_worth_compiling(fresh: Any) -> None:
    assert fresh(np.arange(4)).tolist() == [0, 2, 4, 6]
    assert not is_compiled(fresh)


def test_much_data_is(fresh: Any) -> None:
    assert fresh(np.arange(101))[-1] == 200
    assert is_compiled(fresh)


def test_arrays_in_tuples_count(fresh: Any) -> None:
    assert module._size((np.zeros(3), 5, (np.zeros((2, 2)), (np.zeros(1),)))) == 8


def test_after_some_seconds_everything_is_compiled(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "seconds", module.PATIENCE)
    assert fresh(np.arange(4)).tolist() == [0, 2, 4, 6]
    assert is_compiled(fresh)


def test_compiled_code_on_disk_is_used(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "is_on_disk", lambda _: True)
    fresh(np.arange(4))
    assert is_compiled(fresh)


def test_what_rounds_is_always_compiled(fresh: Any) -> None:
    assert halved(np.arange(3)).tolist() == [0, 0.5, 1]
    assert is_compiled(halved)


def test_an_inner_kernel_has_no_entry_from_python() -> None:
    with pytest.raises(TypeError, match="_twice"):
        _twice(1)


def test_a_kernel_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(sides)) is sides
    assert arity_of.__doc__


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


def test_plain_python_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of a kernel, from preparing to drawing, is made in both ways."""
    seen = set()
    usual = Kernel.__call__

    def both(self: Kernel, *arguments: Any) -> Any:
        if module._here.in_python or self.always:
            return usual(self, *arguments)
        again = deepcopy(arguments)
        result = self.compiled(*arguments)
        assert same(result, self.in_python(*again)), self.__name__
        assert same(arguments, again), self.__name__  # what a kernel writes to
        seen.add(self.__name__)
        return result

    monkeypatch.setattr(Kernel, "__call__", both)
    augment([Example(tuple(x.split()), tuple(y.split())) for x, y in PAIRS], 100)
    assert {"derive_rules", "intern", "unify", "forests", "intersect", "parse_each", "list_typings"} <= seen
