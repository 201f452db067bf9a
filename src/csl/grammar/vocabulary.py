"""Tokens as integers, the form in which kernels see them.

A terminal is its id, 1, 2, …; a nonterminal is its index made negative; 0 is never a symbol. Ragged collections of
symbol sequences are flat `values` with `offsets`: sequence i is `values[offsets[i]:offsets[i + 1]]`.
"""

from collections.abc import Iterable, Sequence
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


class Vocabulary:
    """A growing two-way map between tokens and ids ≥ 1."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._tokens: list[str] = [""]

    def __len__(self) -> int:
        """One more than the largest id."""
        return len(self._tokens)

    def add(self, token: str) -> int:
        """Return the token's id, a new one if it has none."""
        new = self._ids.setdefault(token, len(self._tokens))
        if new == len(self._tokens):
            self._tokens.append(token)
        return new

    def get(self, token: str) -> int:
        """Return the token's id, or 0 if it has none."""
        return self._ids.get(token, 0)

    def token(self, i: int) -> str:
        """Return the token with this id."""
        return self._tokens[i]

    def encode(self, sides: Iterable[Sequence[Symbol]]) -> Ragged:
        """Encode symbol sequences; new tokens are added."""
        values: list[int] = []
        offsets = [0]
        known = self._ids
        for side in sides:
            values += [known.get(s) or self.add(s) if isinstance(s, str) else -s.index for s in side]
            offsets.append(len(values))
        return Ragged(np.array(values, np.int32), np.array(offsets, np.int64))

    def encode_tokens(self, sequences: Iterable[Sequence[str]]) -> Ragged:
        """Encode sequences of plain tokens, faster than `encode`; new tokens are added."""
        sides = list(sequences)
        flat = [token for side in sides for token in side]
        for token in dict.fromkeys(flat):
            self.add(token)
        values = np.fromiter(map(self._ids.__getitem__, flat), np.int32, len(flat))
        return Ragged(values, np.cumsum([0, *map(len, sides)], dtype=np.int64))

    def decode(self, symbols: Iterable[int]) -> tuple[Symbol, ...]:
        """Turn encoded symbols back."""
        tokens = self._tokens
        return tuple([tokens[s] if s > 0 else Nt(-s) for s in symbols])
