"""`csl nqg`: the predecessor of CSL (Shaw et al. 2021) on the same data and in the same folders."""

from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import new_console
from csl.cli.induce import OutputCfgFile, run_stages
from csl.cli.options import (
    Configured,
    Device,
    OutFolder,
    Reading,
    Resume,
    TorchThreads,
    TrainFile,
    shares_options,
)
from csl.cli.parse import is_file

Run = Annotated[Path, typer.Argument(help="The run folder with the grammar, of csl nqg induce or of csl induce.")]
Config = Annotated[Path | None, typer.Option(help="A TOML file with options, applied over the preset.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="An option as key=value; may be repeated.")]

app = typer.Typer(
    help="NQG, the predecessor of CSL: induce a grammar, fit its parser, and use it.", no_args_is_help=True
)


@app.command()
@shares_options
def induce(
    train: TrainFile,
    out: OutFolder,
    preset: Annotated[str, typer.Option(help="scan, cogs or geoquery.")] = "cogs",
    config: Config = None,
    settings: Settings = None,
    output_cfg: OutputCfgFile = None,
    resume: Resume = True,
    *,
    reading: Reading,
) -> None:
    """Induce a grammar that derives every example of TRAIN, as NQG does: the best rule first, one at a time.

    Writes grammar.txt and a copy of the data to the run folder.
    """
    from csl.baselines.nqg.config import PRESETS
    from csl.options import find_preset
    from csl.runs.recipe import Recipe
    from csl.runs.stages.nqg import NqgInduce
    from csl.runs.stages.registry import DATA

    files = {"data.train": str(train), **({"data.output_cfg": str(output_cfg)} if output_cfg else {})}
    recipe = Recipe(train.stem, train.name).with_tables(
        {"nqg": find_preset(PRESETS, preset).model_dump(exclude={"seed"})}
    )
    recipe = Configured(None, config, settings).apply(recipe.changed(files | reading.settings), "nqg")
    run_stages(out, recipe, (DATA, NqgInduce()), threads=1, resume=resume)
    new_console().print(f"wrote {out / 'grammar.txt'}")


@app.command()
def fit(
    run: Run,
    encoder: Annotated[str, typer.Option(help="A Hugging Face encoder or encoder-decoder: a folder, or a name.")],
    config: Config = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of new weights and batches.")] = None,
    resume: Resume = True,
    device: Device = "auto",
    threads: TorchThreads = None,
) -> None:
    """Fit NQG's model, a pretrained encoder and scores of rules at spans, to the examples of the run.

    Writes the folder nqg in the run folder.
    """
    from csl.runs.folder import RunFolder
    from csl.runs.stages.nqg import NqgFit

    recipe = RunFolder.open(run).recipe()
    if seed is not None:
        recipe = recipe.seeded(seed)
    recipe = Configured(None, config, settings).apply(recipe, "nqg", {"encoder": encoder})
    use_torch(threads)
    run_stages(run, recipe, (NqgFit(),), threads=1, resume=resume, replace=True, device=device)
    new_console().print(f"wrote {run / 'nqg'}")


@app.command()
def parse(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="INPUT", help="An input, or a file of inputs, one a line.")],
    file: Annotated[bool, typer.Option("--file", help="INPUT is a file.")] = False,
    literal: Annotated[bool, typer.Option("--text", help="INPUT is an input, even if a file has that name.")] = False,
    scores: Annotated[bool, typer.Option("--scores", help="Give log p(derivation | input) too.")] = False,
    device: Device = "auto",
    threads: TorchThreads = None,
) -> None:
    """Parse an input, or a file of inputs (written as input<TAB>output, for csl ensemble).

    The model abstains where no derivation of the input gives a valid output: the output is then empty, and for a single
    input the exit code is 1.
    """
    from csl.examples import split_tokens
    from csl.examples.formats import read_inputs

    of_file = is_file(text, file, literal)
    inputs = read_inputs(text) if of_file else [text]
    use_torch(threads)
    from csl.runs.stages.nqg import load_model
    from csl.seq2seq.predictor import choose_device

    parses = load_model(run, str(choose_device(device))).parse_all([split_tokens(line) for line in inputs])
    for line, found in zip(inputs, parses, strict=True):
        cells = [line] if of_file else []
        cells.append(found.text if found else "")
        if scores and found:
            cells.append(f"{found.log_prob:.3f}")
        if of_file or found:
            typer.echo("\t".join(cells))
    missing = sum(found is None for found in parses)
    if missing:
        new_console(stderr=True).print(f"{missing:,} of {len(inputs):,} inputs not covered")
    if missing and not of_file:
        raise typer.Exit(1)


@app.command()
@shares_options
def evaluate(
    run: Run,
    test: Annotated[
        Path, typer.Argument(help="Examples: TSV or JSON lines, plain or .gz. TSV: column 3 is a category.")
    ],
    device: Device = "auto",
    threads: TorchThreads = None,
    *,
    reading: Reading,
) -> None:
    """Compare outputs for the inputs of TEST with its outputs; white space around punctuation does not count.

    Accuracy counts all examples, precision those that get an output.
    """
    import numpy as np

    from csl.cli.evaluate import score_table
    from csl.examples.score import score

    examples = reading.examples(test)
    use_torch(threads)
    from csl.runs.stages.nqg import load_model
    from csl.seq2seq.predictor import choose_device

    model, console = load_model(run, str(choose_device(device))), new_console()
    parses = model.parse_all([example.source for example in examples])
    total, groups = score(examples, [found.text if found else "" for found in parses])
    console.print(score_table(groups, total))
    given = model.log_probs(examples)
    derivable = np.isfinite(given)
    mean = float(given[derivable].mean()) if derivable.any() else float("nan")
    console.print(f"{derivable.sum():,} of {len(examples):,} pairs derivable: mean log p(y | x) {mean:.3f}")


def use_torch(threads: int | None) -> None:
    """Check that the libraries are there, and set their threads."""
    from csl.hub import need_torch

    need_torch()
    from csl.seq2seq.predictor import use_threads

    use_threads(threads)
