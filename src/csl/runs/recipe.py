"""Recipes: all options of an experiment, in a TOML file (paper, "Hyperparameters").

A recipe has a title and the tables [data], [induction], [fit], [sampling], [train] and [nqg]. With `extends` it starts
from another one: a file beside it, or a built-in recipe. Those of the paper's main table are in the folder
`csl/recipes`. The seed is not of a recipe but of a run.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

import csl
from csl.baselines.geca import GecaConfig
from csl.baselines.nqg.config import NqgFitConfig, NqgInductionConfig
from csl.options import changed, read_toml
from csl.errors import InputError, nearest
from csl.induction.config import InductionConfig
from csl.model.config import FitConfig
from csl.sampling.config import SampleConfig
from csl.seq2seq.config import TrainConfig

RECIPES = Path(csl.__file__).parent / "recipes"
BASE = "base"  # what the recipes of a folder share; none itself
DEV = "dev"  # as unlabelled inputs: those of the dev set
Options = TypeVar("Options", bound=BaseModel)


class DataConfig(BaseModel):
    """A split of a benchmark data set, or files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    set: Annotated[str, Field(description="name of a data set")] = ""
    split: Annotated[str, Field(description="name of its split")] = ""
    train: Annotated[str, Field(description="file of examples, in place of a data set")] = ""
    dev: Annotated[str, Field(description="file of examples")] = ""
    test: Annotated[str, Field(description="file of examples")] = ""
    seeds: Annotated[str, Field(description="file of seed rules")] = ""
    output_cfg: Annotated[str, Field(description="file with a CFG of valid outputs")] = ""

    @property
    def files(self) -> dict[str, Path]:
        """The files by what they are."""
        return {key: Path(value) for key, value in self.model_dump(exclude={"set", "split"}).items() if value}


class FitOptions(FitConfig):
    """The options of fitting, and inputs without outputs to fit to as well."""

    unlabelled: Annotated[str, Field(description="file of inputs that the model labels itself; dev: those of dev")] = ""
    ratio: Annotated[float, Field(ge=0, le=1000, description="labelled inputs to examples")] = 1.0

    @property
    def config(self) -> FitConfig:
        """Those of fitting alone."""
        return FitConfig(**self.model_dump(exclude={"unlabelled", "ratio"}))


class SampleOptions(SampleConfig):
    """The options of sampling, how many pairs, and whether they are from the grammar or made by GECA."""

    number: Annotated[int, Field(ge=1, description="pairs to draw")] = 100_000
    method: Annotated[
        Literal["grammar", "geca"], Field(description="grammar, or geca, of which only unique and window are options")
    ] = "grammar"
    window: Annotated[int, Field(ge=1, le=100, description="tokens of a span that GECA swaps, at most")] = 4

    @property
    def config(self) -> SampleConfig:
        """Those of sampling alone."""
        return SampleConfig(**self.model_dump(exclude={"number", "method", "window"}))

    @property
    def geca(self) -> GecaConfig:
        """Those of GECA."""
        return GecaConfig(window=self.window, unique=self.unique)


class NqgOptions(NqgInductionConfig, NqgFitConfig):
    """The options of NQG, and its encoder; without one, NQG is left out."""

    encoder: Annotated[str, Field(description="a Hugging Face name or folder; none: no NQG")] = ""

    def part(self, kind: type[Options], seed: int) -> Options:
        """Those of induction or of the model, with the seed of a run."""
        return kind(**{**self.model_dump(include={*kind.model_fields}), "seed": seed})


TABLES: dict[str, type[BaseModel]] = {
    "data": DataConfig, "induction": InductionConfig, "fit": FitOptions, "sampling": SampleOptions,
    "train": TrainConfig, "nqg": NqgOptions,
}  # fmt: skip
SEEDED = ("fit", "sampling", "train", "nqg")
FILES = {  # options that name files, and their names in a run folder
    "data.train": "data/train.tsv", "data.dev": "data/dev.tsv", "data.test": "data/test.tsv",
    "data.seeds": "data/seed_rules.txt", "data.output_cfg": "data/output.cfg", "fit.unlabelled": "unlabelled.txt",
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """The options of all stages of an experiment."""

    name: str
    title: str
    data: DataConfig
    induction: InductionConfig
    fit: FitOptions
    sampling: SampleOptions
    train: TrainConfig
    nqg: NqgOptions

    def changed(self, settings: Mapping[str, object]) -> "Recipe":
        """Change options, named as `fit.states`."""
        tables: dict[str, dict[str, object]] = {}
        for name, value in settings.items():
            table, dot, key = name.partition(".")
            if not dot or table not in TABLES:
                raise InputError(f"no option {name!r}; {nearest(_full_name(name), _options())}")
            tables.setdefault(table, {})[key] = value
        return _checked(self._with(tables, Path.cwd()))

    def option(self, name: str) -> object:
        """Return the value of an option, named as `fit.states`."""
        table, _, key = name.partition(".")
        return getattr(getattr(self, table), key)

    def _with(self, tables: Mapping[str, Mapping[str, object]], folder: Path, path: Path | None = None) -> "Recipe":
        """Return the recipe with options changed; files are in this folder."""
        new: dict[str, Any] = {}
        for table, given in tables.items():
            values, config = dict(given), getattr(self, table)
            if "seed" in values and table in SEEDED:
                raise InputError(f"{table}.seed: seeds are of runs, not of recipes; choose one with --seed", path)
            for key, value in given.items():
                if f"{table}.{key}" in FILES and value and isinstance(value, str) and (table, value) != ("fit", DEV):
                    values[key] = os.path.normpath(folder / value)
            new[table] = changed(config, values, path)
        return replace(self, **new)

    def to_toml(self) -> str:
        """Write all options as TOML, with files as a run folder has them."""
        lines = [f"title = {_literal(self.title)}"]
        for table, config in TABLES.items():
            lines += ["", f"[{table}]"]
            for key, field in config.model_fields.items():
                value = getattr(getattr(self, table), key)
                if value is None or value == field.default == "" or (key == "seed" and table in SEEDED):
                    continue
                own = FILES.get(f"{table}.{key}") if (table, value) != ("fit", DEV) else None
                lines.append(f"{key} = {_literal(own or value)}")
        return "\n".join(lines) + "\n"


EMPTY = Recipe("", "", DataConfig(), InductionConfig(), FitOptions(), SampleOptions(), TrainConfig(), NqgOptions())


def _options() -> list[str]:
    return [f"{table}.{key}" for table, config in TABLES.items() for key in config.model_fields]


def _full_name(key: str) -> str:
    """Give `states` the name of the table that has it."""
    return next((name for name in _options() if name.endswith(f".{key}")), key)


def _literal(value: object) -> str:
    """Write a value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escapes = {c: f"\\u{c:04x}" for c in (*range(32), 127)} | {ord('"'): '\\"', ord("\\"): "\\\\"}
        return f'"{value.translate(escapes)}"'
    return repr(value)


def recipe_names() -> list[str]:
    """List the built-in recipes."""
    paths = sorted(RECIPES.rglob("*.toml"))
    return [path.relative_to(RECIPES).with_suffix("").as_posix() for path in paths if path.stem != BASE]


def read_recipe(name: str) -> Recipe:
    """Read a recipe: a built-in one by name, or a file that ends in .toml."""
    path = Path(name)
    if path.suffix == ".toml":
        name = path.stem  # also that of the folder of its runs
        if name in (".", ".."):
            raise InputError("a recipe needs a name before .toml", path)
    elif name in recipe_names():
        path = RECIPES / f"{name}.toml"
    else:
        raise InputError(f"no recipe {name!r}, and files end in .toml; {nearest(name, recipe_names())}")
    recipe = _read(path, ())
    return _checked(replace(recipe, name=name, title=recipe.title or name), path)


def _checked(recipe: Recipe, path: Path | None = None) -> Recipe:
    """Refuse options that contradict each other; a temperature means strategy tempered."""
    data, sampling = recipe.data, recipe.sampling
    if data.set and data.files:
        raise InputError(f"[data] names the set {data.set!r} and files; leave one of them out", path)
    if not (data.train or (data.set and data.split)):
        raise InputError('[data] names no data; give set and split, or train = "FILE"', path)
    if sampling.temperature == 1 or sampling.strategy == "tempered":
        return recipe
    if sampling.strategy != "model":
        raise InputError(f"a temperature has no effect on strategy {sampling.strategy}; leave one of them out", path)
    return replace(recipe, sampling=changed(sampling, {"strategy": "tempered"}))


def _read(path: Path, above: tuple[Path, ...]) -> Recipe:
    """Read a file on top of what it extends."""
    if path.resolve() in above:
        raise InputError("extends itself; remove one `extends`", path)
    values = read_toml(path)
    for key, value in values.items():
        if key not in (known := ("title", "extends", *TABLES)):
            raise InputError(f"no table or option {key!r} here; {nearest(key, known)}", path)
        if not isinstance(value, dict if key in TABLES else str):
            raise InputError(f"`{key}` is not a {'table' if key in TABLES else 'text'}", path)
    recipe = EMPTY
    if extends := values.pop("extends", None):
        recipe = _read(_find(extends, path), (*above, path.resolve()))
    title = values.pop("title", "")  # not that of what it extends: it is something else
    return replace(recipe._with(values, path.parent, path), title=title)


def _find(extends: str, path: Path) -> Path:
    """Find what a recipe extends: a file beside it, or a built-in recipe."""
    name = f"{extends.removesuffix('.toml')}.toml"
    for folder in (path.parent, RECIPES):
        if os.path.exists(folder / name):  # unlike Path.exists, False for a name that no file can have
            return folder / name
    raise InputError(f"extends {extends!r}, which is no file beside it; {nearest(extends, recipe_names())}", path)
