"""`csl reword`: the synthetic programs of a run in other words, by a network trained in reverse."""

from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import new_console
from csl.cli.induce import run_stages
from csl.cli.options import Configured, Device, Resume, TorchThreads


def reword(
    run: Annotated[Path, typer.Argument(help="The run folder with samples, grammar and model, as csl augment makes.")],
    number: Annotated[int | None, typer.Option("-n", min=1, help="Programs to word, at most.")] = None,
    wordings: Annotated[int | None, typer.Option("-k", min=1, help="Wordings of each program, the best first.")] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Keep only wordings that are read as their program.")
    ] = True,
    reader: Annotated[
        Path | None, typer.Option(help="The run folder of csl train: its model, too, may read wordings back.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The network to train in reverse: a Hugging Face name or folder.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with options of training.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option of csl train as key=value; may be repeated.")
    ] = None,
    device: Device = "auto",
    threads: TorchThreads = None,
    resume: Resume = True,
) -> None:
    """Word the programs of RUN's samples anew, for csl train --synthetic: writes reworded.tsv to the run folder.

    A network is trained from outputs to inputs on the pairs of the run, and words each program. A wording is kept if
    the parser (or the model of --reader) gives its program back and all values are still there.

    A run that was stopped resumes when the command is given again.
    """
    from csl.errors import InputError
    from csl.runs.folder import RunFolder
    from csl.runs.stages.registry import REVERSE, REWORD

    if reader and not check:
        raise InputError("--reader and --no-check exclude each other; leave out one")
    REWORD.check_installed()
    from csl.seq2seq.predictor import use_threads

    use_threads(threads)
    folder = RunFolder.open(run)
    for file, made_by in (("samples.tsv", "csl sample"), ("model.npz", "csl fit"))[: 1 + check]:
        folder.needed(file, made_by)
    given = {"number": number, "wordings": wordings, "check": check, "model": str(reader) if reader else ""}
    recipe = Configured(None, config, settings).apply(folder.recipe(), "train", {"model": model})
    recipe = recipe.changed({f"reword.{key}": value for key, value in given.items() if value is not None})
    run_stages(run, recipe, (REVERSE, REWORD), threads or 1, resume=resume, device=device)
    new_console().print(f"wrote {run / 'reworded.tsv'}")
