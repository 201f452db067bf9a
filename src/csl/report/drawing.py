"""What to draw of a derivation: its nodes in order, and which node each token of input and output comes from.

Nodes are numbered from the top, in preorder, so the nodes below one are the numbers that follow it, and a page shows
what a node derives with two comparisons a token. Nothing here calls itself: a derivation may be as deep as its input is
long. Cost: linear in the size of the tree and its two yields.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from csl.report.schema import RuleRow, Tree


@dataclass(frozen=True)
class Node:
    """A node of a derivation."""

    number: int
    rule: RuleRow
    slot: int  # which nonterminal of its parent it stands for; 0 at the top
    end: int  # the nodes below it are number + 1 … end - 1
    closes: int  # how many lists of children end after it


@dataclass(frozen=True)
class Drawing:
    """A derivation laid out: its nodes in preorder, and both yields as (token, number of its node)."""

    nodes: list[Node]
    source: list[tuple[str, int]]
    target: list[tuple[str, int]]
    width: int  # of a tree that hangs from its top, in letters


def draw(tree: Tree, rules: Mapping[int, RuleRow]) -> Drawing:
    """Lay out a derivation.

    >>> twice = {"source": ["twice", {"nt": 1}], "target": [{"nt": 1}, {"nt": 1}]}
    >>> run = {"source": ["run"], "target": ["RUN"]}
    >>> found = draw({"rule": 1, "children": [{"rule": 2, "children": []}]}, {1: twice, 2: run})
    >>> found.source, found.target
    ([('twice', 0), ('run', 1)], [('RUN', 1), ('RUN', 1)])
    """
    met: list[tuple[Tree, int, int]] = []  # tree, slot, depth
    children: list[list[int]] = []
    agenda = [(tree, 0, 0, -1)]
    while agenda:
        here, slot, depth, parent = agenda.pop()
        number = len(met)
        met.append((here, slot, depth))
        children.append([])
        if parent >= 0:
            children[parent].append(number)
        agenda += [(child, k, depth + 1, number) for k, child in reversed([*enumerate(here["children"], start=1)])]
    nodes, widths = list[Node](), [0] * len(met)
    ends = list(range(1, len(met) + 1))
    for number in reversed(range(len(met))):
        here, slot, depth = met[number]
        rule, below = rules[here["rule"]], children[number]
        ends[number] = ends[below[-1]] if below else number + 1
        widths[number] = max(_width(rule), sum(widths[child] for child in below))
        after = met[number + 1][2] if number + 1 < len(met) else 0
        nodes.append(Node(number, rule, slot, ends[number], max(0, depth - after)))
    nodes.reverse()
    return Drawing(nodes, _spread("source", nodes, children), _spread("target", nodes, children), widths[0])


def _width(rule: RuleRow) -> int:
    sides = (rule["source"], rule["target"])
    return 12 + max(sum(1 + (len(symbol) if isinstance(symbol, str) else 3) for symbol in side) for side in sides)


def _spread(side: Literal["source", "target"], nodes: list[Node], children: list[list[int]]) -> list[tuple[str, int]]:
    """Write out one side of a derivation from left to right."""
    tokens: list[tuple[str, int]] = []
    agenda = [(symbol, 0) for symbol in reversed(nodes[0].rule[side])]
    while agenda:
        symbol, number = agenda.pop()
        if isinstance(symbol, str):
            tokens.append((symbol, number))
        else:
            child = children[number][symbol["nt"] - 1]
            agenda += [(below, child) for below in reversed(nodes[child].rule[side])]
    return tokens
