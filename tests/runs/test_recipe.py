"""Recipes: the built-in ones say what the paper and the presets say; files of one's own are read with care."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.baselines.nqg import config as nqg
from csl.datasets.registry import DATA_SETS
from csl.errors import InputError
from csl.induction import config as induction
from csl.model import config as fitting
from csl.runs.recipe import RECIPES, Recipe, only, read_recipe, recipe_names
from csl.sampling import config as sampling

PRESET = {"smcalflow-cs": "smcalflow", "smcalflow-cs-fifth": "smcalflow"}
PAPER = {  # table and text of "Hyperparameters"; the published system where they are silent
    "scan": {
        "induction": {"k_alpha": 0, "k_beta": 100, "k_t": 4, "partitions": 16, "lone_target": True},
        "fit": {"states": 2, "restarts": 1},
        "sampling": {"max_depth": 5},
        "train": {"learning_rate": 1e-3},
    },
    "cogs": {
        "induction": {"k_alpha": 1, "k_beta": 5, "k_t": 8, "partitions": 1, "lone_target": True, "steps": 8},
        "fit": {"inference": "paper"},
        "sampling": {"max_depth": 20, "depth_bias": 6, "bias_above": 1},
        "train": {"learning_rate": 1e-4},
    },
    "geoquery": {
        "induction": {"k_alpha": 4, "k_beta": 16, "k_t": 8, "partitions": 1, "lone_target": False, "frame": False},
        "fit": {"inference": "paper"},
        "sampling": {"max_depth": 20},
        "train": {"learning_rate": 1e-4},
    },
    "smcalflow-cs": {
        "induction": {"k_alpha": 4, "k_beta": 16, "k_t": 8, "partitions": 1, "lone_target": False},
        "fit": {"inference": "paper", "denominator": "batch"},
        "sampling": {"max_depth": 10},
        "train": {"learning_rate": 1e-3},
    },
}
DRAWS = {
    "number": 100_000, "strategy": "forward", "depths": "model", "depth_bias": 0, "min_depth": 1, "temperature": 1,
    "output_power": 1,
}  # fmt: skip
T5 = {
    "model": "google-t5/t5-base", "optimizer": "adafactor", "schedule": "constant", "warmup": 0, "steps": 10_000,
    "batch_size": 128, "max_source": 512, "max_target": 256, "synthetic": 0.5,
}  # fmt: skip


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def refused(name: str) -> str:
    with pytest.raises(InputError) as error:
        read_recipe(name)
    assert "\n" not in str(error.value)
    return str(error.value)


NO_RECIPE = ("test",)  # COGS in distribution
OWN = [name for name in recipe_names() if not name.startswith("paper/")]


def test_every_split_of_the_paper_and_of_our_own_has_a_recipe_with_our_options_and_the_papers() -> None:
    splits = {name: [s for s in known.splits if s not in NO_RECIPE] for name, known in DATA_SETS.items()}
    assert set(OWN) == {f"{name}/{split}" for name in splits for split in splits[name]}
    assert recipe_names() == [*OWN, *(f"paper/{name}" for name in OWN)]
    for name in OWN:
        ours, paper = read_recipe(name), read_recipe(f"paper/{name}")
        assert f"{ours.data.set}/{ours.data.split}" == ours.name == name
        assert ours.title != name
        assert (paper.name, paper.title, paper.data) == (f"paper/{name}", f"{ours.title}, as in the paper", ours.data)


@pytest.mark.parametrize("name", OWN)
def test_a_recipe_has_the_options_of_its_preset(name: str) -> None:
    recipe = read_recipe(name)
    preset = PRESET.get(recipe.data.set, recipe.data.set)
    search = "deep" if name.startswith("scan/") and name.endswith("right") else induction.PRESETS[preset].search
    assert only(induction.InductionConfig, recipe.induction) == induction.PRESETS[preset].model_copy(
        update={"search": search}
    )
    own = {"states": 4, "restarts": 1} if name in ("scan/mcd1", "scan/mcd3") else {}
    assert only(fitting.FitConfig, recipe.fit) == fitting.PRESETS[preset].model_copy(update=own)
    assert only(sampling.SampleConfig, recipe.sampling) == sampling.PRESETS[preset]
    assert recipe.fit.unlabelled == ""
    nqg_preset = nqg.PRESETS.get(preset, nqg.NqgInductionConfig())
    assert only(nqg.NqgInductionConfig, recipe.nqg) == nqg_preset
    assert only(nqg.NqgFitConfig, recipe.nqg) == nqg.NqgFitConfig()
    assert recipe.nqg.encoder == ""


def of_paper(folder: str) -> dict[str, dict[str, object]]:
    """All options that the paper or the published system tell, by table."""
    common = {
        "train": T5,
        "sampling": DRAWS,
        "fit": {"restarts": 1, "refit_restarts": 1, "batch_size": 256},
        "induction": {},
    }
    return {table: options | PAPER[folder].get(table, {}) for table, options in common.items()}


@pytest.mark.parametrize("folder", PAPER)
def test_what_is_not_of_the_paper_is_marked_as_ours(folder: str) -> None:
    path = RECIPES / folder / "base.toml"
    values, text = tomllib.loads(path.read_text("utf-8")), path.read_text("utf-8")
    recipe = read_recipe(next(name for name in OWN if name.startswith(f"{folder}/")))
    differ = {
        key for table, options in of_paper(folder).items() for key, value in options.items()
        if getattr(getattr(recipe, table), key) != value
    }  # fmt: skip
    marked = set(re.findall(r"^(\w+) = .*# ours: ", text, re.MULTILINE))
    hidden = {"depth_bias", "min_depth", "refit_restarts"}  # not written where they are the default
    assert differ - hidden == marked
    assert not [key for table in ("induction", "fit", "sampling", "train") for key in values[table] if key == "seed"]


@pytest.mark.parametrize("name", [name for name in recipe_names() if name.startswith("paper/")])
def test_a_recipe_of_the_paper_has_its_options(name: str) -> None:
    recipe, folder = read_recipe(name), name.split("/")[1].removesuffix("-fifth")
    wanted = of_paper(folder)
    if name in ("paper/scan/mcd1", "paper/scan/mcd3"):
        wanted["fit"]["states"] = 4
    for table, options in wanted.items():
        assert getattr(recipe, table).model_dump(include={*options}) == options


def test_an_unknown_recipe_is_answered_with_the_nearest() -> None:
    assert "did you mean 'geoquery/length'?" in refused("geoquery/lenght")
    assert ".toml" in refused("geoquery/lenght")
    assert "no recipe" in refused("scan/base")


def test_a_recipe_extends_a_file_beside_it_or_a_built_in_one(tmp_path: Path) -> None:
    write(tmp_path, "mine.toml", 'extends = "geoquery/length"\ntitle = "Mine"\n[fit]\nstates = 8\n')
    mine = read_recipe(str(tmp_path / "mine.toml"))
    length = read_recipe("geoquery/length")
    assert mine == replace(length, name="mine", title="Mine", fit=mine.fit)
    assert mine.fit.states == 8
    assert mine.fit.steps == length.fit.steps
    paper = read_recipe(write(tmp_path, "paper.toml", 'extends = "paper/geoquery/length"\n'))
    assert paper == replace(read_recipe("paper/geoquery/length"), name="paper", title="paper")
    other = read_recipe(write(tmp_path, "other.toml", 'extends = "mine"\n[fit]\nsteps = 3\n'))
    assert (other.title, other.fit.states, other.fit.steps) == ("other", 8, 3)


def test_files_are_beside_the_recipe_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write(tmp_path, "base.toml", '[data]\ntrain = "train.tsv"\n[fit]\nunlabelled = "inputs.txt"\n')
    recipe = read_recipe(write(tmp_path / "below", "mine.toml", 'extends = "../base"\n[data]\ntest = "test.tsv"\n'))
    assert recipe.data.files == {"train": (tmp_path / "train.tsv",), "test": (tmp_path / "below" / "test.tsv",)}
    assert recipe.fit.unlabelled == str(tmp_path / "inputs.txt")
    assert recipe.changed({"fit.unlabelled": "dev"}).fit.unlabelled == "dev"


DATA = '[data]\ntrain = "train.tsv"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{DATA}[fti]\nstates = 2\n", "'fti' here; did you mean 'fit'?"),
        (f"{DATA}[fit]\nstaets = 2\n", "no option 'staets'; did you mean 'states'?"),
        (f"{DATA}[fit]\nstates = 0\n", "states = 0"),
        (f"{DATA}[fit]\nbatch_size = 2147483648\n", "batch_size = 2147483648"),
        (f"{DATA}[fit]\nlearning_rate = 1e6\n", "learning_rate = 1000000.0"),
        (f"{DATA}[fit]\nmax_units = 9223372036854775808\n", "max_units"),
        (f"{DATA}[sampling]\nmax_length = 9223372036854775808\n", "max_length"),
        (f"{DATA}[fit]\nseed = 1\n", "--seed"),
        (f"fit = 3\n{DATA}", "`fit` is not a table"),
        (f"title = 3\n{DATA}", "`title` is not a text"),
        (f'extends = "scan/jmup"\n{DATA}', "did you mean 'scan/jump'?"),
        (f'extends = "mine"\n{DATA}', "extends itself"),
        ("[fit]\nstates = 2\n", "names no data"),
        ('[data]\nset = "scan"\n', "names no data"),
        (f'{DATA}set = "scan"\nsplit = "jump"\n', "and files"),
        (f'{DATA}[sampling]\nstrategy = "uniform"\ntemperature = 2\n', "uniform"),
        ("[data\n", "not valid TOML"),
        ("[data]\ntrain = " + "[" * 3000, "not valid TOML: nested too deeply"),
        ("[data]\ntrain = 3\n", "train = 3"),
        (f'extends = "{"x" * 300}"\n{DATA}', "no file beside it"),
    ],
)
def test_a_wrong_recipe_is_refused_in_a_line_that_names_the_file(tmp_path: Path, text: str, words: str) -> None:
    path = write(tmp_path, "mine.toml", text)
    message = refused(path)
    assert message.startswith(f"{path}: ")
    assert words in message


def test_a_name_that_leads_out_of_the_folder_of_runs_is_refused(tmp_path: Path) -> None:
    assert "needs a name" in refused(write(tmp_path, "...toml", DATA))


def test_a_missing_file_is_refused() -> None:
    assert "cannot be read" in refused("nowhere.toml")


def test_settings_change_options_by_their_full_name() -> None:
    recipe = read_recipe("scan/jump").changed({"fit.states": "8", "sampling.unique": "true"})
    assert recipe.option("fit.states") == recipe.fit.states == 8
    assert recipe.sampling.unique is True
    for name, words in {
        "states": "did you mean 'fit.states'?", "optimizer": "'fit.optimizer'", "fti.states": "'fit.states'",
        "fit.staets": "'states'", "fit.seed": "--seed", "name.x": "no option",
    }.items():  # fmt: skip
        with pytest.raises(InputError, match=re.escape(words)):
            recipe.changed({name: "1"})


def test_a_temperature_means_tempered() -> None:
    recipe = read_recipe("scan/jump")
    assert recipe.sampling.strategy == "model"
    tempered = recipe.changed({"sampling.temperature": "inf"})
    assert tempered.sampling.strategy == "tempered"
    assert 'strategy = "tempered"\ntemperature = inf\n' in tempered.to_toml()
    with pytest.raises(InputError, match="uniform"):
        tempered.changed({"sampling.strategy": "uniform"})


def test_for_another_strategy_auto_has_the_defaults() -> None:
    def sampling_of(preset: str, **values: object) -> sampling.SampleConfig:
        recipe = Recipe().with_preset(preset).changed({f"sampling.{key}": value for key, value in values.items()})
        return only(sampling.SampleConfig, recipe.sampling)

    assert sampling_of("auto", strategy="uniform") == sampling.SampleConfig(strategy="uniform")
    assert sampling_of("auto", strategy="model", number=7) == sampling.SampleConfig()
    assert sampling_of("auto", temperature="3") == sampling.PRESETS["auto"].model_copy(update={"temperature": 3})
    assert sampling_of("geoquery", strategy="tempered", temperature=3).max_depth == 12


@given(
    title=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    prefix=st.sampled_from(["", "parse: "]),
    temperature=st.floats(0.001, 1e300) | st.just(float("inf")),
    rate=st.floats(1e-12, 1),
    states=st.integers(1, 10_000),
    unique=st.booleans(),
)
@settings(deadline=None)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory,
    title: str,
    prefix: str,
    temperature: float,
    rate: float,
    states: int,
    unique: bool,
) -> None:
    options = {
        "fit.states": states, "fit.learning_rate": rate, "sampling.temperature": temperature,
        "sampling.unique": unique, "train.prefix": prefix, "fit.unlabelled": "dev",
    }  # fmt: skip
    recipe: Recipe = replace(read_recipe("geoquery/tmcd_1").changed(options), name="again", title=title)
    path = tmp_path_factory.mktemp("recipes") / "again.toml"
    path.write_text(recipe.to_toml(), encoding="utf-8", newline="\n")
    assert read_recipe(str(path)) == recipe
