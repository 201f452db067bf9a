"""TMCD splits: swaps between train and test that maximise compound divergence (Shaw et al. 2021).

Start from a random split that keeps the atom constraint: every atom of the test set occurs in at least `min_count`
training examples. Then go through the training examples in random order; each is swapped for the test example that
raises the compound divergence most, if one does and the constraint still holds. Stop when a pass gains next to nothing.

Examples with the same atoms and compounds are interchangeable, so the search runs over groups of them. With n_k
occurrences of compound k in training and m_k in the test set, n_k + m_k fixed, the divergence is
1 − S / (N^α M^(1−α)), S = Σ_k n_k^α m_k^(1−α). Powers of counts are looked up, and a swap changes only the terms of
the compounds it moves: trying one training example against c test examples costs O(c × compounds an example), and c is
at most `CANDIDATES`, drawn again each time from larger sets.
"""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from csl.errors import InputError
from csl.splits.divergence import COMPOUND_ALPHA, Profile

CANDIDATES = 1024
LEAST_GAIN = 1e-4  # a pass that raises the divergence by less is the last

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Features:
    """Feature counts of groups as a table; rows are padded with a feature that never counts."""

    def __init__(self, rows: Sequence[Iterable[tuple[Hashable, int]]]) -> None:
        index: dict[Hashable, int] = {}
        numbered = [[(index.setdefault(name, len(index)), count) for name, count in row] for row in rows]
        shape = len(rows), max(map(len, numbered), default=0)
        self.width = len(index) + 1
        self.columns: Ints = np.full(shape, len(index), np.int64)
        self.counts: Ints = np.zeros(shape, np.int64)
        for g, row in enumerate(numbered):
            if row:
                self.columns[g, : len(row)], self.counts[g, : len(row)] = zip(*row, strict=True)

    def total(self, weights: Ints) -> Ints:
        """Sum the rows, each as often as its weight says."""
        return np.bincount(self.columns.ravel(), (self.counts * weights[:, None]).ravel(), minlength=self.width).astype(
            np.int64
        )


class Search:
    """A split of groups of examples, with what is needed to move one example at a time."""

    def __init__(self, profiles: Sequence[Profile], min_count: int) -> None:
        groups: dict[Hashable, list[int]] = {}
        for i, p in enumerate(profiles):
            groups.setdefault((frozenset(p.atoms), frozenset(p.compounds.items())), []).append(i)
        self.members = list(groups.values())
        self.size: Ints = np.array([len(m) for m in self.members])
        firsts = [profiles[m[0]] for m in self.members]
        self.atoms = Features([[(atom, 1) for atom in p.atoms] for p in firsts])
        self.compounds = Features([list(p.compounds.items()) for p in firsts])
        self.needed = np.minimum(min_count, self.atoms.total(self.size))
        self.all_compounds = self.compounds.total(self.size)
        powers: Floats = np.arange(self.all_compounds.max(initial=0) + 1, dtype=np.float64)
        self._train_power, self._test_power = powers**COMPOUND_ALPHA, powers ** (1 - COMPOUND_ALPHA)

    def start(self, n_train: int, rng: np.random.Generator) -> None:
        """Draw a split that keeps the atom constraint: first the training examples it asks for, then any."""
        self.train: Ints = np.zeros_like(self.size)
        self.train_atoms: Ints = np.zeros_like(self.needed)
        order = rng.permutation(np.repeat(np.arange(len(self.size)), self.size))
        later = []
        for g in order:
            atoms = self.atoms.columns[g]
            if (self.train_atoms[atoms] < self.needed[atoms]).any():
                self.train[g] += 1
                np.add.at(self.train_atoms, atoms, self.atoms.counts[g])
            else:
                later.append(g)
        missing = n_train - int(self.train.sum())
        if missing < 0:
            raise InputError(
                f"{n_train} training examples cannot hold every atom often enough: {n_train - missing} were drawn for "
                "that; ask for more training examples or a smaller minimum count"
            )
        np.add.at(self.train, np.array(later[:missing], np.int64), 1)
        self.train_atoms = self.atoms.total(self.train)
        self.train_compounds = self.compounds.total(self.train)
        self._terms = self._term(self.train_compounds, np.arange(self.compounds.width))

    def _term(self, in_train: Ints, columns: Ints) -> Floats:
        terms: Floats = self._train_power[in_train] * self._test_power[self.all_compounds[columns] - in_train]
        return terms

    def move(self, g: int, direction: int) -> None:
        """Move one example of group g into training (direction 1) or out of it (−1)."""
        self.train[g] += direction
        self.train_atoms[self.atoms.columns[g]] += direction * self.atoms.counts[g]
        columns = self.compounds.columns[g]
        self.train_compounds[columns] += direction * self.compounds.counts[g]
        self._terms[columns] = self._term(self.train_compounds[columns], columns)

    def divergence(self, adding: Ints | None = None) -> Floats:
        """Give the compound divergence, or what it would be after one example of each of these groups came in."""
        overlap: Floats = np.array([self._terms.sum()])
        in_train = np.array([self.train_compounds.sum()])
        if adding is not None:
            columns, counts = self.compounds.columns[adding], self.compounds.counts[adding]
            changed = self._term(self.train_compounds[columns] + counts, columns) - self._terms[columns]
            overlap, in_train = overlap + changed.sum(axis=1), in_train + counts.sum(axis=1)
        scale = in_train**COMPOUND_ALPHA * (self.all_compounds.sum() - in_train) ** (1 - COMPOUND_ALPHA)
        # Where one side has no compounds at all, nothing is compared: that is no divergence to strive for.
        shared: Floats = np.divide(overlap, scale, out=np.ones_like(overlap), where=scale > 0)
        return 1 - shared

    def candidates(self, rng: np.random.Generator) -> Ints:
        """Give groups in the test set that bring every atom training is short of, as it stands."""
        groups = np.flatnonzero(self.train < self.size)
        short = self.train_atoms < self.needed
        if short.any():
            groups = groups[short[self.atoms.columns[groups]].sum(axis=1) == short.sum()]
        return groups if len(groups) <= CANDIDATES else groups[rng.integers(len(groups), size=CANDIDATES)]

    def improve(self, g: int, rng: np.random.Generator) -> bool:
        """Swap one training example of group g for the best test example; return whether that helped."""
        before = self.divergence()[0]
        self.move(g, -1)
        candidates = self.candidates(rng)
        after = self.divergence(adding=candidates)
        best = int(after.argmax())
        helps = bool(after[best] > before + 1e-9)
        self.move(int(candidates[best]) if helps else g, +1)
        return helps


def tmcd_training(profiles: Sequence[Profile], n_train: int, seed: int, min_count: int) -> list[int]:
    """Give the positions of the training examples of a TMCD split."""
    rng = np.random.default_rng(seed)
    search = Search(profiles, min_count)
    search.start(n_train, rng)
    reached, before = search.divergence()[0], -1.0
    while reached - before >= LEAST_GAIN:
        before = reached
        for g in rng.permutation(np.flatnonzero(search.train)):
            while search.train[g] and search.improve(int(g), rng):
                pass
        reached = search.divergence()[0]
    chosen: list[int] = []
    for members, count in zip(search.members, search.train, strict=True):
        chosen += rng.permutation(members)[:count].tolist()
    return chosen
