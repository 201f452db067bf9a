"""What tables read of runs: the `run.json` of their folders, checked."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from pydantic import AliasPath, BaseModel, Field, NonNegativeInt, ValidationError

from csl.errors import InputError
from csl.examples import score
from csl.experiments.experiment import find_runs
from csl.files import read_json
from csl.model.config import Inference
from csl.runs.folder import RECORD
from csl.runs.recipe import PAPER, Recipe, option_names, read_recipe, recipe_names


class Counts(BaseModel):
    """How many examples there are, how many get an output from a system, and how many a correct one."""

    examples: NonNegativeInt
    answered: NonNegativeInt
    right: NonNegativeInt


class Score(Counts):
    """Counts of all test examples, and by category."""

    groups: dict[str, Counts] = {}


class Breakdown(BaseModel):
    """Counts of the inputs that CSL covers and of the others (`csl.examples.score.Breakdown`), and by category."""

    covered: dict[str, int]
    others: dict[str, int]
    groups: dict[str, score.Breakdown] = {}


def _figure(stage: str, key: str) -> AliasPath:
    """Name a figure of a stage; without the stage it has its default."""
    return AliasPath("stages", stage, "figures", key)


class Run(BaseModel):
    """A run: its folder, and what tables need of its `run.json`."""

    folder: Path
    recipe: str
    title: str
    seed: int
    settings: dict[str, object] = {}  # what was changed over the recipe
    rules: int | None = Field(None, validation_alias=_figure("induce", "rules"))
    closed: int = Field(0, validation_alias=_figure("induce", "arities"))  # rules without nonterminals
    induction_seconds: float | None = Field(None, validation_alias=AliasPath("stages", "induce", "seconds"))
    states: int = Field(0, validation_alias=_figure("fit", "states"))
    parameters: int | None = Field(None, validation_alias=_figure("fit", "parameters"))
    distinct: int | None = Field(None, validation_alias=_figure("sample", "distinct"))
    new: int | None = Field(None, validation_alias=_figure("sample", "new"))
    categories: dict[str, int] = Field({}, validation_alias=_figure("sample", "categories"))
    nqg_rules: int | None = Field(None, validation_alias=_figure("nqg", "rules"))
    nqg_closed: int = Field(0, validation_alias=_figure("nqg", "arities"))
    nqg_seconds: float | None = Field(None, validation_alias=AliasPath("stages", "nqg", "seconds"))
    nqg_parameters: int | None = Field(None, validation_alias=_figure("nqg_fit", "parameters"))
    t5_dev: float | None = Field(None, validation_alias=_figure("plain", "dev"))
    augmented_dev: float | None = Field(None, validation_alias=_figure("augmented", "dev"))
    systems: dict[str, Score] | None = Field(None, validation_alias=_figure("evaluate", "systems"))
    parts: dict[str, dict[str, float | None]] = Field({}, validation_alias=_figure("evaluate", "parts"))
    inference: Inference | None = Field(None, validation_alias=_figure("evaluate", "inference"))
    breakdown: Breakdown | None = Field(None, validation_alias=_figure("evaluate", "breakdown"))

    @cached_property
    def changes(self) -> dict[str, object]:
        """The settings that differ from the recipe, where that is a built-in one."""
        if self.recipe not in recipe_names():
            return self.settings
        recipe, known = read_recipe(self.recipe), {*option_names()}
        return {key: value for key, value in self.settings.items() if key not in known or recipe.option(key) != value}

    @property
    def split(self) -> str:
        """The recipe, whether with our options or with the paper's."""
        return self.recipe.removeprefix(PAPER)

    @property
    def as_in_paper(self) -> bool:
        """Whether the recipe has the paper's options."""
        return self.recipe.startswith(PAPER)

    def counts(self, system: str, category: str = "") -> Counts | None:
        """Give the counts of a system, over all test examples or those of a category; None if there are none."""
        score = (self.systems or {}).get(system)
        return score.groups.get(category) if score and category else score

    def share(self, system: str, count: str = "right") -> float | None:
        """Give the share of the test examples that a system has correct, or has `answered`."""
        found = self.counts(system)
        return getattr(found, count) / max(1, found.examples) if found else None

    def part_share(self, part: str, count: str = "right") -> float | None:
        """Give the share of a part of the data that CSL has correct, or `derivable`."""
        found = self.parts.get(part, {})
        many, examples = found.get(count), found.get("examples")
        return None if many is None or not examples else many / examples

    def log_prob(self, part: str, key: str) -> float | None:
        """Give the mean log probability, `log_p_xy` or `log_p_y_given_x`, of the pairs that the grammar derives."""
        return self.parts.get(part, {}).get(key)

    @property
    def options(self) -> Recipe:
        """All options of the run: its own recipe, with what was changed."""
        return read_recipe(str(self.folder / "recipe.toml"))


def read_runs(paths: Iterable[Path]) -> list[Run]:
    """Read the runs in folders: each a run folder, or one with run folders at any depth."""
    folders: dict[Path, Path] = {}  # a run that is named twice counts once
    for path in paths:
        found = [folder for folder in find_runs(path) if (folder / RECORD).exists()]
        if not found:
            raise InputError(f"has no {RECORD} at any depth; give a folder that `csl run` made", path)
        folders.update((folder.resolve(), folder) for folder in found)
    return [_read(folder) for folder in folders.values()]


def _read(folder: Path) -> Run:
    path = folder / RECORD
    try:
        return Run.model_validate({**read_json(path), "folder": folder})
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"
        raise InputError(f"not as `csl run` writes it: {reason}", path) from error
    except (ValueError, TypeError) as error:
        raise InputError(f"not as `csl run` writes it: {error}", path) from error
