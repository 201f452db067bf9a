"""Sweeps: their points, and the table of their figures."""

from math import inf
from typing import Any

import pytest

from csl.errors import InputError
from csl.experiments.records import Run
from csl.experiments.sweep import points, table
from csl.runs.recipe import read_recipe, recipe_names

RECIPE = read_recipe("geoquery/tmcd_1")


def record(right: int, **figures: Any) -> Run:
    score = {"examples": 200, "answered": 180, "right": right}
    dev = {"log_p_xy": None, "examples": 10, "right": 4}
    stages = {"evaluate": {"systems": {"csl": score}, "parts": {"dev": dev}}, **figures}
    about = {"folder": "", "recipe": "geoquery/tmcd_1", "title": "", "seed": 0}
    return Run.model_validate(about | {"stages": {name: {"figures": found} for name, found in stages.items()}})


def test_known_sweeps_have_the_values_of_the_paper() -> None:
    forward = {"sampling.strategy": "forward", "sampling.depths": "model"}
    assert points(RECIPE, "temperature") == [{"sampling.temperature": t, **forward} for t in (1, 10, inf)]
    assert points(RECIPE, "states") == [{"fit.states": n, "fit.restarts": 5} for n in (1, 2, 3, 4, 8, 16, 32)]
    assert points(read_recipe("paper/scan/jump"), "temperature")[0] == {"sampling.temperature": 1}
    assert points(read_recipe("scan/mcd2"), "states")[0] == {"fit.states": 1}
    assert points(RECIPE, "samples") == [
        {"sampling.number": 1000},
        {"sampling.number": 1000, "fit.unlabelled": "dev"},
        {"sampling.number": 100_000},
        {"sampling.number": 100_000, "fit.unlabelled": "dev"},
    ]
    assert points(RECIPE, "seeds") == [{}]


@pytest.mark.parametrize("name", recipe_names())
@pytest.mark.parametrize("over", ["temperature", "states", "samples"])
def test_every_recipe_can_be_swept(name: str, over: str) -> None:
    recipe = read_recipe(name)
    for point in points(recipe, over):
        recipe.changed(point)


def test_any_option_can_be_swept_over_with_values_given() -> None:
    assert points(RECIPE, "induction.k_t", ["4", "8"]) == [{"induction.k_t": "4"}, {"induction.k_t": "8"}]
    assert points(RECIPE, "states", ["5"]) == [{"fit.states": "5", "fit.restarts": 5}]
    assert points(RECIPE, "fit.states") == points(RECIPE, "states")


def test_an_option_that_is_one_of_some_words_is_swept_over_all_of_them() -> None:
    assert points(RECIPE, "induction.objective") == [{"induction.objective": name} for name in ("csl", "nqg")]
    assert points(RECIPE, "fit.denominator") == [{"fit.denominator": name} for name in ("grammar", "batch")]


def test_unlabelled_inputs_of_the_recipe_are_swept_with_and_without() -> None:
    recipe = RECIPE.changed({"fit.unlabelled": "inputs.txt"})
    assert points(recipe, "samples", ["10"]) == [
        {"sampling.number": "10", "fit.unlabelled": ""},
        {"sampling.number": "10"},
    ]


@pytest.mark.parametrize(
    ("over", "values", "words"),
    [
        ("temprature", None, "did you mean 'temperature'?"),
        ("induction.k_t", None, "--values"),
        ("seeds", ["1"], "--seeds"),
    ],
)
def test_a_wrong_sweep_is_refused(over: str, values: list[str] | None, words: str) -> None:
    with pytest.raises(InputError) as error:
        points(RECIPE, over, values)
    assert words in str(error.value)


def test_figures_are_means_over_seeds_and_empty_columns_are_left_out() -> None:
    rows = {"a": [record(100), record(110)], "b": [record(150, sample={"distinct": 1234, "new": 5})], "c": []}
    assert table(rows) == [
        ["", "distinct", "new", "CSL, dev", "covered, test", "CSL, test"],
        ["a", "", "", "40.0% ± 0.0%", "90.0% ± 0.0%", "52.5% ± 3.5%"],
        ["b", "1,234", "5", "40.0%", "90.0%", "75.0%"],
        ["c", "", "", "", "", ""],
    ]
