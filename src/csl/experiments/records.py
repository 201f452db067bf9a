"""What runs say of themselves, as far as tables need it: the `run.json` of their folders, checked."""

from collections.abc import Iterable
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, NonNegativeInt, ValidationError

from csl.errors import InputError
from csl.files import read_json
from csl.runs.recipe import Recipe, read_recipe
from csl.experiments.experiment import find_runs
from csl.runs.folder import RECORD as RUN

Figures = TypeVar("Figures")


class Counts(BaseModel):
    """How many examples there are, how many get an output from a system, and for how many it is right."""

    examples: NonNegativeInt
    answered: NonNegativeInt
    right: NonNegativeInt


class Score(Counts):
    """Counts of all test examples, and by category."""

    groups: dict[str, Counts] = {}


class Parts(BaseModel):
    """The test examples that CSL covers and the others: how many (`examples`), and how many each system has right."""

    covered: dict[str, int]
    others: dict[str, int]


class Breakdown(Parts):
    """The parts of all test examples, and by category."""

    groups: dict[str, Parts] = {}


class Likelihood(BaseModel):
    """Mean log probabilities of the pairs that the grammar derives."""

    log_p_xy: float | None
    log_p_y_given_x: float | None


class Fitted(BaseModel):
    """The figures of fitting."""

    states: int


class Evaluated(BaseModel):
    """The figures of evaluation."""

    systems: dict[str, Score] = {}
    breakdown: Breakdown | None = None
    parts: dict[str, Likelihood] = {}  # train, dev, test


class Stage(BaseModel, Generic[Figures]):
    """A stage that was done."""

    figures: Figures


class Stages(BaseModel):
    """The stages whose figures tables show."""

    fit: Stage[Fitted] | None = None
    evaluate: Stage[Evaluated] | None = None


class Run(BaseModel):
    """A run: its folder, and what tables need of its `run.json`."""

    folder: Path
    recipe: str
    title: str
    seed: int
    settings: dict[str, object] = {}  # what was changed over the recipe
    stages: Stages

    @property
    def evaluated(self) -> Evaluated:
        """The figures of evaluation; none before that is done."""
        return self.stages.evaluate.figures if self.stages.evaluate else Evaluated()

    @property
    def options(self) -> Recipe:
        """All options of the run: its own recipe, with what was changed."""
        return read_recipe(str(self.folder / "recipe.toml"))


def read_runs(paths: Iterable[Path]) -> list[Run]:
    """Read the runs in folders: each a run folder, or one with run folders at any depth."""
    folders: dict[Path, Path] = {}  # a run that is named twice counts once
    for path in paths:
        found = [folder for folder in find_runs(path) if (folder / RUN).exists()]
        if not found:
            raise InputError(f"holds no {RUN}, at any depth; name a folder that `csl run` made", path)
        folders.update((folder.resolve(), folder) for folder in found)
    return [_read(folder) for folder in folders.values()]


def _read(folder: Path) -> Run:
    path = folder / RUN
    try:
        record = read_json(path)
        return Run.model_validate({**record, "folder": folder})
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"
        raise InputError(f"not as `csl run` writes it: {reason}", path) from error
    except (ValueError, TypeError) as error:
        raise InputError(f"not as `csl run` writes it: {error}", path) from error
