"""`csl sweep`: an experiment for several values of one option."""

from typing import Annotated

import typer

from csl.cli.console import new_console
from csl.cli.options import shares_options
from csl.cli.run import How, Settings, do_runs


@shares_options
def sweep(
    recipes: Annotated[
        list[str], typer.Argument(metavar="RECIPE...", help="Built-in recipes, as geoquery/length, or .toml files.")
    ],
    over: Annotated[str, typer.Option(help="temperature, states, samples, seeds, or any option, as induction.k_t.")],
    values: Annotated[str | None, typer.Option(help="Values as a,b,c; default: those of the paper.")] = None,
    settings: Settings = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs for each value, with seeds 0, 1, …; default: 1, over seeds 3.")
    ] = None,
    *,
    how: How,
) -> None:
    """Run each RECIPE for each value, and print the figures, as mean ± deviation over seeds, beside the paper's.

    Writes run folders RUNS/RECIPE/OPTION=VALUE/seed-0. What they have in common is done once. `temperature` is that of
    forward sampling, as in the paper. `states` are fitted from five starts or more. `samples` are drawn from models
    fitted with and without unlabelled inputs: those of fit.unlabelled, or of dev if there is a dev set. With --engine
    ray whole runs are done side by side, as many at once as the cluster has room for.
    """
    from csl.experiments.paper_tables import make_table
    from csl.experiments.records import read_runs
    from csl.experiments.sweep import KEYS, PAPER_TABLES, RUNS, SEEDS, points
    from csl.experiments.table import show
    from csl.options import parse_setting
    from csl.runs.recipe import read_recipe

    given = dict(map(parse_setting, settings or []))
    wanted = [value.strip() for value in values.split(",")] if values else None
    plan = [
        (chosen, {**given, **point})
        for chosen in map(read_recipe, recipes)
        for point in points(chosen.changed(given), over, wanted)
    ]
    folders = do_runs(plan, range(seeds or (RUNS if over == SEEDS else 1)), how)
    kind = "variance" if over == SEEDS else PAPER_TABLES.get(KEYS.get(over, over))
    if folders and kind and (made := make_table(kind, read_runs(folders))).rows:
        new_console().print()
        show(made, new_console())
