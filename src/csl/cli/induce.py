"""`csl induce`: from examples to a grammar in a run folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import Configured, CpuThreads, OutFolder, Preparing, Reading, Resume, TrainFile, shares_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from csl.runs.folder import Figures
    from csl.runs.recipe import Recipe
    from csl.runs.stage import Stage

SeedRules = Annotated[list[Path] | None, typer.Option(help="A file of seed rules; may be repeated.")]
OutputCfgFile = Annotated[Path | None, typer.Option(help="A CFG of valid outputs.")]


@shares_options
def induce(
    train: TrainFile,
    out: OutFolder,
    *,
    seed_rules: SeedRules = None,
    output_cfg: OutputCfgFile = None,
    configured: Configured,
    resume: Resume = True,
    threads: CpuThreads = 1,
    preparing: Preparing,
    reading: Reading,
) -> None:
    """Induce a grammar that derives every example of TRAIN.

    Writes grammar.txt and a copy of the data to the run folder.

    A run that was stopped resumes when the command is given again.
    """
    from csl.runs.stages.registry import DATA, INDUCE, PREPARE

    recipe = new_recipe(configured, train, seed_rules, output_cfg, reading).changed(preparing.settings)
    recipe = Configured(None, configured.config, configured.settings).apply(recipe, "induction")
    figures = run_stages(out, recipe, (DATA, PREPARE, INDUCE), threads, resume=resume)["induce"]
    console = new_console()
    if figures["rules"] == figures["arities"]:
        console.print("No rule that other examples could share saves anything: the grammar derives nothing new.")
    if figures["savings"]:
        console.print(f"The rules that save most:\n{'saves':>12}  {'examples':>8}  rule")
    for rule, saves, uses in figures["savings"]:
        console.print(f"{saves:12,.0f}  {uses:8,}  {rule}")
    console.print(f"wrote {out / 'grammar.txt'}")


def new_recipe(
    configured: Configured, train: Path, seed_rules: list[Path] | None, output_cfg: Path | None, reading: Reading
) -> "Recipe":
    """Make the recipe of a run on files: a preset, and the files."""
    from csl.runs.recipe import AUTO, Recipe

    files = {"data.train": str(train), "data.seed_rules": tuple(map(str, seed_rules or ()))}
    cfg = {"data.output_cfg": str(output_cfg)} if output_cfg else {}
    return Recipe(train.stem, train.name).with_preset(configured.preset or AUTO).changed(files | cfg | reading.settings)


def run_stages(
    folder: Path,
    recipe: "Recipe",
    stages: "Iterable[Stage]",
    threads: int,
    *,
    resume: bool,
    replace: bool = False,
    device: str = "auto",
) -> "dict[str, Figures]":
    """Carry out stages in a run folder; return what each found."""
    with Messages("starting …", "give the same command again to resume"):
        from csl.engine import Threads
        from csl.runs.folder import RunFolder
        from csl.runs.stage import Run, Work

        work = Work(RunFolder(folder), recipe, engine=Threads(threads), device=device)
        return Run(work, resume=resume, replace=replace).do(stages)
