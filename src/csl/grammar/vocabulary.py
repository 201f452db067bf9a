"""Tokens as integers, the form in which kernels see them.

A terminal is its id, 1, 2, …; a nonterminal is its index made negative; 0 is never a symbol. Ragged collections of
symbol sequences are flat `values` with `offsets`: sequence i is `values[offsets[i]:offsets[i + 1]]`.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.grammar.symbols import Nt, Symbol

IntArray = npt.NDArray[np.int32]
OffsetArray = npt.NDArray[np.int64]


class Ragged(NamedTuple):
    """Integer sequences of different lengths, laid end to end."""

    values: IntArray
    offsets: OffsetArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def neighbours(self, places: npt.NDArray[np.integer]) -> "Ragged":
        """Take neighbouring sequences, whose places are given, without copying."""
        return Ragged(self.values, self.offsets[places[0] : places[-1] + 2] if len(places) else self.offsets[:1])


def join(parts: Sequence[Ragged]) -> Ragged:
    """Lay collections end to end."""
    lengths = [np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)]
    return Ragged(np.concatenate([part.values for part in parts]), np.cumsum(np.concatenate(lengths)))


class _Ids(dict[Symbol, int]):
    """Ids of symbols; a token that is new gets the next one."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens  # by their ids

    def __missing__(self, symbol: Symbol) -> int:
        if isinstance(symbol, Nt):
            new = -symbol.index
        else:
            new = len(self._tokens)
            self._tokens.append(symbol)
        self[symbol] = new
        return new


class Vocabulary:
    """A growing two-way map between tokens and ids ≥ 1."""

    def __init__(self) -> None:
        self._tokens: list[str] = [""]
        self._ids = _Ids(self._tokens)

    def __len__(self) -> int:
        """One more than the largest id."""
        return len(self._tokens)

    def add(self, token: str) -> int:
        """Return the token's id, a new one if it has none."""
        return self._ids[token]

    def get(self, token: str) -> int:
        """Return the token's id, or 0 if it has none."""
        return self._ids.get(token, 0)

    def token(self, i: int) -> str:
        """Return the token with this id."""
        return self._tokens[i]

    def encode(self, sides: Iterable[Sequence[Symbol]]) -> Ragged:
        """Encode symbol sequences; new tokens are added."""
        sides = list(sides)
        offsets = np.cumsum([0, *map(len, sides)], dtype=np.int64)
        values = map(self._ids.__getitem__, chain.from_iterable(sides))
        return Ragged(np.fromiter(values, np.int32, offsets[-1]), offsets)

    def decode(self, symbols: Iterable[int]) -> tuple[Symbol, ...]:
        """Turn encoded symbols back."""
        tokens = self._tokens
        return tuple([tokens[s] if s > 0 else Nt(-s) for s in symbols])
