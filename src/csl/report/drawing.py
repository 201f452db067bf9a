"""Drawings of a report: derivations as trees, and line charts; the page writes both as HTML and SVG.

Nodes of a derivation are numbered from the top, in preorder, so the nodes below one are the numbers that follow it, and
a page shows what a node derives with two comparisons a token. Nothing here is recursive: a derivation may be as deep as
its input is long. Cost: linear in the size of the tree and its two yields.

A chart is as wide as a phone, so that its text is legible there; a larger screen enlarges it or puts two side by side.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from csl.report.rules import RuleRow

WIDTH, HEIGHT = 420, 230  # of a chart, as in the template
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 26  # its margins

Point = tuple[float, float]


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


def draw(derivation: Sequence[int], rules: Mapping[int, RuleRow]) -> Drawing:
    """Lay out a derivation, given as the ids of its rules in preorder."""
    used = [rules[r] for r in derivation]
    places: list[tuple[int, int]] = []  # slot, depth
    children: list[list[int]] = [[] for _ in used]
    agenda = [(-1, 0, 0)]  # parent, slot, depth of the nodes to come, the next one last
    for number, rule in enumerate(used):
        parent, slot, depth = agenda.pop()
        places.append((slot, depth))
        if parent >= 0:
            children[parent].append(number)
        agenda += [(number, k, depth + 1) for k in range(rule.arity, 0, -1)]
    ends, widths = list(range(1, len(used) + 1)), list(map(_width, used))
    for number in reversed(range(len(used))):
        if below := children[number]:
            ends[number] = ends[below[-1]]
            widths[number] = max(widths[number], sum(widths[child] for child in below))
    after = [depth for _, depth in places[1:]] + [0]
    nodes = [
        Node(number, used[number], slot, ends[number], max(0, depth - after[number]))
        for number, (slot, depth) in enumerate(places)
    ]
    return Drawing(nodes, _yield("source", used, children), _yield("target", used, children), widths[0])


def _width(rule: RuleRow) -> int:
    sides = (rule.source, rule.target)
    return 12 + max(sum(1 + (len(symbol) if isinstance(symbol, str) else 3) for symbol in side) for side in sides)


def _yield(
    side: Literal["source", "target"], rules: Sequence[RuleRow], children: Sequence[Sequence[int]]
) -> list[tuple[str, int]]:
    """Write out one side of a derivation from left to right."""
    tokens: list[tuple[str, int]] = []
    agenda = [(symbol, 0) for symbol in reversed(getattr(rules[0], side))]
    while agenda:
        symbol, number = agenda.pop()
        if isinstance(symbol, str):
            tokens.append((symbol, number))
        else:
            child = children[number][symbol - 1]
            agenda += [(below, child) for below in reversed(getattr(rules[child], side))]
    return tokens


@dataclass(frozen=True)
class Line:
    """One series: where its points lie, with the figures that they stand for."""

    name: str
    points: list[tuple[float, float, float, float]]  # x, y in the drawing; x, y as figures

    @property
    def path(self) -> str:
        """The points as SVG has them."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in self.points)


@dataclass(frozen=True)
class Chart:
    """Lines over steps or another figure (`by`), and the ticks of both axes as (place, text)."""

    title: str
    by: str
    lines: list[Line]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


def line_chart(title: str, series: Mapping[str, Sequence[Point]], by: str = "step") -> Chart | None:
    """Lay out named series of points; figures that are not finite are left out, and a chart without any is None."""
    finite = {name: [point for point in points if all(map(math.isfinite, point))] for name, points in series.items()}
    kept = {name: points for name, points in finite.items() if points}
    if not kept:
        return None
    xs, ys = zip(*(point for points in kept.values() for point in points), strict=True)
    first, last, rows = min(xs), max(xs), ticks(ys)

    def across(x: float) -> float:
        return LEFT + (x - first) / ((last - first) or 1) * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (y - rows[0]) / (rows[-1] - rows[0]) * (HEIGHT - BOTTOM - TOP)

    lines = [Line(name, [(across(x), up(y), x, y) for x, y in points]) for name, points in kept.items()]
    columns = [x for x in ticks(xs, whole=True) if first <= x <= last]
    return Chart(title, by, lines, _texts(columns, across), _texts(rows, up))


def ticks(values: Sequence[float], *, whole: bool = False, wanted: int = 5) -> list[float]:
    """Choose round numbers, evenly spaced, that enclose the values: steps are 1, 2 or 5 times a power of ten.

    >>> ticks([0.3, 9.1])
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    low, high = min(values), max(values)
    rough = (high - low) / wanted or abs(high) / wanted or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * digit for digit in (1, 2, 5, 10) if rough <= power * digit * 1.0001)
    if whole:
        step = max(1.0, step)
    start, stop = math.floor(low / step), math.ceil(high / step)
    if start == stop:  # below a value that never changes, so that shares stay below 1; 0 has nothing below it
        start, stop = (start - 1, stop) if start else (0, 1)
    return [k * step for k in range(start, stop + 1)]


def _texts(values: Sequence[float], place: Callable[[float], float]) -> list[tuple[float, str]]:
    """Write the ticks of an axis, with as many decimals as their step needs; from ten thousand on as k or M."""
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    largest = max(map(abs, values), default=0.0)
    size, unit = (1e6, "M") if largest >= 1e6 else (1e3, "k") if largest >= 1e4 else (1.0, "")
    decimals = max(0, -math.floor(math.log10(step / size) + 1e-9))
    return [
        (place(value), f"{value / size:,.{decimals}f}{unit if value else ''}".replace("-", "−")) for value in values
    ]
