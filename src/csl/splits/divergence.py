"""Atoms, compounds and divergence: how differently two sets of programs are put together.

The measures are those of MCD (Keysers et al. 2020) over the atoms and compounds of TMCD (Shaw et al. 2021), with the
changes of the paper's appendix on GeoQuery. What is counted:

- an atom is a function symbol with its number of arguments; all entities and literals are the one atom `<entity>/0`;
- a compound is an atom, a slot, and an atom that fills it. The slot is the argument's name, or else its position.
  Where terms stand side by side (sequences such as SCAN's), two neighbours are a compound as well.

Compounds are not weighted. The divergence of V (train) and W (test) is 1 − C_α(F(V) ‖ F(W)), F being relative
frequencies and C_α(P ‖ Q) = Σ_k p_k^α q_k^(1−α) the Chernoff coefficient: α = 0.5 for atoms, which wants the same
distribution, and 0.1 for compounds, where it matters most that training has the compound at all.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from csl.errors import InputError
from csl.examples import Example
from csl.splits.programs import Term, abstract, parse

ATOM_ALPHA = 0.5
COMPOUND_ALPHA = 0.1

K = TypeVar("K", bound=Hashable)
Compound = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Profile:
    """What is counted in one program."""

    atoms: Counter[str]
    compounds: Counter[Compound]


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far a test set is from its training set: 0 for the same distribution, 1 for nothing shared."""

    atom: float
    compound: float
    unseen_atoms: tuple[str, ...]  # atoms of the test set that training lacks, sorted
    rarest_atom: int  # the fewest training programs that an atom of the test set occurs in
    unseen_compounds: int
    test_compounds: int  # distinct ones


def profiles(examples: Sequence[Example], entities: re.Pattern[str], path: Path | None = None) -> list[Profile]:
    """Count atoms and compounds in the outputs of examples; an output that cannot be read is an error."""
    found = []
    for number, example in enumerate(examples, start=1):
        try:
            found.append(profile(example.target, entities))
        except ValueError as error:
            message = f"output {number}: {error}; to count atoms and compounds, brackets have to match"
            raise InputError(message, path) from error
    return found


def profile(tokens: Sequence[str], entities: re.Pattern[str]) -> Profile:
    """Count the atoms and compounds of one program; ValueError if its brackets do not match."""
    terms = parse(abstract(tokens, entities))
    found = Profile(Counter(), Counter())
    waiting: list[tuple[str, str, list[Term]]] = [("", "", terms)]  # an atom, a slot of it, the terms that fill it
    while waiting:
        parent, slot, fillers = waiting.pop()
        found.compounds.update((a.atom, "", b.atom) for a, b in pairwise(fillers))
        for term in fillers:
            atom = term.atom
            found.atoms[atom] += 1
            if parent:
                found.compounds[parent, slot, atom] += 1
            waiting.extend((atom, name, inner) for name, inner in term.arguments)
    return found


def chernoff(p: Counter[K], q: Counter[K], alpha: float) -> float:
    """Give C_α(P ‖ Q) of two distributions given as counts; of two empty ones it is 1, of an empty and another 0."""
    p_total, q_total = p.total(), q.total()
    if not p_total or not q_total:
        return float(p_total == q_total)
    return float(sum((p[k] / p_total) ** alpha * (q[k] / q_total) ** (1 - alpha) for k in q if k in p))


def divergence(train: Iterable[Profile], test: Iterable[Profile]) -> Divergence:
    """Measure a split from the profiles of its programs."""
    train, test = list(train), list(test)
    train_atoms, test_atoms = _total(p.atoms for p in train), _total(p.atoms for p in test)
    train_compounds, test_compounds = _total(p.compounds for p in train), _total(p.compounds for p in test)
    seen_in = Counter(atom for p in train for atom in p.atoms)
    return Divergence(
        atom=max(0.0, 1 - chernoff(train_atoms, test_atoms, ATOM_ALPHA)),  # rounding can take the sum over 1
        compound=max(0.0, 1 - chernoff(train_compounds, test_compounds, COMPOUND_ALPHA)),
        unseen_atoms=tuple(sorted(test_atoms.keys() - train_atoms.keys())),
        rarest_atom=min((seen_in[atom] for atom in test_atoms), default=0),
        unseen_compounds=len(test_compounds.keys() - train_compounds.keys()),
        test_compounds=len(test_compounds),
    )


def _total(counters: Iterable[Counter[K]]) -> Counter[K]:
    total: Counter[K] = Counter()
    for counter in counters:
        total.update(counter)
    return total
