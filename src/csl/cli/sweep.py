"""`csl sweep`: an experiment for several values of one option."""

from typing import Annotated

import typer

from csl.cli.options import shares_options
from csl.cli.run import How, Settings, do_runs


@shares_options
def sweep(
    recipe: Annotated[str, typer.Argument(help="A built-in recipe, as geoquery/length, or a .toml file.")],
    over: Annotated[str, typer.Option(help="temperature, states, samples, seeds, or any option, as induction.k_t.")],
    values: Annotated[str | None, typer.Option(help="Values as a,b,c; default: those of the paper.")] = None,
    settings: Settings = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs for each value, with seeds 0, 1, …; default: 1, over seeds 3.")
    ] = None,
    *,
    how: How,
) -> None:
    """Run RECIPE for each value, and print a table of the figures, as mean ± deviation over seeds.

    Writes run folders RUNS/RECIPE/OPTION=VALUE/seed-0. What they have in common is done once. `samples` are drawn from
    models fitted with and without the inputs of dev, if there is a dev set. With --engine ray whole runs are done side
    by side, as many at once as the cluster has room for.
    """
    from csl.experiments.sweep import RUNS, SEEDS, points
    from csl.options import parse_setting
    from csl.runs.recipe import read_recipe

    given = dict(map(parse_setting, settings or []))
    chosen = read_recipe(recipe)
    wanted = [value.strip() for value in values.split(",")] if values else None
    found = [{**given, **point} for point in points(chosen.changed(given), over, wanted)]
    do_runs(chosen, found, range(seeds or (RUNS if over == SEEDS else 1)), how)
