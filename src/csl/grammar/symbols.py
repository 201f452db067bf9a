"""Symbols, rules and grammars: the quasi-synchronous CFG of the paper's section "Grammar Formalism".

A terminal is a plain string; a nonterminal is an `Nt` with its index. Because the two are different types, a data
token that happens to read `NT_1` is an ordinary terminal. There is one nonterminal category, so a rule is just its
two sides ⟨α, β⟩.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from csl.examples import Example


@dataclass(frozen=True, slots=True, order=True)
class Nt:
    """The nonterminal with this index, counted from 1."""

    index: int

    def __repr__(self) -> str:
        return f"NT_{self.index}"


Symbol = str | Nt


@dataclass(frozen=True)
class Rule:
    """A rule NT → ⟨source, target⟩ in canonical form.

    The indices 1…k occur once each, in order, in the source, and at least once each in the target. Use
    `Rule.canonical` for sides whose indices are out of order.
    """

    source: tuple[Symbol, ...]
    target: tuple[Symbol, ...]

    def __post_init__(self) -> None:
        indices = [s.index for s in self.source if isinstance(s, Nt)]
        if not self.source or not self.target:
            raise ValueError("a rule needs at least one symbol on each side")
        if "" in self.source or "" in self.target:
            raise ValueError("a token cannot be empty")
        if indices != list(range(1, len(indices) + 1)):
            raise ValueError(f"the source's nonterminals must be numbered 1, 2, … in order, not {indices}")
        if {s.index for s in self.target if isinstance(s, Nt)} != set(indices):
            raise ValueError("source and target must have the same nonterminals")

    @classmethod
    def canonical(cls, source: Sequence[Symbol], target: Sequence[Symbol]) -> "Rule":
        """Build a rule from sides with any distinct indices, renumbered from left to right in the source."""
        order = [s for s in source if isinstance(s, Nt)]
        if len(set(order)) < len(order):
            raise ValueError("a nonterminal index may occur only once in the source")
        new = {old: Nt(k) for k, old in enumerate(order, start=1)}
        try:
            return cls(_renamed(source, new), _renamed(target, new))
        except KeyError as error:
            raise ValueError(f"{error.args[0]!r} is in the target but not in the source") from None

    @classmethod
    def from_example(cls, example: Example) -> "Rule":
        """Turn a pair into the rule ⟨x, y⟩ without nonterminals."""
        return cls(example.source, example.target)

    @property
    def arity(self) -> int:
        """The number of distinct nonterminals, k."""
        return len([s for s in self.source if isinstance(s, Nt)])

    @cached_property
    def _hash(self) -> int:
        return hash((self.source, self.target))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["Rule"], tuple[object, ...]]:
        return Rule, (self.source, self.target)  # without the cached hash, which another process would not share

    def __str__(self) -> str:
        from csl.grammar.notation import format_rule  # noqa: PLC0415 — notation builds on symbols

        return format_rule(self)


def _renamed(side: Sequence[Symbol], names: dict[Nt, Nt]) -> tuple[Symbol, ...]:
    return tuple(names[s] if isinstance(s, Nt) else s for s in side)


def compose(a: Rule, i: int, b: Rule) -> Rule:
    """Expand nonterminal i of `a` with `b`: the rule r_c of the paper's r_a ∘ r_b ⇒ r_c.

    >>> from csl.grammar.notation import parse_rule
    >>> str(compose(parse_rule("NT_1 and NT_2 ### NT_1 NT_2"), 1, parse_rule("jump ### JUMP")))
    'jump and NT_1 ### JUMP NT_1'
    """
    if not 1 <= i <= a.arity:
        raise ValueError(f"the rule has no nonterminal {i}: {a}")
    inner = {Nt(k): Nt(a.arity + k) for k in range(1, b.arity + 1)}

    def expanded(outer: Sequence[Symbol], filling: Sequence[Symbol]) -> Iterator[Symbol]:
        for symbol in outer:
            if symbol == Nt(i):
                yield from _renamed(filling, inner)
            else:
                yield symbol

    return Rule.canonical(tuple(expanded(a.source, b.source)), tuple(expanded(a.target, b.target)))


class Grammar:
    """An ordered set of distinct rules."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules = dict.fromkeys(rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, rule: object) -> bool:
        return rule in self._rules

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and self._rules.keys() == other._rules.keys()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Grammar({len(self)} rules)"

    @property
    def max_arity(self) -> int:
        """The largest number of nonterminals in a rule."""
        return max((rule.arity for rule in self), default=0)
