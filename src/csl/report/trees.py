"""Derivations to draw: of training pairs, of test inputs that are parsed right and wrong, of synthetic pairs.

They are chosen evenly among all, from those with fewest rules to those with most.
"""

from collections.abc import Sequence

from csl.examples import Example
from csl.report.derivations import Derivations, Preorder, Reading
from csl.report.schema import Tree, TreeRow
from csl.report.selection import evenly

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


def reading_trees(
    examples: Sequence[Example], readings: Sequence[Reading | None], right: Sequence[bool], derivations: Derivations
) -> list[TreeRow]:
    """Draw readings of test inputs, the wrong ones first; beside a wrong one how the right output is derived."""
    rows = []
    for wanted in (False, True):
        kind = [
            (reading, example)
            for reading, example, good in zip(readings, examples, right, strict=True)
            if reading and good is wanted
        ]
        chosen = [kind[n] for n in by_size([reading.rules for reading, _ in kind], EACH)]
        derived = derivations.best([example for _, example in chosen])
        for (reading, example), rules in zip(chosen, derived, strict=True):
            rows.append(
                TreeRow(
                    origin="test", input=example.source_text, output=example.target_text, predicted=reading.text,
                    right=wanted, tree=as_tree(reading.rules, derivations),
                    right_tree=None if wanted or not rules else as_tree(rules, derivations),
                )
            )  # fmt: skip
    return rows
