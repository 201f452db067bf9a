"""`csl run`: an experiment from data to report, by a recipe."""

from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import LiveLine, new_console

STOPPED = "stopped; the same command goes on with what is done"


def run(
    recipe: Annotated[
        str | None, typer.Argument(help="A built-in recipe, as geoquery/length, or a .toml file; none: list them.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option as fit.states=8; may be repeated.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Do so many runs, with seeds 0, 1, …")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Of one run: of fitting, sampling and training.")] = None,
    until: Annotated[
        str, typer.Option(help="The last stage to do: data, induce, fit, sample, train, evaluate or report.")
    ] = "report",
    train: Annotated[
        bool, typer.Option("--train", help="Train sequence-to-sequence models too; takes a GPU at real sizes.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is cached and what would be done.")] = False,
    source: Annotated[
        Path | None,
        typer.Option(envvar="CSL_DATA", help="The data sets' original files: this folder has one for each."),
    ] = None,
    runs: Annotated[Path, typer.Option(help="The folder of all runs.")] = Path("runs"),
    device: Annotated[str, typer.Option(help="Of training: auto, cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result is the same for any number.")] = 1,
    resume: Annotated[bool, typer.Option(help="Take what is done from earlier runs.")] = True,
) -> None:
    """Run the stages data, induce, fit, sample, train, evaluate and report of RECIPE.

    Writes the run folder RUNS/RECIPE/seed-0. What other runs have in common with this one is not done again, and a run
    that was stopped goes on.
    """
    from csl.cli.train import need_torch
    from csl.data.options import parse_setting
    from csl.errors import InputError, nearest
    from csl.experiment.pipeline import Pipeline, wanted_stages
    from csl.experiment.recipe import read_recipe, recipe_names
    from csl.experiment.stages import STAGES

    console = new_console()
    if recipe is None:
        console.print("\n".join(recipe_names()))
        return
    if until not in STAGES:
        raise InputError(f"--until {until}: no such stage; {nearest(until, STAGES)}")
    if seed is not None and seeds > 1:
        raise InputError("--seed is one seed, --seeds their number; give one of them")
    given = dict(map(parse_setting, settings or []))
    chosen = read_recipe(recipe).changed(given)
    wanted = wanted_stages(until, train)
    if "plain" in wanted and not dry_run:
        need_torch()
    with LiveLine(console, "working …", STOPPED) as live:
        pipeline = Pipeline(
            runs, wanted, source, device, threads, dry=dry_run, anew=not resume, say=console.print, progress=live.update
        )
        for number in range(seeds) if seed is None else [seed]:
            console.print(f"{chosen.title}, seed {number}", style="bold")
            folder = pipeline.run(chosen, {key: chosen.option(key) for key in given}, number)
            if not dry_run:
                console.print(f"run folder: {folder}")
