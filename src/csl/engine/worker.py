"""What a worker of a cluster does: catch up on the state, apply the function to a chunk, return the result.

Values travel as bytes that are pickled here, not by Ray: arrays then arrive writable and owned, as kernels are compiled
for them, and what is sent can be counted. A worker keeps the state that it has seen for as long as the driver does. One
that is new, or took over from another that died, asks for all parts of it; the others only for those that came since.
"""

import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from csl import __version__
from csl.errors import InputError

Packed = npt.NDArray[np.uint8]


class Shared(NamedTuple):
    """State that workers keep from call to call: under a key, in parts that are put end to end if it grows."""

    key: int
    growing: bool
    refs: Sequence[Any]  # to packed values, oldest first


_cache: dict[int, tuple[int, Any]] = {}  # key → how many of the refs were fetched, and the value
_call: tuple[int, Any] = (-1, None)  # the last one, with its function and state


def pack(value: object) -> Packed:
    """Turn a value into bytes."""
    return np.frombuffer(pickle.dumps(value, protocol=4), np.uint8)


def unpack(packed: Packed) -> Any:
    """Turn bytes into a value that shares nothing with them."""
    return pickle.loads(packed.data)


class Call(NamedTuple):
    """What all chunks of a call have in common, beside its function and state."""

    version: str
    number: int
    shared: Mapping[int, Shared]  # place among the state → where it is
    in_use: Collection[int]  # keys of all shared state that the driver still has


def work(fetch: Callable[[Any], Any], call: Call, body: Packed, chunk: Packed) -> Packed:
    """Apply the function of a call, which with its state is the body, to a chunk."""
    global _call  # noqa: PLW0603 — a worker is a process, and this is what it remembers
    if call.version != __version__:
        raise InputError(f"a worker has csl {__version__}, the driver {call.version}; install one version everywhere")
    if _call[0] != call.number:
        _call = (call.number, unpack(body))
        for key in _cache.keys() - call.in_use:
            del _cache[key]
    function, state = _call[1]
    values = [_value(call.shared[place], fetch) if place in call.shared else x for place, x in enumerate(state)]
    return pack(function(unpack(chunk), *values))


def _value(shared: Shared, fetch: Callable[[Any], Any]) -> Any:
    """Return the value of shared state, after fetching what is missing of it."""
    taken, value = _cache.get(shared.key, (0, None))
    if taken < len(shared.refs):
        new = [unpack(packed) for packed in fetch(list(shared.refs[taken:]))]
        parts = [value, *new] if taken else new
        value = parts[0]._make(map(np.concatenate, zip(*parts, strict=True))) if shared.growing else parts[0]
        _cache[shared.key] = len(shared.refs), value
    return value
