"""`csl train`: fine-tune a sequence-to-sequence model on original and synthetic pairs."""

from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import (
    LARK,
    Configured,
    Device,
    OutFolder,
    Reading,
    Resume,
    TorchThreads,
    TrainFile,
    shares_options,
)


def _list_options(wanted: bool) -> None:
    if not wanted:
        return
    from csl.seq2seq.config import TrainConfig

    for name, field in TrainConfig.model_fields.items():
        typer.echo(f"{name} = {field.default!r}: {field.description}")
    raise typer.Exit


@shares_options
def train(
    examples: TrainFile,
    out: OutFolder,
    synthetic: Annotated[
        list[Path] | None, typer.Option(help="Synthetic examples, as csl sample writes them; may be repeated.")
    ] = None,
    labelled: Annotated[
        list[Path] | None,
        typer.Option(help="Inputs that csl parse or csl predict labelled: more originals; may be repeated."),
    ] = None,
    dev: Annotated[Path | None, typer.Option(help="Examples to keep the best weights by.")] = None,
    output_cfg: Annotated[
        Path | None,
        typer.Option(
            help="A CFG of valid outputs, or a Lark grammar of csl grammar export, for csl predict; kept in the run "
            "folder. Default: that of the run on raw text that the examples or synthetic pairs are from."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A Hugging Face name or folder: seq2seq or decoder. Default: scratch, a new T5.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with options.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option as key=value; may be repeated. See --options.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of new weights, batches and dropout.")] = 0,
    device: Device = "auto",
    threads: TorchThreads = None,
    resume: Resume = True,
    *,
    reading: Reading,
    options: Annotated[
        bool,
        typer.Option("--options", is_eager=True, callback=_list_options, help="List the options of --set and exit."),
    ] = False,
) -> None:
    """Train a model on EXAMPLES and, in the proportion `synthetic`, on synthetic pairs.

    Writes the model with the best accuracy on dev, or the last one, to the folder `model` of the run folder.

    A training that was stopped resumes when the command is given again. For several GPUs give it to `accelerate launch
    -m csl` or `torchrun -m csl`.
    """
    from csl.runs.folder import output_cfg_of
    from csl.runs.recipe import Recipe

    if output_cfg is None:
        sources = filter(None, map(output_cfg_of, [*(synthetic or ()), examples]))
        output_cfg = next((path for path in sources if path.suffix == LARK), None)
    kind = "decoding" if output_cfg and output_cfg.suffix == LARK else "output_cfg"
    parts = ("synthetic", synthetic), ("labelled", labelled)
    files: dict[str, object] = {f"data.{name}": tuple(map(str, paths or ())) for name, paths in parts}
    single = ("train", examples), ("dev", dev), (kind, output_cfg)
    files |= {f"data.{name}": str(path) for name, path in single if path}
    recipe = Recipe(examples.stem, examples.name).changed(files | reading.settings).seeded(seed)
    recipe = Configured(None, config, settings).apply(recipe, "train", {"model": model})
    from csl.hub import need_torch

    need_torch()
    import torch
    from accelerate import PartialState

    if torch.distributed.is_available():
        import torch.distributed.nn  # now: imported after the processes join it would hold their group for good
    from csl.runs.folder import RunFolder
    from csl.runs.stage import Run, Work
    from csl.runs.stages.data import Data
    from csl.runs.stages.train import Train
    from csl.seq2seq.predictor import use_threads

    use_threads(threads)
    processes = PartialState(cpu=device == "cpu" or not torch.cuda.is_available())
    with Messages("loading …", "give the same command again to resume"):
        if processes.is_main_process:
            run = Run(Work(RunFolder(out), recipe), resume=resume)
            run.refuse_other(Train())  # before anything is written
            run.do([Data()])
        processes.wait_for_everyone()
        work = Work(RunFolder(out), recipe, device=device)
        Run(work, resume=resume, main=processes.is_main_process, wait=processes.wait_for_everyone).do([Train()])
    if processes.is_main_process:
        new_console().print(f"model: {out / 'model'}")
    processes.destroy_process_group()  # its threads would outlive Python, and then may abort the process
