"""What metrics.jsonl files say, step by step: induction, fitting, and the training of sequence-to-sequence models."""

from pathlib import Path
from typing import Any

from csl.errors import InputError
from csl.files import parse_json, read_lines
from csl.report.schema import FitStep, InductionStep, TrainStep
from csl.report.selection import evenly
from csl.runs.fitting import STAGES

NUMBERS: dict[str | None, tuple[str, ...]] = {  # of a line, by its stage; that of sequence-to-sequence models has none
    "induce": tuple(InductionStep.__annotations__), "nqg-induce": ("step",),
    **dict.fromkeys(STAGES, ("step", "train")), None: ("step", "loss"),
}  # fmt: skip
POINTS = 500  # of a curve
FOLDERS = {"t5": "plain", "augmented": "augmented"}


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read the lines of a folder's metrics.jsonl, none if there is no such file."""
    path = folder / "metrics.jsonl"
    if not path.exists():
        return []
    try:
        lines = [parse_json(line) for _, line in read_lines(path)]
        for line in lines:
            numbers = [*(line[key] for key in NUMBERS[line.get("stage")]), line.get("dev") or 0]
            if not all(isinstance(number, int | float) for number in numbers):
                raise TypeError
        return lines
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError("not lines that csl writes; make the run again", path) from error


def induction_curve(metrics: list[dict[str, Any]]) -> list[InductionStep]:
    """Give rules and objective after each step of induction."""
    return [
        InductionStep(**{key: line[key] for key in InductionStep.__annotations__})  # type: ignore[typeddict-item]
        for line in metrics
        if line.get("stage") == "induce"
    ]


def fit_curve(metrics: list[dict[str, Any]]) -> list[FitStep]:
    """Give mean log probabilities along fitting."""
    lines = [line for line in metrics if line.get("stage") in STAGES]
    return [
        FitStep(stage=m["stage"], step=m["step"], train=m["train"], dev=m.get("dev")) for m in evenly(lines, POINTS)
    ]


def training_curves(folder: Path) -> dict[str, list[TrainStep]]:
    """Give losses and accuracies on dev of the models that were trained, by system; all tests on dev are kept."""
    curves = {}
    for name, part in FOLDERS.items():
        lines = read_metrics(folder / part)
        kept = {line["step"] for line in evenly(lines, POINTS)} | {line["step"] for line in lines if "dev" in line}
        curves[name] = [TrainStep(step=m["step"], loss=m["loss"], dev=m.get("dev")) for m in lines if m["step"] in kept]
    return {name: curve for name, curve in curves.items() if curve}
