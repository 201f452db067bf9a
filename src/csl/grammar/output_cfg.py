"""Output CFGs: which outputs are valid, and which types a rule's target can take."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Category:
    """A nonterminal of the output CFG."""

    name: str


@dataclass(frozen=True, slots=True)
class Production:
    """One production LHS => …; strings on the right are tokens."""

    lhs: Category
    rhs: tuple[str | Category, ...]


class OutputCfg:
    """A CFG over outputs with start symbol ROOT."""

    def __init__(self, productions: Iterable[Production]) -> None:
        self.productions = tuple(dict.fromkeys(productions))
