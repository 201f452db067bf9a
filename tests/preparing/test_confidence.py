"""How sure an output of raw text is, and where the parser abstains."""

from pathlib import Path

import numpy as np
import pytest

from csl.errors import InputError
from csl.parsing.limits import Abstained
from csl.preparing.confidence import FEATURES, Calibration, Confidence, Evidence, threshold
from csl.preparing.parser import Answer, Parser

from .conftest import Learnt


@pytest.fixture(scope="module")
def evidence(learnt: Learnt) -> Evidence:
    return Evidence(Parser(learnt.model, learnt.prepared.preparation), learnt.model, learnt.prepared.examples)


def features(evidence: Evidence, text: str) -> dict[str, float]:
    (answer,) = evidence.parser.answers([text])
    assert isinstance(answer, Answer)
    [row] = evidence.features([text], [answer])
    return dict(zip(FEATURES, row.tolist(), strict=True))


def test_what_training_has_and_what_it_lacks(evidence: Evidence) -> None:
    old, new = (features(evidence, f"What cities are in {x}?") for x in ("Utah", "states that border Utah"))
    assert (old["known"], new["known"]) == (1, 0)
    assert (old["new"], old["open"], old["same"], old["other"]) == (0, 0, 1, 0)
    assert features(evidence, "What rivers are in Nevada?")["open"] == 1
    assert all(row["bias"] == 1 and row["parser"] > 0 for row in (old, new))


def test_no_texts_have_no_features(evidence: Evidence) -> None:
    assert evidence.features([], []).shape == (0, len(FEATURES))


def test_a_second_opinion_that_differs_lowers_the_confidence() -> None:
    rows = np.zeros((60, len(FEATURES)))
    rows[:, 0] = 1
    rows[:40, FEATURES.index("same")], rows[40:, FEATURES.index("other")] = 1, 1
    right = [k < 40 for k in range(60)]
    calibration = Calibration.fit(rows, right, list(range(60)))
    sure = calibration.confidences(rows)
    assert min(sure[:40]) >= calibration.threshold > max(sure[40:])
    assert calibration.examples == 60


def test_where_no_share_is_precise_enough_no_output_is_given() -> None:
    rows = np.ones((30, len(FEATURES)))
    calibration = Calibration.fit(rows, [k % 2 == 0 for k in range(30)], list(range(30)))
    assert calibration.threshold == 1
    assert max(calibration.confidences(rows * 100)) < 1


def test_templates_are_judged_by_other_templates() -> None:
    """What is only right where its own template was looked at does not count as sure."""
    rows = np.zeros((40, len(FEATURES)))
    rows[:20, 1], rows[20:, 2] = 1, 1
    right = [k < 20 for k in range(40)]
    apart = Calibration.fit(rows, right, list(range(40)))
    together = Calibration.fit(rows, right, ["one"] * 20 + ["two"] * 20)
    assert apart.threshold < 1
    assert together.threshold == 1 or together.threshold <= 0.5  # nothing told them apart


@pytest.mark.parametrize(
    ("confidences", "right", "expected"),
    [
        ([0.9] * 9 + [0.3], [1] * 9 + [0], 0.9),
        ([0.9] * 8 + [0.3], [1] * 8 + [0], 1.0),  # too few
        ([0.9] * 9 + [0.5] * 11, [1] * 9 + [1] * 10 + [0], 0.5),
        ([0.9] * 9 + [0.2], [1] * 10, 0.5),  # what is more likely wrong than right is never given
        ([0.5] * 20, [1] * 10 + [0] * 10, 1.0),  # those with one confidence are given together
        ([], [], 1.0),
    ],
)
def test_the_threshold_is_the_lowest_that_is_precise_enough(
    confidences: list[float], right: list[float], expected: float
) -> None:
    assert threshold(np.array(confidences, float), np.array(right, float)) == expected


def test_an_input_without_an_output_is_not_sure_at_all(evidence: Evidence) -> None:
    confidence = Confidence(evidence, Calibration((1.0,) * len(FEATURES), 0.5, 9))
    texts = ["Why?", "What cities are in Utah?"]
    found = evidence.parser.answers(texts)
    assert isinstance(found[0], Abstained)
    first, second = confidence.of(texts, found)
    assert first == 0 < second


def test_a_calibration_is_kept_in_a_file(tmp_path: Path) -> None:
    path, calibration = tmp_path / "confidence.json", Calibration(tuple(map(float, range(len(FEATURES)))), 0.25, 7)
    calibration.save(path)
    assert Calibration.load(path) == calibration
    for text in ("{", "[]", '{"weights": {}}', "null"):
        path.write_text(text, "utf-8")
        with pytest.raises(InputError) as refused:
            Calibration.load(path)
        assert str(refused.value).startswith(str(path))
