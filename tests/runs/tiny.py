"""A tiny experiment: a few commands, and a recipe whose run takes a moment."""

from collections.abc import Mapping
from pathlib import Path

from csl.examples import Example, write_examples

TRAIN = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "walk twice": "WALK WALK", "run twice": "RUN RUN",
    "walk and run": "WALK RUN", "run twice and walk": "RUN RUN WALK",
}  # fmt: skip
MODEL = """
[fit]
states = 2
optimizer = "em"
[sampling]
number = 100
max_depth = 4
"""


def recipe_of(*parts: str) -> str:
    """The recipe of an experiment with these parts of data, each in a file beside it."""
    return "\n".join(["[data]", *(f'{part} = "{part}.tsv"' for part in parts)]) + MODEL


def write_parts(folder: Path, parts: Mapping[str, Mapping[str, str]]) -> None:
    for name, pairs in parts.items():
        write_examples(folder / f"{name}.tsv", [Example.of(x, y) for x, y in pairs.items()])
