"""`csl fit`: from a grammar to a model in the same run folder."""

from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import new_console
from csl.cli.induce import run_stages
from csl.cli.options import Configured, CpuThreads, Resume, shares_options

RunArgument = Annotated[Path, typer.Argument(help="The run folder with the grammar.")]


@shares_options
def fit(
    run: RunArgument,
    *,
    unlabelled: Annotated[
        Path | None, typer.Option(help="Inputs, one a line, that the model labels itself before a second fit.")
    ] = None,
    ratio: Annotated[
        float | None, typer.Option(min=0, max=1000, help="Labelled inputs to examples in the second fit.")
    ] = None,
    configured: Configured,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of initial parameters and batches. Default: that of the run.")
    ] = None,
    resume: Resume = True,
    threads: CpuThreads = 1,
) -> None:
    """Fit the probabilities of the grammar's rules to the examples that it was induced from.

    Writes model.npz to the run folder. Parsing and sampling need it. The options are those of the run, unless others
    are given.

    A fit that was stopped resumes when the command is given again.
    """
    from csl.runs.folder import RunFolder
    from csl.runs.stages.registry import FIT

    recipe = RunFolder.open(run).recipe()
    if seed is not None:
        recipe = recipe.seeded(seed)
    given: dict[str, object] = {"unlabelled": str(unlabelled) if unlabelled else None, "ratio": ratio}
    run_stages(run, configured.apply(recipe, "fit", given), (FIT,), threads, resume=resume, replace=True)
    new_console().print(f"wrote {run / 'model.npz'}")
