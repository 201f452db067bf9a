"""Kernels: functions on integers and arrays that Numba compiles, or Python runs as they are.

Compiling takes seconds, once, and is kept on disk. A call on little data is not worth the wait when nothing is compiled
yet: it is run as plain Python, with the same result. What rounds differently when it is compiled (sums of products,
log, exp), and what is always much work, is compiled in any case.

A kernel whose name begins with _ is called by other kernels only: it has no entry from Python, which saves time.
"""

import threading
import time
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import typeof_impl

SMALL = 4096  # elements of all arrays of a call, at most, to run it as plain Python
PATIENCE = 3.0  # seconds of plain Python in a process, after which everything is compiled


class _Here(threading.local):
    in_python = False  # a kernel runs as plain Python: so do those that it calls


_here = _Here()


class Kernel:
    """A function and its compiled form, which other kernels call by the same name."""

    seconds = 0.0  # of plain Python so far, of all kernels
    __name__: str

    def __init__(self, function: Callable[..., Any], always: bool = False, **options: Any) -> None:
        """Make a function a kernel: with `always` it is compiled whatever the data; options are those of Numba."""
        update_wrapper(self, function)
        self.plain, self.always = function, always
        self.inner = function.__name__.startswith("_")
        self.ready = always and not self.inner
        self._options = {"no_cfunc_wrapper": True, "no_cpython_wrapper": self.inner, **options}

    @cached_property
    def compiled(self) -> Any:
        """The function for Numba, made when it is needed: of kernels that come from its cache, those inside are not."""
        return njit(cache=True, nogil=True, **self._options)(self.plain)

    def __call__(self, *arguments: Any) -> Any:
        """Run it: compiled, unless there is little to do and it would have to be compiled first."""
        if _here.in_python:
            return self.plain(*arguments)
        if not self.ready:
            if self.inner:
                raise TypeError(f"{self.__name__} is called by other kernels only")
            if Kernel.seconds < PATIENCE and _size(arguments) <= SMALL and not self.is_on_disk():
                return self.in_python(*arguments)
            self.ready = True
        return self.compiled(*arguments)

    def in_python(self, *arguments: Any) -> Any:
        """Run it, and what it calls, as plain Python."""
        start, _here.in_python = time.perf_counter(), True
        try:
            with np.errstate(over="ignore"):  # hashes wrap around
                return self.plain(*arguments)
        finally:
            _here.in_python = False
            Kernel.seconds += time.perf_counter() - start

    def is_on_disk(self) -> bool:
        """Tell whether compiled code of the function as it is now is kept; yes, if this Numba does not say."""
        try:
            return bool(self.compiled._cache._cache_file._load_index())
        except AttributeError:
            return True

    def __reduce__(self) -> str:
        """Pickle it by name, as functions are."""
        return self.__name__


def kernel(function: Callable[..., Any]) -> Any:
    """Make a function a kernel."""
    return Kernel(function)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a function a kernel that is always compiled, with these options of Numba."""
    return lambda function: Kernel(function, always=True, **options)


def _size(arguments: tuple[Any, ...]) -> int:
    """Count the elements of all arrays, also of those in tuples."""
    sizes = (a.size if isinstance(a, np.ndarray) else _size(a) for a in arguments if isinstance(a, np.ndarray | tuple))
    return sum(sizes)


@typeof_impl.register(Kernel)
def _in_compiled_code(called: Kernel, _: Any) -> types.Dispatcher:
    return types.Dispatcher(called.compiled)
