"""Mixtures in equal parts, the check on held-out examples, and the warnings."""

import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import csl
from csl.runs.mixture import Mixture, check_held_out, warn
from csl.examples import Example
from csl.examples.score import Score
from csl.errors import CslError
from csl.grammar import Grammar, OutputCfg
from csl.grammar.notation import parse_rule
from csl.induction.auto import choose
from csl.induction.config import PRESETS
from csl.model.config import FitConfig


def pairs(count: int, prefix: str) -> list[Example]:
    return [Example.of(f"{prefix}{k}", f"{prefix}{k}") for k in range(count)]


@given(st.integers(1, 60), st.integers(1, 60))
def test_both_parts_are_equal_up_to_rounding(a: int, b: int) -> None:
    mixture = Mixture(pairs(a, "x"), pairs(b, "y"))
    lines = list(mixture)
    original = sum(e.source_text.startswith("x") for e in lines)
    assert len(lines) == len(mixture)
    assert min(mixture.copies) == 1
    assert abs(original - (len(lines) - original)) <= min(a, b) / 2


def test_without_synthetic_pairs_the_originals_stay() -> None:
    assert list(Mixture(pairs(3, "x"), [])) == pairs(3, "x")


def test_weights_say_how_often_a_pair_counts() -> None:
    mixture = Mixture(pairs(2, "x"), pairs(6, "y"))
    rows = list(mixture.weighted())
    assert [(row.meta["origin"], row.meta["weight"]) for row in rows] == [("original", "3")] * 2 + [
        ("synthetic", "1")
    ] * 6
    assert sum(int(row.meta["weight"]) for row in rows) == len(mixture)


def test_a_data_set_has_four_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dataset:
        def __init__(self, rows: list[dict[str, Any]]) -> None:
            self.rows = rows

        from_list = classmethod(lambda cls, rows: cls(rows))

    fake = ModuleType("datasets")
    fake.Dataset = Dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", fake)
    rows = Mixture(pairs(1, "x"), pairs(2, "y")).to_dataset().rows
    assert rows[0] == {"input": "x0", "output": "x0", "weight": 2, "origin": "original"}
    assert [row["origin"] for row in rows] == ["original", "synthetic", "synthetic"]


def test_without_the_library_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CslError, match="this needs the library datasets: pip install datasets"):
        Mixture(pairs(1, "x"), []).to_dataset()


def test_the_check_learns_from_nine_tenths() -> None:
    words = "abcdefgh"
    examples = [Example.of(x, x.upper()) for x in words]
    examples += [Example.of(f"{x} and {y}", f"{x} {y}".upper()) for x in words for y in words]
    score = check_held_out(examples, PRESETS["scan"], FitConfig(states=1, max_units=0))
    assert (score.examples, score.covered, score.right) == (8, 8, 8)
    one = check_held_out(examples[:1] * 3, PRESETS["scan"], FitConfig(states=1))
    assert (one.examples, one.covered) == (1, 0)


def test_the_check_does_not_know_the_seeds_of_what_is_held_out() -> None:
    """Each name occurs once: that it is copied can only be known from the example itself."""
    examples = [Example.of(f"call name{k}", f"CALL ( name{k} )") for k in range(100)]
    choice = choose(examples)
    options = examples, choice.config, FitConfig(states=1)
    assert check_held_out(*options, seeds=choice.seeds).covered == 10
    assert check_held_out(*options, auto=True).covered == 0
    assert any("only 0 of 10" in warning for warning in csl.augment(examples, 10).warnings)


def test_a_strong_grammar_gets_no_warning() -> None:
    grammar = Grammar(parse_rule(f"NT_1 {w} ### {w} NT_1") for w in "abcde")
    assert warn(grammar, Score(10, 9, 9), 5, 5) == []
    assert len(warn(Grammar(list(grammar)[:4]), Score(10, 1, 1), 5, 4)) == 3


def test_a_cfg_that_costs_right_outputs_gets_a_warning() -> None:
    grammar = Grammar(parse_rule(f"NT_1 {w} ### {w} NT_1") for w in "abcde")
    assert warn(grammar, Score(40, 37, 37), 5, 5, without_cfg=Score(40, 40, 39)) == []
    [line] = warn(grammar, Score(40, 37, 37), 5, 5, without_cfg=Score(40, 40, 40))
    assert line.startswith("held-out inputs right: 37 of 40, without the output CFG 40; ")


def test_a_flat_cfg_is_told() -> None:
    words = "abcdefgh"
    examples = [Example.of(f"say {x} {y}", f"SAY ( {x} , {y} )") for x in words for y in words]
    flat = OutputCfg.parse(f"ROOT => {e.target_text}" for e in examples)
    assert any("without the output CFG 7" in line for line in csl.augment(examples, 10, output_cfg=flat).warnings)
    typed = ["ROOT => SAY ( ##W , ##W )", *(f"W => {word}" for word in words)]
    assert not [w for w in csl.augment(examples, 10, output_cfg=OutputCfg.parse(typed)).warnings if "CFG" in w]
