"""Recipes: all options of a run, as a value and as a TOML file (paper, "Hyperparameters").

A recipe has a title and the tables [data], [induction], [fit], [sampling], [merge], [train], [reword] and [nqg]. A
table may name a `preset` to start from; with `extends` a recipe starts from another one: a file beside it, or a
built-in recipe. Those of the paper's main table are in the folder `csl/recipes`, with our options; `paper/NAME` is NAME
with the options of `csl/recipes/paper` on top: exactly the paper's. Recipe files have no seeds: a seed belongs to a
run.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import tomli_w
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

import csl
from csl.baselines.config import GecaConfig
from csl.baselines.nqg.config import NqgFitConfig, NqgInductionConfig
from csl.errors import InputError, nearest
from csl.induction import config as induction
from csl.model import config as fitting
from csl.options import changed, find_preset, read_toml
from csl.sampling import config as sampling
from csl.seq2seq.config import TrainConfig

RECIPES = Path(csl.__file__).parent / "recipes"
BASE = "base"  # what the recipes of a folder share; not a recipe itself
PAPER = "paper/"  # before the name of a built-in recipe: with the options of the paper
AUTO = "auto"  # a preset: options are chosen when the examples are known
DEV = "dev"  # as unlabelled inputs: those of the dev set
Options = TypeVar("Options", bound=BaseModel)

Files = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
Preset = Annotated[str, Field(description="auto: choose what is not given by looking at the examples")]


class DataOptions(BaseModel):
    """A split of a benchmark data set, or files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    set: Annotated[str, Field(description="name of a data set")] = ""
    split: Annotated[str, Field(description="name of its split, or of that of a Hugging Face dataset")] = ""
    train: Annotated[str, Field(description="file of examples, in place of a data set")] = ""
    dev: Annotated[str, Field(description="file of examples")] = ""
    test: Annotated[str, Field(description="file of examples")] = ""
    synthetic: Annotated[Files, Field(description="files of synthetic examples, for `csl train`")] = ()
    labelled: Annotated[Files, Field(description="files of inputs that a system labelled, for `csl train`")] = ()
    seed_rules: Annotated[Files, Field(description="files of seed rules")] = ()
    output_cfg: Annotated[str, Field(description="file with a CFG of valid outputs")] = ""
    decoding: Annotated[str, Field(description="Lark grammar of valid outputs, for `csl predict`")] = ""
    values: Annotated[str, Field(description="file with more values, by type")] = ""
    format: Annotated[str, Field(description="format of the files; none: seen from them")] = ""
    input_column: Annotated[str, Field(description="the column with the input; none: seen from the file")] = ""
    output_column: Annotated[str, Field(description="the column with the output; none: seen from the file")] = ""
    skip_bad: Annotated[bool, Field(description="leave out rows that cannot be read")] = False
    language: Annotated[str, Field(description="of the outputs; none given: seen from them; `none`: prepared")] = ""
    keep_case: Annotated[bool, Field(description="do capitals in inputs matter?")] = False

    @property
    def files(self) -> dict[str, tuple[Path, ...]]:
        """The files by what they are."""
        names = ("train", "dev", "test", "synthetic", "labelled", "seed_rules", "output_cfg", "decoding", "values")
        found = {key: getattr(self, key) for key in names}
        return {
            key: (Path(value),) if isinstance(value, str) else tuple(map(Path, value))
            for key, value in found.items()
            if value
        }


class InductionOptions(induction.InductionConfig):
    """The options of induction."""

    preset: Preset = ""


class FitOptions(fitting.FitConfig):
    """The options of fitting, and inputs without outputs to fit to as well."""

    preset: Preset = ""
    unlabelled: Annotated[str, Field(description="file of inputs that the model labels itself; dev: those of dev")] = ""
    ratio: Annotated[float, Field(ge=0, le=1000, description="labelled inputs to examples")] = 1.0
    refit_restarts: Annotated[
        int, Field(ge=1, le=1000, description="fits with the labelled inputs, at least; the likeliest counts")
    ] = 5


class SampleOptions(sampling.SampleConfig):
    """The options of sampling, how many pairs, and whether they are drawn from the grammar or made by GECA."""

    preset: Annotated[str, Field(description="auto: the options for data of any kind")] = ""
    number: Annotated[int, Field(ge=1, le=10**12, description="pairs to draw")] = 100_000
    provenance: Annotated[bool, Field(description="add columns: the derivation, and parent examples")] = False
    force: Annotated[bool, Field(description="draw pairs even if the check says that they would do harm")] = False
    method: Annotated[
        Literal["grammar", "geca"], Field(description="grammar, or geca, of which only unique and window are options")
    ] = "grammar"
    window: Annotated[int, Field(ge=1, le=100, description="tokens of a span that GECA swaps, at most")] = 4

    def for_strategy(self, strategy: object) -> "SampleOptions":
        """Start from the defaults if another strategy is asked for than that of auto."""
        if self.preset != AUTO or strategy in (None, self.strategy):
            return self
        own = SampleOptions.model_fields.keys() - sampling.SampleConfig.model_fields.keys() - {"preset"}
        return SampleOptions(**self.model_dump(include={*own, "unique", "new", "seed"}, exclude_unset=True))

    @property
    def geca(self) -> GecaConfig:
        """The options of GECA."""
        return GecaConfig(window=self.window, unique=self.unique, seed=self.seed)


class MergeOptions(BaseModel):
    """The options of the augmented training set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: Annotated[bool, Field(description="each pair once, with a weight, instead of copies")] = False
    format: Annotated[str, Field(description="tsv, csv, jsonl, chat, prompt-completion or parquet; none: as read")] = ""


class RewordOptions(BaseModel):
    """The options of wording synthetic programs anew."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    number: Annotated[int, Field(ge=1, le=10**9, description="programs to word, at most")] = 10_000
    wordings: Annotated[int, Field(ge=1, le=100, description="of each program: the best of as many beams")] = 4
    check: Annotated[bool, Field(description="keep only wordings that are read as their program")] = True
    model: Annotated[
        str, Field(description="folder of a model of `csl train` that reads wordings too; none: only the parser")
    ] = ""


class NqgOptions(NqgInductionConfig, NqgFitConfig):
    """The options of NQG, and its encoder; without one, `csl run` leaves NQG out."""

    encoder: Annotated[str, Field(description="a Hugging Face name or folder; none: no NQG")] = ""


def only(kind: type[Options], options: BaseModel) -> Options:
    """Give the part of some options that a config class has."""
    return kind(**options.model_dump(include={*kind.model_fields}, exclude_unset=True))


READING = ("format", "input_column", "output_column", "split", "skip_bad")  # not needed for copies in a run folder
SEEDED = ("fit", "sampling", "train", "nqg")
FILES = {  # options that name files, and their names in a run folder
    "data.train": "data/train.tsv", "data.dev": "data/dev.tsv", "data.test": "data/test.tsv",
    "data.synthetic": "data/synthetic.tsv", "data.labelled": "data/labelled.tsv",
    "data.seed_rules": "data/seed_rules.txt", "data.output_cfg": "data/output.cfg", "data.values": "data/values.tsv",
    "fit.unlabelled": "unlabelled.txt",
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """The options of all stages of a run."""

    name: str = ""
    title: str = ""
    data: DataOptions = DataOptions()
    induction: InductionOptions = InductionOptions()
    fit: FitOptions = FitOptions()
    sampling: SampleOptions = SampleOptions()
    merge: MergeOptions = MergeOptions()
    train: TrainConfig = TrainConfig()
    reword: RewordOptions = RewordOptions()
    nqg: NqgOptions = NqgOptions()

    def changed(self, settings: Mapping[str, object], path: Path | str | None = None) -> "Recipe":
        """Change options, named as `fit.states`."""
        tables: dict[str, dict[str, object]] = {}
        for name, value in settings.items():
            table, dot, key = name.partition(".")
            if not dot or table not in TABLES:
                raise InputError(f"no option {name!r}; {nearest(_full_name(name), option_names())}", path)
            if key == "seed" and table in SEEDED:
                raise InputError(f"{name}: a seed belongs to a run; choose it with --seed", path)
            tables.setdefault(table, {})[key] = value
        return self.with_tables(tables, path=path).checked(path)

    def with_preset(self, name: str) -> "Recipe":
        """Start the options of grammar, model and samples from a preset."""
        return self.with_tables({table: {"preset": name} for table in PRESETS})

    def seeded(self, seed: int) -> "Recipe":
        """Give the recipe the seed of a run."""
        return replace(self, **{name: changed(getattr(self, name), {"seed": seed}) for name in SEEDED})

    def option(self, name: str) -> object:
        """Return the value of an option, named as `fit.states`."""
        table, _, key = name.partition(".")
        return getattr(getattr(self, table), key)

    def with_tables(
        self, tables: Mapping[str, Mapping[str, object]], folder: Path = Path(), path: Path | str | None = None
    ) -> "Recipe":
        """Change options, by table; files are in this folder."""
        new: dict[str, Any] = {}
        for table, given in tables.items():
            values = {key: _located(f"{table}.{key}", value, folder) for key, value in given.items()}
            config = getattr(self, table)
            if "preset" in values and table in PRESETS:
                config = PRESETS[table](str(values.pop("preset")))
            if table == "sampling":
                config = config.for_strategy(values.get("strategy"))
            new[table] = changed(config, values, path)
        return replace(self, **new)

    def checked(self, path: Path | str | None = None) -> "Recipe":
        """Refuse options that contradict each other; a temperature means strategy tempered."""
        data, drawing = self.data, self.sampling
        if data.set and data.files:
            raise InputError(f"[data] names the set {data.set!r} and files; leave one of them out", path)
        if drawing.temperature != 1 and drawing.strategy == "model":
            drawing = changed(drawing, {"strategy": "tempered"})
        try:
            drawing.check()
        except InputError as error:
            raise InputError(str(error), path) from error
        return replace(self, sampling=drawing)

    def to_toml(self) -> str:
        """Write all options as TOML, with files as a run folder has them."""
        tables: dict[str, Any] = {"title": self.title}
        for table, kind in TABLES.items():
            config = getattr(self, table)
            if table == "data" and not self.data.set:
                config = config.model_copy(update={name: kind.model_fields[name].default for name in READING})
            chosen_later = getattr(config, "preset", "") == AUTO
            values = config.model_dump(exclude_unset=chosen_later)
            if table in SEEDED:
                values.pop("seed", None)
            for key, value in values.items():
                if value and f"{table}.{key}" in FILES and (table, value) != ("fit", DEV):
                    values[key] = FILES[f"{table}.{key}"]
            tables[table] = {
                key: value
                for key, value in values.items()
                if value is not None and not (value in ("", ()) and value == kind.model_fields[key].default)
            }
        return tomli_w.dumps(tables)


TABLES: dict[str, type[BaseModel]] = {
    field.name: type(field.default) for field in fields(Recipe) if isinstance(field.default, BaseModel)
}


def _located(name: str, value: object, folder: Path) -> object:
    """Find the files that an option names."""
    if name not in FILES or not value or (name, value) == ("fit.unlabelled", DEV):
        return value
    if isinstance(value, list | tuple):
        return tuple(_located(name, item, folder) for item in value)
    return os.path.normpath(folder / value) if isinstance(value, str) else value


def _start(kind: type[BaseModel], presets: Mapping[str, BaseModel]) -> Callable[[str], BaseModel]:
    """Start from a preset; with auto, what the preset leaves open is chosen when the examples are known."""

    def start(name: str) -> BaseModel:
        known = (
            {}
            if name == AUTO and kind is not SampleOptions
            else find_preset(presets, name).model_dump(exclude_unset=True)
        )
        return kind(**known, preset=AUTO) if name == AUTO else kind(**known)

    return start


PRESETS = {
    "induction": _start(InductionOptions, induction.PRESETS),
    "fit": _start(FitOptions, fitting.PRESETS),
    "sampling": _start(SampleOptions, sampling.PRESETS),
}


def option_names() -> list[str]:
    """List all options, named as `fit.states`."""
    return [f"{table}.{key}" for table, config in TABLES.items() for key in config.model_fields]


def _full_name(key: str) -> str:
    """Give `states` the name of the table that has it."""
    return next((name for name in option_names() if name.endswith(f".{key}")), key)


def recipe_names() -> list[str]:
    """List the built-in recipes: those with our options, and those with the paper's."""
    paths = (path.relative_to(RECIPES).with_suffix("") for path in sorted(RECIPES.rglob("*.toml")))
    own = [path.as_posix() for path in paths if path.name != BASE and not path.as_posix().startswith(PAPER)]
    return [*own, *(f"{PAPER}{name}" for name in own)]


def read_recipe(name: str) -> Recipe:
    """Read a recipe: a built-in one by name, or a file that ends in .toml."""
    path = Path(name)
    if path.suffix == ".toml":
        name = path.stem  # also that of the folder of its runs
        if name in (".", ".."):
            raise InputError("a recipe needs a name before .toml", path)
        recipe = _read(path)
    elif name in recipe_names():
        recipe = _built_in(name)
    else:
        raise InputError(f"no recipe {name!r}, and files end in .toml; {nearest(name, recipe_names())}")
    if not (recipe.data.train or (recipe.data.set and recipe.data.split)):
        raise InputError('[data] names no data; give set and split, or train = "FILE"', path)
    return replace(recipe, name=name, title=recipe.title or name).checked(path)


def _built_in(name: str) -> Recipe:
    """Read a built-in recipe, or what the recipes of a folder share."""
    ours = name.removeprefix(PAPER)
    recipe = _read(RECIPES / f"{ours}.toml")
    if ours == name:
        return recipe
    paper = _read(RECIPES / PAPER / f"{Path(ours).parent}.toml", start=recipe)
    return replace(paper, title=f"{recipe.title}, as in the paper")


def _read(path: Path, above: tuple[Path, ...] = (), start: Recipe | None = None) -> Recipe:
    """Read a file on top of what it extends; the last of those is read on top of `start`."""
    if path.resolve() in above:
        raise InputError("extends itself; remove one `extends`", path)
    values = read_toml(path)
    for key, value in values.items():
        if key not in (known := ("title", "extends", *TABLES)):
            raise InputError(f"no table or option {key!r} here; {nearest(key, known)}", path)
        if not isinstance(value, dict if key in TABLES else str):
            raise InputError(f"`{key}` is not a {'table' if key in TABLES else 'text'}", path)
        if key in SEEDED and "seed" in value:
            raise InputError(f"{key}.seed: a seed belongs to a run, not to a recipe; choose it with --seed", path)
    recipe = start or Recipe()
    if extends := values.pop("extends", None):
        name = extends.removesuffix(".toml")
        beside, built_in = (folder / f"{name}.toml" for folder in (path.parent, RECIPES))
        if os.path.exists(beside):  # unlike Path.exists, False for a name that no file can have
            recipe = _read(beside, (*above, path.resolve()), start)
        elif name in recipe_names() or (built_in.stem == BASE and os.path.exists(built_in)):
            recipe = _built_in(name)
        else:
            raise InputError(f"extends {extends!r}, which is no file beside it; {nearest(name, recipe_names())}", path)
    title = values.pop("title", "")  # not that of what it extends: it is something else
    return replace(recipe.with_tables(values, path.parent, path), title=title)
