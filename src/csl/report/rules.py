"""The rules of a grammar: what each costs and saves, how often it is used, and where.

Cost is a rule's part of the objective (`csl.induction.objective`). A rule saves k_t for each token of a training pair
that it writes, less its cost. One derivation of each distinct pair counts, and a rule below a nonterminal that its
parent repeats writes its target as often. So the savings of all rules add up to what induction saved: the size of the
training pairs as rules less the objective.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from csl.engine import ONE_THREAD
from csl.examples import Example
from csl.grammar import Nt, Rule, Symbol
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Vocabulary
from csl.induction.config import InductionConfig
from csl.induction.objective import UNIT, Objective
from csl.report.derivations import Preorder

EXAMPLES, ALL_EXAMPLES = 3, 3000  # of a rule, and about so many of all

Side = list[str | int]
"""A side of a rule: a token, or the index of a nonterminal."""


@dataclass(frozen=True)
class RuleRow:
    """A rule, and what it does in one derivation of each training pair; None: the training data is missing."""

    id: int  # its line in grammar.txt, counted from 1
    source: Side
    target: Side
    arity: int
    cost: float | None  # the rule's part of the objective: size and penalties
    saves: float | None  # k_t for each token of a distinct training pair that the rule writes, less its cost
    uses: int | None  # training examples whose derivation has it
    seed: bool  # a seed rule: given, not induced
    examples: list[tuple[str, str]]  # the shortest training pairs that use it


@dataclass(frozen=True)
class Rules:
    """The grammar. The savings of all rules are `size_before` − `objective`, if all training pairs derive."""

    rows: list[RuleRow]  # all rules
    examples: int | None  # training examples
    derived: int | None  # of these, that the grammar derives
    size_before: float | None  # of the distinct training pairs as rules
    objective: float | None  # of the grammar


def describe_rules(
    rules: Sequence[Rule],
    seed_rules: Collection[Rule],
    train: Sequence[Example],
    derivations: Sequence[Preorder],
    config: InductionConfig,
) -> Rules:
    """Describe all rules; `derivations` has one of each of the training examples."""
    costs = rule_costs(rules, train, config) if train else [None] * len(rules)
    written, shown = [0] * len(rules), [list[tuple[str, str]]() for _ in rules]
    most = max(1, min(EXAMPLES, ALL_EXAMPLES // max(1, len(rules))))
    known = dict(zip(train, derivations, strict=True))
    uses = Counter(r for derivation in derivations for r in set(derivation))
    for example in sorted(known, key=lambda e: (len(e.source), len(e.target), e.source, e.target)):
        for r, tokens in tokens_written(rules, known[example]).items():
            written[r] += tokens
            if len(shown[r]) < most:
                shown[r].append((example.source_text, example.target_text))
    rows = [
        RuleRow(
            id=r + 1, source=_side(rule.source), target=_side(rule.target), arity=rule.arity,
            cost=cost, saves=None if cost is None else config.k_t * written[r] - cost,
            uses=uses[r] if train else None, seed=rule in seed_rules, examples=shown[r],
        )
        for r, (rule, cost) in enumerate(zip(rules, costs, strict=True))
    ]  # fmt: skip
    if not train:
        return Rules(rows, None, None, None, None)
    size_before = sum(config.k_t * (len(example.source) + len(example.target)) for example in known)
    objective = sum(cost for cost in costs if cost is not None)
    return Rules(rows, len(train), sum(map(bool, derivations)), size_before, objective)


def rule_costs(rules: Sequence[Rule], train: Sequence[Example], config: InductionConfig) -> list[float | None]:
    """Compute each rule's part of the objective, as induction does."""
    weights = Counter(train)
    ordered = sorted(weights, key=lambda e: (len(e.source_text), e.source_text, e.target_text))
    vocabulary, store = Vocabulary(), RuleStore()
    examples = store.add_rules(map(Rule.from_example, ordered), vocabulary)
    ids = store.add_rules(rules, vocabulary)
    counts = np.array([1 if config.drop_duplicates else weights[e] for e in ordered], np.int64)
    objective = Objective(store, examples, counts, len(vocabulary), config, ONE_THREAD)
    return [float(cost) / UNIT for cost in objective.costs(ids)[ids]]


def tokens_written(rules: Sequence[Rule], derivation: Preorder) -> Counter[int]:
    """Count the tokens of both sides that each rule of a derivation writes."""
    written: Counter[int] = Counter()
    copies = [1]  # how often the output repeats what is derived here; of the open nonterminals, the next one last
    for r in derivation:
        rule, times = rules[r], copies.pop()
        target = Counter(rule.target)
        written[r] += len(rule.source) - rule.arity
        written[r] += times * sum(count for symbol, count in target.items() if not isinstance(symbol, Nt))
        copies += (times * target[Nt(i)] for i in range(rule.arity, 0, -1))
    return written


def _side(side: Sequence[Symbol]) -> Side:
    return [symbol.index if isinstance(symbol, Nt) else symbol for symbol in side]
