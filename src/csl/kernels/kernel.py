"""Kernels: functions on integers and arrays that Numba compiles, or Python runs as they are.

Compiling takes seconds, once, and is kept on disk. What it is not worth waiting for is run as plain Python: a call on
little data, when nothing is compiled yet. Kernels that work with integers only give the same result either way. Those
with floats are always compiled (`numba.njit`): fused operations round differently.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import typeof_impl

SMALL = 4096  # elements of all arrays of a call, at most, to run it as plain Python
PATIENCE = 3.0  # seconds of plain Python in a process, after which everything is compiled


class _Here(threading.local):
    inside = False  # a kernel that runs as plain Python: so do those that it calls


class Kernel:
    """A function with its compiled form, which other kernels call by the same name."""

    spent = 0.0  # seconds of plain Python so far

    def __init__(self, function: Callable[..., Any]) -> None:
        self.plain = function
        self.compiled = njit(cache=True, nogil=True)(function)
        self.ready = False
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __call__(self, *arguments: Any) -> Any:
        """Run it: compiled, if it is compiled or there is much to do."""
        if self.ready:
            return self.compiled(*arguments)
        if _here.inside:
            return self.plain(*arguments)
        if Kernel.spent > PATIENCE or _size(arguments) > SMALL or _is_on_disk(self.compiled):
            self.ready = True
            return self.compiled(*arguments)
        start, _here.inside = time.perf_counter(), True
        try:
            with np.errstate(over="ignore"):  # hashes wrap around
                return self.plain(*arguments)
        finally:
            _here.inside = False
            Kernel.spent += time.perf_counter() - start


_here = _Here()


def kernel(function: Callable[..., Any]) -> Any:
    """Make a function a kernel."""
    return Kernel(function)


def _size(arguments: tuple[Any, ...]) -> int:
    """Count the elements of all arrays, also of those in tuples."""
    return sum(
        a.size if isinstance(a, np.ndarray) else _size(a) for a in arguments if isinstance(a, np.ndarray | tuple)
    )


def _is_on_disk(compiled: Any) -> bool:
    """Tell whether compiled code of this very function is kept; yes, if this Numba does not say."""
    try:
        return bool(compiled._cache._cache_file._load_index())
    except AttributeError:
        return True


@typeof_impl.register(Kernel)
def _in_compiled_code(kernel: Kernel, _: Any) -> types.Dispatcher:
    return types.Dispatcher(kernel.compiled)
