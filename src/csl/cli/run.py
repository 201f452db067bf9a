"""`csl run`: an experiment from data to report, by a recipe."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from csl.cli.console import LiveLine, new_console
from csl.cli.engine import AddressOption, EngineOption, ThreadsOption, engine_of

if TYPE_CHECKING:
    from csl.experiment.recipe import Recipe

Settings = Annotated[list[str] | None, typer.Option("--set", help="An option as fit.states=8; may be repeated.")]
Until = Annotated[
    str, typer.Option(help="The last stage to do: data, induce, fit, sample, train, nqg, evaluate or report.")
]
Train = Annotated[
    bool, typer.Option("--train", help="Train sequence-to-sequence models too; takes a GPU at real sizes.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what is cached and what would be done.")]
Source = Annotated[
    Path | None, typer.Option(envvar="CSL_DATA", help="The data sets' original files: a folder with one for each.")
]
Runs = Annotated[Path, typer.Option(help="The folder of all runs.")]
Device = Annotated[str, typer.Option(help="Of training: auto, cpu or cuda.")]
Resume = Annotated[bool, typer.Option(help="Take what is done from earlier runs.")]


def run(
    recipe: Annotated[
        str | None, typer.Argument(help="A built-in recipe, as geoquery/length, or a .toml file; none: list them.")
    ] = None,
    settings: Settings = None,
    seeds: Annotated[int, typer.Option(min=1, help="Do so many runs, with seeds 0, 1, …")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Of one run: of fitting, sampling and training.")] = None,
    until: Until = "report",
    train: Train = False,
    dry_run: DryRun = False,
    source: Source = None,
    runs: Runs = Path("runs"),
    device: Device = "auto",
    threads: ThreadsOption = 1,
    engine: EngineOption = "threads",
    address: AddressOption = None,
    resume: Resume = True,
) -> None:
    """Run the stages data, induce, fit, sample, train, nqg, evaluate and report of RECIPE.

    Writes the run folder RUNS/RECIPE/seed-0. What other runs have in common with this one is not done again, and a run
    that was stopped goes on.
    """
    from csl.data.options import parse_setting
    from csl.errors import InputError
    from csl.experiment.recipe import read_recipe, recipe_names

    if recipe is None:
        new_console().print("\n".join(recipe_names()))
        return
    if seed is not None and seeds > 1:
        raise InputError("--seed is one seed, --seeds their number; give one of them")
    point: dict[str, object] = dict(map(parse_setting, settings or []))
    numbers = range(seeds) if seed is None else [seed]
    do_runs(
        read_recipe(recipe), [point], numbers, until, train,
        runs=runs, source=source, device=device, workers=(threads, engine, address), dry=dry_run, anew=not resume,
    )  # fmt: skip


def do_runs(
    recipe: "Recipe",
    points: Sequence[Mapping[str, object]],
    seeds: Sequence[int],
    until: str,
    train: bool,
    *,
    runs: Path,
    source: Path | None,
    device: str,
    workers: tuple[int, str, str | None],
    dry: bool,
    anew: bool,
) -> None:
    """Do a run for each point, which is a set of settings, and seed; at the end show the figures of several."""
    from csl.cli.train import need_torch
    from csl.errors import InputError, nearest
    from csl.experiment.pipeline import Pipeline, wanted_stages
    from csl.experiment.recipe import DEV
    from csl.experiment.runs import read_record
    from csl.experiment.stages import STAGES
    from csl.experiment.sweep import table

    if until not in STAGES:
        raise InputError(f"--until {until}: no such stage; {nearest(until, STAGES)}")
    recipes = [recipe.changed(point) for point in points]  # all are checked before anything is done
    console, wanted = new_console(), wanted_stages(until, train)
    if not dry and ("plain" in wanted or ("predecessor" in wanted and any(changed.nqg.encoder for changed in recipes))):
        need_torch()
    stopped = "stopped; the same command goes on with what is done"
    with LiveLine(console, "working …", stopped) as live, engine_of(*workers) as engine:
        pipeline = Pipeline(
            runs, wanted, source, device, engine, dry=dry, anew=anew, say=console.print, progress=live.update
        )
        rows = {}
        for point, changed in zip(points, recipes, strict=True):
            settings = {key: changed.option(key) for key in point}
            name = ", ".join(f"{key}={value}" for key, value in settings.items())
            if len(points) > 1 and changed.fit.unlabelled == DEV and not pipeline.has_dev(changed):
                console.print(f"{recipe.title}, {name}: left out, the data has no dev set")
                continue
            folders = []
            for seed in seeds:
                console.print(", ".join(filter(None, (recipe.title, name, f"seed {seed}"))), style="bold")
                folders.append(pipeline.run(changed, settings, seed))
                if not dry:
                    console.print(f"run folder: {folders[-1]}")
            rows[name or recipe.name] = folders
    if not dry and len(points) * len(seeds) > 1:
        names, *cells = table({name: [read_record(folder) for folder in folders] for name, folders in rows.items()})
        shown = Table(*names, box=None)
        for column in shown.columns[1:]:
            column.justify = "right"
        for row in cells:
            shown.add_row(*row)
        console.print(shown)
