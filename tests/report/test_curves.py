"""Curves are read from metrics.jsonl."""

import json
from pathlib import Path

import pytest

from csl.errors import InputError
from csl.report.curves import POINTS, fit_curve, induction_curve, read_metrics, training_curves


def write(folder: Path, lines: list[dict[str, object]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def test_stages_are_told_apart_and_times_left_out(tmp_path: Path) -> None:
    step = {"partition": 1, "step": 2, "rules": 3, "objective": 4.5}
    fit = {"stage": "fit", "step": 50, "train": -3.0, "dev": None}
    write(tmp_path, [{"stage": "induce", **step, "seconds": 0.1, "actions": 7}, {**fit, "steps": 100}])
    metrics = read_metrics(tmp_path)
    assert (induction_curve(metrics), fit_curve(metrics)) == ([step], [fit])
    assert read_metrics(tmp_path / "nothing") == []


def test_long_training_is_thinned_but_for_tests_on_dev(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [{"step": 50 * k, "loss": 1 / k, "steps_per_second": 9.0} for k in range(1, 2001)]
    for line in lines[6::7]:
        line["dev"] = 0.5
    write(tmp_path / "plain", lines)
    curves = training_curves(tmp_path)
    assert set(curves) == {"t5"}
    assert set(curves["t5"][0]) == {"step", "loss", "dev"}
    assert sum(point["dev"] is not None for point in curves["t5"]) == len(lines[6::7])
    assert len(curves["t5"]) < POINTS + len(lines[6::7])
    assert curves["t5"][-1]["step"] == 100_000


def test_damaged_metrics_are_refused(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("{\n", "utf-8")
    with pytest.raises(InputError, match="not lines that csl writes"):
        read_metrics(tmp_path)
