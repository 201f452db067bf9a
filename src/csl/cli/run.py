"""`csl run`: an experiment from data to report, by a recipe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from csl.cli.console import LiveLine, new_console
from csl.cli.engine import AddressOption, EngineOption, ThreadsOption, engine_of

if TYPE_CHECKING:
    from csl.runs.recipe import Recipe

Settings = Annotated[list[str] | None, typer.Option("--set", help="An option as fit.states=8; may be repeated.")]


@dataclass(frozen=True)
class Doing:
    """How runs are done: the options that `csl run` and `csl sweep` have in common."""

    until: Annotated[
        str, typer.Option(help="The last stage to do: data, induce, fit, sample, train, nqg, evaluate or report.")
    ] = "report"
    train: Annotated[
        bool, typer.Option("--train", help="Train sequence-to-sequence models too; takes a GPU at real sizes.")
    ] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is cached and what would be done.")] = False
    source: Annotated[
        Path | None, typer.Option(envvar="CSL_DATA", help="The data sets' original files: a folder with one for each.")
    ] = None
    runs: Annotated[Path, typer.Option(help="The folder of all runs.")] = Path("runs")
    device: Annotated[str, typer.Option(help="Of training: auto, cpu or cuda.")] = "auto"
    threads: ThreadsOption = 1
    engine: EngineOption = "threads"
    address: AddressOption = None
    resume: Annotated[bool, typer.Option(help="Take what is done from earlier runs.")] = True


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Doing` in place of its last argument, which is one."""
    *own, last = signature(command).parameters.values()
    shared = signature(Doing).parameters

    @wraps(command)
    def called(**values: object) -> None:
        doing = Doing(**{name: values.pop(name) for name in shared})  # type: ignore[arg-type]
        command(**values, **{last.name: doing})

    called.__signature__ = Signature([*own, *shared.values()])  # type: ignore[attr-defined]
    return called


@with_options
def run(
    recipe: Annotated[
        str | None, typer.Argument(help="A built-in recipe, as geoquery/length, or a .toml file; none: list them.")
    ] = None,
    settings: Settings = None,
    seeds: Annotated[int, typer.Option(min=1, help="Do so many runs, with seeds 0, 1, …")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Of one run: of fitting, sampling and training.")] = None,
    *,
    doing: Doing,
) -> None:
    """Run the stages data, induce, fit, sample, train, nqg, evaluate and report of RECIPE.

    Writes the run folder RUNS/RECIPE/seed-0. What other runs have in common with this one is not done again, and a run
    that was stopped goes on.
    """
    from csl.errors import InputError
    from csl.options import parse_setting
    from csl.runs.recipe import read_recipe, recipe_names

    if recipe is None:
        new_console().print("\n".join(recipe_names()))
        return
    if seed is not None and seeds > 1:
        raise InputError("--seed is one seed, --seeds their number; give one of them")
    point: dict[str, object] = dict(map(parse_setting, settings or []))
    numbers = range(seeds) if seed is None else [seed]
    do_runs(read_recipe(recipe), [point], numbers, doing)


def do_runs(recipe: "Recipe", points: Sequence[Mapping[str, object]], seeds: Sequence[int], doing: Doing) -> None:
    """Do a run for each point, which is a set of settings, and seed; at the end show the figures of several."""
    from csl.cli.train import need_torch
    from csl.errors import InputError, nearest
    from csl.experiments.records import read_runs
    from csl.experiments.sweep import table
    from csl.report.page import need_jinja
    from csl.runs.pipeline import Pipeline, wanted_stages
    from csl.runs.recipe import DEV, FILES
    from csl.runs.stages import STAGES

    if doing.until not in STAGES:
        raise InputError(f"--until {doing.until}: no such stage; {nearest(doing.until, STAGES)}")
    recipes = [recipe.changed(point) for point in points]  # all are checked before anything is done
    console, wanted = new_console(), wanted_stages(doing.until, doing.train)
    if not doing.dry_run and (
        "plain" in wanted or ("predecessor" in wanted and any(changed.nqg.encoder for changed in recipes))
    ):
        need_torch()
    if not doing.dry_run and "report" in wanted:
        need_jinja()
    stopped = "stopped; the same command goes on with what is done"
    workers = engine_of(doing.threads, doing.engine, doing.address)
    with LiveLine(console, "working …", stopped) as live, workers as engine:
        pipeline = Pipeline(
            doing.runs, wanted, doing.source, doing.device, engine,
            dry=doing.dry_run, anew=not doing.resume, say=console.print, progress=live.update,
        )  # fmt: skip
        rows = {}
        for point, changed in zip(points, recipes, strict=True):
            settings = {key: point[key] if key in FILES else changed.option(key) for key in point}
            name = ", ".join(f"{key}={value}" for key, value in settings.items())
            if len(points) > 1 and changed.fit.unlabelled == DEV and not pipeline.has_dev(changed):
                console.print(f"{recipe.title}, {name}: left out, the data has no dev set")
                continue
            folders = []
            for seed in seeds:
                console.print(", ".join(filter(None, (recipe.title, name, f"seed {seed}"))), style="bold")
                folders.append(pipeline.run(changed, settings, seed))
                if not doing.dry_run:
                    console.print(f"run folder: {folders[-1]}")
            rows[name or recipe.name] = folders
    if not doing.dry_run and len(points) * len(seeds) > 1:
        names, *cells = table({name: read_runs(folders) for name, folders in rows.items()})
        shown = Table(*names, box=None)
        for column in shown.columns[1:]:
            column.justify = "right"
        for row in cells:
            shown.add_row(*row)
        console.print(shown)
