"""Confidences are probabilities: calibrated where there are examples, the network's own where there are none."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.errors import InputError
from csl.seq2seq.confidence import FEATURES, FILE, Calibration, features_of, risk_coverage
from csl.seq2seq.predictor import Prediction

probabilities = st.floats(0.001, 0.999)


def predicted(p: float, text: str = "a") -> Prediction:
    return Prediction(text, math.log(p))


@given(st.lists(probabilities, max_size=5))
def test_without_examples_a_confidence_is_the_probability_of_the_network(values: list[float]) -> None:
    calibration = Calibration.fit(np.zeros((0, len(FEATURES))), [], parser=False)
    found = calibration.confidences(features_of([predicted(p) for p in values]))
    assert found == pytest.approx(values, abs=1e-6)


@settings(deadline=None, max_examples=20)
@given(st.floats(0.1, 0.9), st.floats(0.2, 0.99))
def test_the_mean_confidence_nears_the_share_of_correct_outputs(share: float, p: float) -> None:
    """A network that is always equally sure, and right as often as `share`, whatever it says itself."""
    right = [k < share * 2000 for k in range(2000)]
    features = features_of([predicted(p)] * 2000)
    [found, *_] = Calibration.fit(features, right, parser=False).confidences(features)
    assert found == pytest.approx(sum(right) / 2000, abs=0.02)


def test_a_parser_that_agrees_raises_the_confidence_and_one_that_differs_lowers_it() -> None:
    answers = {"same": ("f(a)", -0.1), "other": ("f(b)", -0.1), "none": None}
    chances = {"same": 0.95, "other": 0.2, "none": 0.6}
    kinds = [kind for kind in answers for _ in range(200)]
    right = [k % 200 < 200 * chances[kind] for k, kind in enumerate(kinds)]
    features = features_of([predicted(0.7, "f ( a )")] * 600, [answers[kind] for kind in kinds])
    found = dict(zip(kinds, Calibration.fit(features, right, parser=True).confidences(features), strict=True))
    assert found == pytest.approx(chances, abs=0.05)


def test_how_sure_the_parser_is_counts() -> None:
    sure, unsure = ("a", math.log(0.99)), ("a", math.log(0.3))
    opinions = [sure] * 300 + [unsure] * 300
    right = [k % 300 < (285 if k < 300 else 120) for k in range(600)]
    features = features_of([predicted(0.7)] * 600, opinions)
    found = Calibration.fit(features, right, parser=True).confidences(features)
    assert found[0] == pytest.approx(0.95, abs=0.03)
    assert found[-1] == pytest.approx(0.4, abs=0.03)


def test_extremes_have_finite_confidences() -> None:
    outputs = [Prediction("", -math.inf), Prediction("a", 0.0), Prediction("a", -1000.0), predicted(0.5)]
    features = features_of(outputs, [("a", math.nan), ("a", 0.0), None, ("b", -math.inf)])
    assert np.isfinite(features).all()
    for right in ([True] * 4, [False] * 4, [False, True, False, True]):
        assert all(0 < value < 1 for value in Calibration.fit(features, right, parser=True).confidences(features))
    with pytest.raises(ValueError, match="score"):
        features_of([Prediction("a")])


def test_it_is_stored_with_the_model(tmp_path: Path) -> None:
    calibration = Calibration((0.5, 1.25, 0.0, -2.0, 3.0, 0.1), 7, parser=True)
    with pytest.raises(InputError, match="--calibrate"):
        Calibration.load(tmp_path)
    (tmp_path / "model").mkdir()
    calibration.save(tmp_path)
    assert Calibration.load(tmp_path) == Calibration.load(tmp_path / "model") == calibration
    for damage in ("[]", "{", json.dumps({"weights": {"bias": 1}, "examples": 1, "parser": False})):
        (tmp_path / "model" / FILE).write_text(damage, "utf-8")
        with pytest.raises(InputError, match=FILE):
            Calibration.load(tmp_path)


# risk and coverage


@given(st.lists(st.tuples(probabilities, st.booleans()), min_size=1, max_size=60))
def test_a_curve_ends_with_all_outputs(judged: list[tuple[float, bool]]) -> None:
    sure, right = [value for value, _ in judged], [good for _, good in judged]
    curve = risk_coverage(sure, right)
    assert curve[-1] == (1.0, pytest.approx(1 - sum(right) / len(right)))
    coverages = [coverage for coverage, _ in curve]
    assert coverages == sorted(set(coverages))
    assert all(0 <= risk <= 1 for _, risk in curve)


def test_the_most_confident_outputs_come_first() -> None:
    curve = risk_coverage([k / 40 for k in range(40)], [k >= 10 for k in range(40)])
    assert [risk for coverage, risk in curve if coverage <= 0.75] == [0.0] * 15
    assert curve[-1][1] == 0.25
    assert risk_coverage([], []) == []
