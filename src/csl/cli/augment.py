"""`csl augment`: from examples to an augmented training set, with no configuration."""

import time
from typing import Annotated

import typer

from csl.cli.console import new_console
from csl.cli.induce import OutputCfgFile, SeedRules, new_recipe, run_stages
from csl.cli.options import (
    Configured,
    CpuThreads,
    OutFolder,
    OutFormat,
    Preparing,
    Reading,
    Resume,
    TrainFile,
    shares_options,
)
from csl.cli.sample import Drawing

SHOWN = 10  # new pairs shown at the end


@shares_options
def augment(
    train: TrainFile,
    out: OutFolder,
    *,
    number: Annotated[
        int | None, typer.Option("-n", min=1, help="How many synthetic pairs; default: 100,000, of raw text 20,000.")
    ] = None,
    seed_rules: SeedRules = None,
    output_cfg: OutputCfgFile = None,
    weights: Annotated[bool, typer.Option("--weights", help="Write each pair once, with a weight.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Draw pairs even if the check advises against it.")] = False,
    drawing: Drawing,
    configured: Configured,
    seed: Annotated[int, typer.Option(min=0, help="Seed of fitting and sampling.")] = 0,
    resume: Resume = True,
    threads: CpuThreads = 1,
    format: OutFormat = None,
    preparing: Preparing,
    reading: Reading,
) -> None:
    """Augment TRAIN: induce a grammar, fit a model, sample new pairs, and merge them with the old.

    Raw text is prepared first: its language, values and categories are found in it. Writes augmented.tsv, or the same
    in the format of TRAIN, and the results of all stages, to the run folder. If a check on held-out pairs says that
    synthetic pairs would do harm, only the original ones are written. --set and --config change options of sampling.
    """
    from csl.runs.folder import RunFolder
    from csl.runs.stages.check import verdict
    from csl.runs.stages.registry import AUGMENT

    console, start = new_console(), time.perf_counter()
    recipe = new_recipe(configured, train, seed_rules, output_cfg, reading).changed(preparing.settings)
    own = {"merge.weights": weights, "merge.format": format or "", "sampling.force": force}
    recipe = drawing.apply(configured, recipe, number).changed(own).seeded(seed)
    figures = run_stages(out, recipe, AUGMENT, threads, resume=resume)
    folder = RunFolder(out)
    known, shown = set(folder.examples()), 0
    for example in folder.samples():
        if example not in known and shown < SHOWN:
            if not shown:
                console.print("pairs that the training set does not have:")
            known.add(example)
            shown += 1
            console.print(f"  {example.source_text} → {example.target_text}")
    why = verdict(figures["check"], figures["sample"]["pairs"])
    line = [str(out / figures["merge"]["file"]), *filter(None, [why]), f"{time.perf_counter() - start:.1f} s"]
    console.print(f"training set: {'; '.join(line)}")
