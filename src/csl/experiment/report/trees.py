"""Derivations to draw: of training pairs, of test inputs that are parsed right and wrong, of synthetic pairs.

They are chosen evenly among all, from those with fewest rules to those with most.
"""

from collections.abc import Sequence

from csl.data import Example
from csl.data.score import same
from csl.experiment.report.derivations import Derivations
from csl.experiment.report.derivations import Rules as Preorder
from csl.experiment.report.schema import Tree, TreeRow
from csl.experiment.report.selection import evenly

EACH = 12  # trees of a kind
LARGEST = 200  # rules of a tree that is drawn


def by_size(derivations: Sequence[Preorder], number: int) -> list[int]:
    """Choose derivations evenly, from the fewest rules to the most; return their places."""
    drawn = (k for k, rules in enumerate(derivations) if 0 < len(rules) <= LARGEST)
    return evenly(sorted(drawn, key=lambda k: len(derivations[k])), number)


def as_tree(rules: Preorder, derivations: Derivations) -> Tree:
    """Turn a derivation in preorder into a tree."""
    made: list[Tree] = []
    for r in reversed(rules):
        made.append(Tree(rule=r + 1, children=[made.pop() for _ in range(derivations.rules[r].arity)]))
    return made[0]


def pair_trees(
    origin: str, examples: Sequence[Example], rules: Sequence[Preorder], derivations: Derivations
) -> list[TreeRow]:
    """Draw derivations of pairs."""
    return [
        TreeRow(
            origin=origin, input=examples[k].source_text, output=examples[k].target_text, predicted=None, right=None,
            tree=as_tree(rules[k], derivations), right_tree=None,
        )
        for k in by_size(rules, EACH)
    ]  # fmt: skip


def parse_trees(examples: Sequence[Example], parses: Sequence[Preorder], derivations: Derivations) -> list[TreeRow]:
    """Draw parses of test inputs, the wrong ones first; beside a wrong one how the right output is derived."""
    predicted = {k: derivations.example(rules).target_text for k, rules in enumerate(parses) if rules}
    right = {k: same(text, examples[k].target_text) for k, text in predicted.items()}
    rows = []
    for wanted in (False, True):
        kind = [k for k in predicted if right[k] is wanted]
        chosen = [kind[n] for n in by_size([parses[k] for k in kind], EACH)]
        for k, gold in zip(chosen, derivations.best([examples[k] for k in chosen]), strict=True):
            example, rest = examples[k], None if wanted or not gold else as_tree(gold, derivations)
            rows.append(
                TreeRow(
                    origin="test", input=example.source_text, output=example.target_text, predicted=predicted[k],
                    right=wanted, tree=as_tree(parses[k], derivations), right_tree=rest,
                )
            )  # fmt: skip
    return rows
