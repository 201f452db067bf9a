"""What a worker of a cluster does: catch up on the state, apply the function to a stretch, hand back the result.

Values travel as bytes that are pickled here, not by Ray: arrays then arrive writable and owned, as kernels are compiled
for them, and what is sent can be counted. A worker keeps the state that it has seen last. One that is new, or took over
from another that died, asks for all pieces of it; the others only for those that came since.
"""

import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from csl import __version__
from csl.engine.engine import Arrays
from csl.errors import InputError

Packed = npt.NDArray[np.uint8]
HELD = 8  # pieces of state that a worker keeps


class Piece(NamedTuple):
    """Where state stands in a call: under a key, in parts that are to be put end to end if it grows."""

    key: int
    growing: bool
    refs: Sequence[Any]  # to packed values, oldest first


class _Held(NamedTuple):
    taken: int  # of the refs
    value: Any


_held: OrderedDict[int, _Held] = OrderedDict()
_call: tuple[int, Any] = (-1, None)  # the last one, with its function and state


def pack(value: object) -> Packed:
    """Turn a value into bytes."""
    return np.frombuffer(pickle.dumps(value, protocol=4), np.uint8)


def unpack(packed: Packed) -> Any:
    """Turn bytes into a value that shares nothing with them."""
    return pickle.loads(packed.data)


def work(
    version: str, fetch: Callable[[Any], Any], number: int, call: Packed, pieces: dict[int, Piece], stretch: Packed
) -> Packed:
    """Apply the function of call `number` to a stretch. `pieces` say which places of its state are kept."""
    global _call  # noqa: PLW0603 — a worker is a process, and this is what it remembers
    if version != __version__:
        raise InputError(f"a worker of the cluster has csl {__version__}, this machine {version}; install one version")
    if _call[0] != number:
        _call = (number, unpack(call))
    function, state = _call[1]
    values = [_value(pieces[place], fetch) if place in pieces else value for place, value in enumerate(state)]
    return pack(function(unpack(stretch), *values))


def _value(piece: Piece, fetch: Callable[[Any], Any]) -> Any:
    """Give the value of kept state, after fetching what is missing of it."""
    held = _held.get(piece.key, _Held(0, None))
    if held.taken < len(piece.refs):
        new = [unpack(packed) for packed in fetch(list(piece.refs[held.taken :]))]
        value = _appended([held.value, *new] if held.taken else new) if piece.growing else new[0]
        held = _held[piece.key] = _Held(len(piece.refs), value)
    _held.move_to_end(piece.key)
    while len(_held) > HELD:
        _held.popitem(last=False)
    return held.value


def _appended(parts: Sequence[Arrays]) -> Arrays:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
