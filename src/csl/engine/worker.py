"""What a worker of a cluster does: catch up on the state, apply the function to a stretch, hand back the result.

Values travel as bytes that are pickled here, not by Ray: arrays then arrive writable and owned, as kernels are compiled
for them, and what is sent can be counted. A worker keeps the state that it has seen, as long as the driver does. One
that is new, or took over from another that died, asks for all parts of it; the others only for those that came since.
"""

import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from csl import __version__
from csl.engine.engine import Arrays
from csl.errors import InputError

Packed = npt.NDArray[np.uint8]


class Piece(NamedTuple):
    """Where state stands in a call: under a key, in parts that are to be put end to end if it grows."""

    key: int
    growing: bool
    refs: Sequence[Any]  # to packed values, oldest first


class _Held(NamedTuple):
    taken: int  # of the refs
    value: Any


_held: dict[int, _Held] = {}
_call: tuple[int, Any] = (-1, None)  # the last one, with its function and state


def pack(value: object) -> Packed:
    """Turn a value into bytes."""
    return np.frombuffer(pickle.dumps(value, protocol=4), np.uint8)


def unpack(packed: Packed) -> Any:
    """Turn bytes into a value that shares nothing with them."""
    return pickle.loads(packed.data)


class Call(NamedTuple):
    """What all stretches of a call have in common, beside its function and state."""

    version: str
    number: int
    pieces: Mapping[int, Piece]  # the places of the state that are kept
    kept: Collection[int]  # keys of all that the driver keeps


def work(fetch: Callable[[Any], Any], about: Call, call: Packed, stretch: Packed) -> Packed:
    """Apply the function of a call to a stretch."""
    global _call  # noqa: PLW0603 — a worker is a process, and this is what it remembers
    if about.version != __version__:
        raise InputError(f"a worker has csl {__version__}, the driver {about.version}; install one version everywhere")
    if _call[0] != about.number:
        _call = (about.number, unpack(call))
        for key in _held.keys() - about.kept:
            del _held[key]
    function, state = _call[1]
    pieces = about.pieces
    values = [_value(pieces[place], fetch) if place in pieces else value for place, value in enumerate(state)]
    return pack(function(unpack(stretch), *values))


def _value(piece: Piece, fetch: Callable[[Any], Any]) -> Any:
    """Give the value of kept state, after fetching what is missing of it."""
    held = _held.get(piece.key, _Held(0, None))
    if held.taken < len(piece.refs):
        new = [unpack(packed) for packed in fetch(list(piece.refs[held.taken :]))]
        value = _appended([held.value, *new] if held.taken else new) if piece.growing else new[0]
        held = _held[piece.key] = _Held(len(piece.refs), value)
    return held.value


def _appended(parts: Sequence[Arrays]) -> Arrays:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
