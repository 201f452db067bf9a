"""`csl run`: an experiment from data to report, by a recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import CpuThreads, Resume, shares_options
from csl.errors import InputError, nearest

if TYPE_CHECKING:
    from csl.experiments.experiment import Experiment
    from csl.runs.recipe import Recipe

ENGINES = ("threads", "ray")
Settings = Annotated[list[str] | None, typer.Option("--set", help="An option as fit.states=8; may be repeated.")]
Point = Mapping[str, object]  # settings of a run


@dataclass(frozen=True)
class How:
    """How runs are done: the options that `csl run` and `csl sweep` share."""

    until: Annotated[
        str, typer.Option(help="The last stage: data, induce, fit, sample, merge, train, nqg, evaluate or report.")
    ] = "report"
    train: Annotated[
        bool, typer.Option("--train", help="Train sequence-to-sequence models too; takes a GPU at real sizes.")
    ] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is cached and what would be done.")] = False
    source: Annotated[
        Path | None, typer.Option(envvar="CSL_DATA", help="The data sets' original files: a folder with one for each.")
    ] = None
    runs: Annotated[Path, typer.Option(help="The folder of all runs.")] = Path("runs")
    device: Annotated[str, typer.Option(help="Device of training: auto, cpu or cuda.")] = "auto"
    resume: Resume = True
    threads: CpuThreads = 1
    engine: Annotated[
        str, typer.Option(help="threads, or ray: whole runs side by side, on --threads workers or a cluster.")
    ] = "threads"
    address: Annotated[str | None, typer.Option(help="A running Ray cluster, with --engine ray.")] = None

    def check(self) -> None:
        """Refuse an unknown engine."""
        if self.engine not in ENGINES:
            raise InputError(f"--engine {self.engine}: no such engine; {nearest(self.engine, ENGINES)}")
        if self.address and self.engine != "ray":
            raise InputError("--address requires --engine ray")


@shares_options
def run(
    recipe: Annotated[
        str | None, typer.Argument(help="A built-in recipe, as geoquery/length, or a .toml file; none: list them.")
    ] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of one run: of fitting, sampling and training.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Do so many runs, with seeds 0, 1, …")] = 1,
    *,
    how: How,
) -> None:
    """Run the stages data, induce, fit, sample, merge, train, nqg, evaluate and report of RECIPE.

    Writes the run folder RUNS/RECIPE/seed-0. What other runs have in common with this one is not done again, and a run
    that was stopped resumes.
    """
    from csl.options import parse_setting
    from csl.runs.recipe import read_recipe, recipe_names

    if recipe is None:
        new_console().print("\n".join(recipe_names()))
        return
    if seed is not None and seeds > 1:
        raise InputError("--seed is one seed, --seeds their number; give one of them")
    point: Point = dict(map(parse_setting, settings or []))
    do_runs([(read_recipe(recipe), point)], range(seeds) if seed is None else [seed], how)


def do_runs(points: "Sequence[tuple[Recipe, Point]]", seeds: Sequence[int], how: How) -> list[Path]:
    """Do a run for each recipe with its settings and each seed; show the figures of several; return the run folders."""
    from csl.experiments.experiment import Experiment
    from csl.runs.recipe import FILES

    recipes = [recipe.changed(point) for recipe, point in points]  # all are checked before anything is done
    experiment = Experiment(how.runs, how.until, how.train, how.source, how.device, resume=how.resume)
    wanted = [stage for changed in recipes for stage in experiment.wanted(changed)]
    how.check()
    settings = [
        {key: point[key] if key in FILES else changed.option(key) for key in point}
        for (_, point), changed in zip(points, recipes, strict=True)
    ]
    plan = list(zip(recipes, settings, strict=True))
    if how.dry_run:
        _show_plan(experiment, plan, seeds)
        return []
    for stage in wanted:
        stage.check_installed()
    rows = _do_all(experiment, plan, seeds, how)
    if len(points) * len(seeds) > 1:
        _show_figures(rows)
    return [folder for folders in rows.values() for folder in folders]


def _show_plan(experiment: "Experiment", plan: "Sequence[tuple[Recipe, Point]]", seeds: Sequence[int]) -> None:
    console = new_console()
    for recipe, settings in plan:
        for seed in seeds:
            console.print(_title(recipe, settings, seed), style="bold")
            for stage, status in experiment.plan(recipe, settings, seed):
                console.print(f"{stage}: {status}")


def _show_figures(rows: Mapping[str, Sequence[Path]]) -> None:
    from rich.table import Table

    from csl.experiments.records import read_runs
    from csl.experiments.sweep import table

    names, *cells = table({name: read_runs(folders) for name, folders in rows.items()})
    shown = Table(*names, box=None)
    for column in shown.columns[1:]:
        column.justify = "right"
    for row in cells:
        shown.add_row(*row)
    new_console().print(shown)


def _title(recipe: "Recipe", settings: Point, seed: int) -> str:
    return ", ".join([recipe.title, *(f"{key}={value}" for key, value in settings.items()), f"seed {seed}"])


def _do_all(
    experiment: "Experiment", plan: "Sequence[tuple[Recipe, Point]]", seeds: Sequence[int], how: How
) -> dict[str, list[Path]]:
    """Do all runs, one after the other, or several at once in a Ray cluster; return their folders by settings."""
    from csl.engine import Threads
    from csl.experiments.experiment import run_all, run_on_ray

    with Messages("starting …", "give the same command again to resume") as messages:
        if how.engine == "ray":
            return run_on_ray(experiment, plan, seeds, how.address, how.threads)
        experiment = replace(experiment, engine=Threads(how.threads))
        return run_all(experiment, plan, seeds, lambda *run: messages.heading(_title(*run)))
