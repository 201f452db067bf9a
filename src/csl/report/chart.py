"""Line charts of a report: from figures to coordinates, which the page writes as SVG.

A chart is as wide as a phone, so that its text can be read there; a larger screen enlarges it or puts two side by side.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 26

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One series: where its points lie, with the figures that they stand for."""

    name: str
    points: list[tuple[float, float, float, float]]  # x, y in the drawing; x, y as figures

    @property
    def path(self) -> str:
        """The points as SVG wants them."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in self.points)


@dataclass(frozen=True)
class Chart:
    """A drawing: lines, and the ticks of both axes as (place, text)."""

    title: str
    x_label: str
    lines: list[Line]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def line_chart(title: str, x_label: str, series: Sequence[tuple[str, Sequence[Point]]]) -> Chart | None:
    """Lay out named series of points; figures that are not finite are left out, and a chart without any is None."""
    kept = [(name, [p for p in points if all(map(math.isfinite, p))]) for name, points in series]
    kept = [(name, points) for name, points in kept if points]
    if not kept:
        return None
    xs = ticks([x for _, points in kept for x, _ in points], whole=True)
    ys = ticks([y for _, points in kept for _, y in points])
    first, last = min(p[0] for _, points in kept for p in points), max(p[0] for _, points in kept for p in points)

    def across(x: float) -> float:
        return LEFT + (x - first) / ((last - first) or 1) * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (y - ys[0]) / (ys[-1] - ys[0]) * (HEIGHT - BOTTOM - TOP)

    lines = [Line(name, [(across(x), up(y), x, y) for x, y in points]) for name, points in kept]
    inside = [x for x in xs if first <= x <= last]
    return Chart(title, x_label, lines, _texts(inside, across), _texts(ys, up))


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
    return [k * step for k in range(start, max(stop, start + 1) + 1)]


def _texts(values: Sequence[float], place: Callable[[float], float]) -> list[tuple[float, str]]:
    """Write the ticks of an axis, with as many decimals as their step needs; from ten thousand on as k or M."""
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    largest = max(map(abs, values), default=0.0)
    size, sign = (1e6, "M") if largest >= 1e6 else (1e3, "k") if largest >= 1e4 else (1.0, "")
    decimals = max(0, -math.floor(math.log10(step / size) + 1e-9))
    return [
        (place(value), f"{value / size:,.{decimals}f}{sign if value else ''}".replace("-", "−")) for value in values
    ]
