"""Derivations: trees of rule applications (paper, section "Grammar Formalism").

Deep trees are ordinary (a chain of conjunctions is as deep as it is long), so nothing here recurses.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from csl.examples import Example
from csl.grammar import Nt, OutputCfg, Rule, Symbol
from csl.grammar.output_cfg import ROOT

MAX_OUTPUT = 10_000  # tokens of an output that is written out; repeated nonterminals can double it at every level


@dataclass(frozen=True, slots=True)
class Derivation:
    """A rule whose nonterminals 1…k are derived by the k children."""

    rule: Rule
    children: tuple["Derivation", ...] = ()

    def __post_init__(self) -> None:
        if len(self.children) != self.rule.arity:
            raise ValueError(
                f"{len(self.children)} children for a rule with {self.rule.arity} nonterminals: {self.rule}"
            )

    @classmethod
    def from_rules(cls, rules: Iterable[Rule]) -> "Derivation":
        """Build the derivation with these rules in preorder: the inverse of `rules`."""
        made: list[Derivation] = []
        for rule in reversed(list(rules)):
            if rule.arity > len(made):
                raise ValueError("not a derivation in preorder: a nonterminal is left over")
            made.append(cls(rule, tuple(made.pop() for _ in range(rule.arity))))
        if len(made) != 1:
            raise ValueError(f"not one derivation in preorder but {len(made)}")
        return made[0]

    def rules(self) -> Iterator[Rule]:
        """Give the rules in preorder: a rule, then those of its children from left to right."""
        agenda = [self]
        while agenda:
            derivation = agenda.pop()
            yield derivation.rule
            agenda.extend(reversed(derivation.children))

    @property
    def target_length(self) -> int:
        """The number of tokens of the output, which repeated nonterminals can make huge."""
        made: list[int] = []
        for rule in reversed(list(self.rules())):
            made.append(target_length(rule, [made.pop() for _ in range(rule.arity)]))
        return made[0]

    @property
    def example(self) -> Example:
        """The pair that is derived."""
        made: list[Example] = []
        for rule in reversed(list(self.rules())):
            parts = [made.pop() for _ in range(rule.arity)]
            made.append(
                Example(
                    expanded(rule.source, [part.source for part in parts]),
                    expanded(rule.target, [part.target for part in parts]),
                )
            )
        return made[0]


def types_of(derivation: Derivation, cfg: OutputCfg) -> list[str]:
    """Give the categories of a derivation's rules, in preorder, in its first typing as a whole output; [] if none."""
    rules, made, rows = list(derivation.rules()), list[dict[str, tuple[str, ...]]](), list[dict[str, tuple[str, ...]]]()
    for rule in reversed(rules):  # from the leaves: category → those of the children
        parts = [made.pop() for _ in range(rule.arity)]
        fitting = [
            t for t in cfg.typings(rule.target) if all(c in part for c, part in zip(t.children, parts, strict=True))
        ]
        made.append({t.category: t.children for t in reversed(fitting)})
        rows.append(made[-1])
    if ROOT.name not in made[0]:
        return []
    types, agenda = list[str](), [ROOT.name]
    for row in reversed(rows):
        types.append(agenda.pop())
        agenda += reversed(row[types[-1]])
    return types


def target_length(rule: Rule, parts: Sequence[int]) -> int:
    """Count the tokens of a rule's target when its nonterminals have these many."""
    return sum(parts[symbol.index - 1] if isinstance(symbol, Nt) else 1 for symbol in rule.target)


def expanded(side: Iterable[Symbol], parts: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Replace nonterminal i of a side of a rule by `parts[i - 1]`."""
    out: list[str] = []
    for symbol in side:
        if isinstance(symbol, Nt):
            out += parts[symbol.index - 1]
        else:
            out.append(symbol)
    return tuple(out)
