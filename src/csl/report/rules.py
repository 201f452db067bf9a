"""The rules of a grammar: what each costs and saves, how often it is used, and where.

Cost is a rule's part of the objective (`csl.induction.objective`). What a rule saves is k_t for each token of a
training pair that the rule writes, less its cost: one derivation of each distinct pair is looked at, and a rule below a
nonterminal that its parent repeats writes its target as often. So the savings of all rules add up to what induction
saved: the size of the training pairs as rules less the objective.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from csl.engine.threads import ONE_THREAD
from csl.examples import Example
from csl.grammar import Nt, Rule, Symbol
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Vocabulary
from csl.induction.config import InductionConfig
from csl.induction.objective import UNIT, Objective
from csl.report.derivations import Preorder
from csl.report.schema import Pair, RuleRow, Rules, Side

EXAMPLES, ALL_EXAMPLES = 3, 3000  # of a rule, and about so many of all


def describe_rules(
    rules: Sequence[Rule],
    seeds: Sequence[Rule],
    train: Sequence[Example],
    derivations: Sequence[Preorder],
    config: InductionConfig,
) -> Rules:
    """Describe all rules; `derivations` has one of each of the training examples."""
    costs = rule_costs(rules, train, config) if train else [None] * len(rules)
    written, uses, shown = [0] * len(rules), [0] * len(rules), [list[Pair]() for _ in rules]
    most = max(1, min(EXAMPLES, ALL_EXAMPLES // max(1, len(rules))))
    known = dict(zip(train, derivations, strict=True))
    for derivation in derivations:
        for r in set(derivation):
            uses[r] += 1
    for example in sorted(known, key=lambda e: (len(e.source), len(e.target), e.source, e.target)):
        for r, tokens in tokens_written(rules, known[example]).items():
            written[r] += tokens
            if len(shown[r]) < most:
                shown[r].append(as_pair(example))
    given = set(seeds)
    rows = [
        RuleRow(
            id=r + 1, source=as_side(rule.source), target=as_side(rule.target), arity=rule.arity,
            size=size_of(rule, config), cost=cost, saves=None if cost is None else config.k_t * written[r] - cost,
            uses=uses[r] if train else None, seed=rule in given, examples=shown[r],
        )
        for r, (rule, cost) in enumerate(zip(rules, costs, strict=True))
    ]  # fmt: skip
    return Rules(
        rows=rows,
        examples=len(train) or None,
        derived=sum(map(bool, derivations)) if train else None,
        size_before=sum(size_of(Rule.from_example(e), config) for e in known) if train else None,
        objective=sum(cost for cost in costs if cost is not None) if train else None,
    )


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
    copies = [1]  # how often the output has what is derived here; for the nonterminals that are open, the next last
    for r in derivation:
        rule, times = rules[r], copies.pop()
        target = Counter(rule.target)
        written[r] += terminals(rule.source) + times * terminals(rule.target)
        copies += (times * target[Nt(i)] for i in range(rule.arity, 0, -1))
    return written


def terminals(side: Sequence[Symbol]) -> int:
    """Count the terminals of a side."""
    return sum(not isinstance(symbol, Nt) for symbol in side)


def size_of(rule: Rule, config: InductionConfig) -> float:
    """|α| + |β| of a rule."""
    symbols = rule.source + rule.target
    count = terminals(symbols)
    return config.k_t * count + config.k_nt * (len(symbols) - count)


def as_side(side: Sequence[Symbol]) -> Side:
    """Write a side of a rule as JSON can have it."""
    return [{"nt": symbol.index} if isinstance(symbol, Nt) else symbol for symbol in side]


def as_pair(example: Example) -> Pair:
    """Write a pair as text."""
    return Pair(input=example.source_text, output=example.target_text)
