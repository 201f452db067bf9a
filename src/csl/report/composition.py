"""Compositional coverage: rule pairs that inputs need and that no derivation of any training pair has.

A rule pair is a rule in a place: at nonterminal i of another rule, or at the top of a derivation. It is new if none of
the derivations of training pairs, all of them, has it. An input depends on new pairs if none of the derivations of its
pair is without; those of a derivation with fewest are named. Unlabelled inputs are taken with the output that the
grammar gives them.

To annotate an input is taken to teach the new pairs and the unknown tokens that it has. What else an input with unknown
tokens needs is not known, nor what one needs that no rules fit: such inputs are not looked at.
"""

from collections import Counter
from collections.abc import Sequence

from csl.examples import Example
from csl.report.annotate import Lacks, choose
from csl.report.derivations import Bools, ContextRule, Derivations
from csl.report.schema import Coverage, CoverageTotals, Dependent, RulePair, Suggestion
from csl.report.selection import evenly

PAIRS, INPUTS, SUGGESTIONS = 300, 300, 10
PAIR_INPUTS = 20  # of those, that are named for a pair


class Composition:
    """Finds what is new in pairs, beside the derivations of training pairs."""

    def __init__(self, train: Sequence[Example], derivations: Derivations) -> None:
        self._derivations = derivations
        self._known: Bools = derivations.rule_pairs(list(dict.fromkeys(train)))

    def new_pairs(self, examples: Sequence[Example]) -> list[frozenset[ContextRule] | None]:
        """Give the new rule pairs that each pair depends on; None if the grammar does not derive it."""
        known, pairs_of = self._known, self._derivations.pairs_of
        return [
            frozenset(pair for pair in pairs_of(rules) if not known[pair]) if rules else None
            for rules in self._derivations.best(examples, avoid=~known)
        ]

    def lacks(self, examples: Sequence[Example], new: Sequence[frozenset[ContextRule] | None]) -> list[Lacks]:
        """Give what each input lacks: new rule pairs or, if it is not derived, tokens that no rule knows."""
        unknown = self._derivations.deriver.unknown_tokens
        return [
            frozenset(unknown(example.source)) if pairs is None else pairs
            for example, pairs in zip(examples, new, strict=True)
        ]

    def describe(
        self, of: str, examples: Sequence[Example], right: Sequence[bool] | None, pool: Sequence[Example] = ()
    ) -> Coverage:
        """Describe what is new in the examples, and what of the pool, or of themselves, is worth annotating.

        `right` says which of them the parser has right, if that is known. An unlabelled input that the grammar does not
        cover has no tokens in its output.
        """
        new = self.new_pairs(examples)
        needs = self.lacks(examples, new)
        offers = self.lacks(pool, self.new_pairs(pool)) if pool else needs
        dependent = [k for k, pairs in enumerate(new) if pairs]
        total = Counter(pair for pairs in new for pair in pairs or ())
        order = sorted(total, key=lambda pair: (-total[pair], pair))[:PAIRS]
        place = {pair: n for n, pair in enumerate(order)}
        shown = evenly(dependent, INPUTS)
        inputs = [
            Dependent(
                input=examples[k].source_text,
                output=examples[k].target_text,
                right=None if right is None else right[k],
                pairs=sorted(place[pair] for pair in needs[k] if pair in place),
            )
            for k in shown
        ]
        sources = [example.source for example in pool or examples]
        return Coverage(
            of=of,
            totals=CoverageTotals(
                inputs=len(examples),
                derived=sum(pairs is not None for pairs in new),
                dependent=len(dependent),
                right_known=None if right is None else sum(right[k] for k, p in enumerate(new) if p == frozenset()),
                right_dependent=None if right is None else sum(right[k] for k in dependent),
                pairs=len(total),
                train_pairs=int(self._known.sum()),
            ),
            pairs=[self._rule_pair(pair, total[pair], n, inputs) for n, pair in enumerate(order)],
            inputs=inputs,
            suggest=[
                Suggestion(
                    input=" ".join(source),
                    adds=filled,
                    pairs=sorted(place[lack] for lack in lacks if lack in place),
                    tokens=sorted(lack for lack in lacks if isinstance(lack, str)),
                )
                for source, filled, lacks in choose(needs, list(zip(sources, offers, strict=True)), SUGGESTIONS)
            ],
        )

    def _rule_pair(self, pair: ContextRule, total: int, place: int, inputs: Sequence[Dependent]) -> RulePair:
        context, child = pair
        parent, slot = self._derivations.context(context) or (None, 0)
        return RulePair(
            parent=None if parent is None else parent + 1,
            slot=slot,
            child=child + 1,
            total=total,
            inputs=[k for k, row in enumerate(inputs) if place in row["pairs"]][:PAIR_INPUTS],
        )
