"""Sweeps: runs that differ in one thing (paper, appendix "Additional Analysis"), and their figures over seeds.

The known ones have the values of the paper's tables: the sampling temperature, of forward sampling as in the paper; the
number of context states, each fitted from several starts; the number of synthetic examples with and without unlabelled
inputs; and seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from statistics import mean, stdev
from typing import Literal, get_args, get_origin

from csl.errors import InputError, nearest
from csl.experiments.records import Run
from csl.runs.recipe import DEV, TABLES, Recipe
from csl.runs.stages.registry import SYSTEMS

KEYS = {"temperature": "sampling.temperature", "states": "fit.states", "samples": "sampling.number"}
VALUES: dict[str, Sequence[object]] = {
    "sampling.temperature": (1, 10, inf),
    "fit.states": (1, 2, 3, 4, 8, 16, 32),
    "sampling.number": (1_000, 100_000),
}
SEEDS = "seeds"
STARTS = 5  # of each fit in a sweep over states, at least: with few states some get stuck
PAPER_TABLES = {"sampling.temperature": "temperature", "fit.states": "states", "sampling.number": "semi"}
RUNS = 3  # with different seeds, in the paper's table of variance

Point = dict[str, object]  # options by name


def points(recipe: Recipe, over: str, values: Sequence[object] | None = None) -> list[Point]:
    """Give the settings of each point of a sweep over a known name, or over an option named as `fit.states`."""
    if over == SEEDS:
        if values:
            raise InputError("--over seeds takes no --values; give the number of seeds with --seeds")
        return [{}]
    if "." not in over and over not in KEYS:
        raise InputError(
            f"no sweep over {over!r} (an option has a name like fit.states); {nearest(over, [SEEDS, *KEYS])}"
        )
    key = KEYS.get(over, over)
    values = values or VALUES.get(key) or _choices(key)
    if not values:
        raise InputError(f"--over {over} needs values; give them with --values a,b,c")
    found: list[Point] = [{key: value, **_beside(recipe, key)} for value in values]
    if over != "samples":
        return found
    semi: list[Point] = [{"fit.unlabelled": ""}, {}] if recipe.fit.unlabelled else [{}, {"fit.unlabelled": DEV}]
    return [point | way for point in found for way in semi]


def _choices(key: str) -> Sequence[object]:
    """List the values that an option can have, if they are few words."""
    table, _, name = key.partition(".")
    field = TABLES[table].model_fields.get(name) if table in TABLES else None
    return get_args(field.annotation) if field and get_origin(field.annotation) is Literal else ()


def _beside(recipe: Recipe, key: str) -> Point:
    """Give what a sweep over an option needs beside its value."""
    if key == "fit.states" and recipe.fit.restarts < STARTS:
        return {"fit.restarts": STARTS}
    if key == "sampling.temperature":
        wanted: Point = {"strategy": "forward", "depths": "model"}
        return {f"sampling.{k}": value for k, value in wanted.items() if getattr(recipe.sampling, k) != value}
    return {}


FIGURES: dict[str, tuple[Callable[[Run], float | None], str]] = {
    "distinct": (lambda run: run.distinct, ",.0f"),
    "new": (lambda run: run.new, ",.0f"),
    "log p(x, y) train": (lambda run: run.log_prob("train", "log_p_xy"), ".2f"),
    "log p(x, y) dev": (lambda run: run.log_prob("dev", "log_p_xy"), ".2f"),
    "log p(y | x) dev": (lambda run: run.log_prob("dev", "log_p_y_given_x"), ".2f"),
    "CSL, dev": (lambda run: run.part_share("dev"), ".1%"),
    "T5, dev": (lambda run: run.t5_dev, ".1%"),
    "T5 with augmentation, dev": (lambda run: run.augmented_dev, ".1%"),
    "covered, test": (lambda run: run.share("csl", "answered"), ".1%"),
    **{f"{label}, test": (partial(Run.share, system=system), ".1%") for system, label in SYSTEMS.items()},
}


def table(rows: Mapping[str, Sequence[Run]]) -> list[list[str]]:
    """Lay the figures of runs out as mean ± deviation over seeds, a row for each point; the first row has the names."""
    columns = {
        name: [_mean([value for run in runs if (value := find(run)) is not None], form) for runs in rows.values()]
        for name, (find, form) in FIGURES.items()
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    return [["", *columns], *([row, *(c[i] for c in columns.values())] for i, row in enumerate(rows))]


def _mean(values: Sequence[float], form: str) -> str:
    if not values:
        return ""
    spread = f" ± {stdev(values):{form}}" if len(values) > 1 else ""
    return f"{mean(values):{form}}{spread}"
