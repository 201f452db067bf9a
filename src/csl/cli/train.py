"""`csl train`: fine-tune a sequence-to-sequence model on original and synthetic pairs."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import LiveLine, new_console

if TYPE_CHECKING:
    from csl.seq2seq.train import Progress

PLAIN = 500  # steps between lines where there is no terminal


def _list_options(wanted: bool) -> None:
    if not wanted:
        return
    from csl.seq2seq.config import TrainConfig

    for name, field in TrainConfig.model_fields.items():
        typer.echo(f"{name} = {field.default!r}: {field.description}")
    raise typer.Exit


def train(
    examples: Annotated[Path, typer.Argument(metavar="TRAIN", help="Original examples: .tsv or .jsonl, plain or .gz.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    synthetic: Annotated[
        list[Path] | None, typer.Option(help="Synthetic examples, as csl sample writes them; may be repeated.")
    ] = None,
    dev: Annotated[Path | None, typer.Option(help="Examples to keep the best weights by.")] = None,
    model: Annotated[
        str | None, typer.Option(help="A Hugging Face name or folder. Default: scratch, a new small T5.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with options.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option as key=value; may be repeated. See --options.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads on the CPU; default: as torch chooses.")] = None,
    resume: Annotated[bool, typer.Option(help="Go on with a training that was stopped, if it is the same.")] = True,
    options: Annotated[
        bool,
        typer.Option(
            "--options",
            is_eager=True,
            callback=_list_options,
            help="List the options of --set and exit.",
        ),
    ] = False,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Train a model on TRAIN and, in the proportion `synthetic`, on synthetic pairs.

    Writes the model with the best accuracy on dev, or the last one, to the folder `model` of the run folder.

    A training that was stopped goes on where it was when the command is given again. For several GPUs give it to
    `accelerate launch -m csl` or `torchrun -m csl`.
    """
    from csl.examples import read_examples
    from csl.options import changed, parse_setting, read_options
    from csl.seq2seq.config import TrainConfig

    console, start = new_console(), time.perf_counter()
    chosen = TrainConfig()
    given = read_options(config, "train", chosen) if config else {}
    given |= map(parse_setting, settings or [])
    given |= {"model": model} if model else {}
    chosen = changed(chosen, given)
    fields = {"source_field": input_field, "target_field": output_field}
    original, made, held_out = (
        [example for path in paths for example in read_examples(path, **fields)]
        for paths in ([examples], synthetic or [], [dev] if dev else [])
    )
    need_torch()
    import torch
    from accelerate import PartialState

    if torch.distributed.is_available():
        import torch.distributed.nn  # now: imported after the processes join it would hold their group for good
    from csl.runs.training import train as run
    from csl.seq2seq.predictor import use_threads

    use_threads(threads)
    again = "the same command" if resume else "the same command without --no-resume"
    with LiveLine(console, "loading …", f"stopped; {again} goes on from the last checkpoint") as live:

        def show(report: "Progress") -> None:
            line = f"step {report.step:,} of {chosen.steps:,}: loss {report.loss:.4f}"
            line += f", {report.steps_per_second:.1f} steps a second"
            live.update(line, line if report.step % PLAIN == 0 and report.dev is None else "")

        run(
            original, out, chosen, synthetic=made, dev=held_out, device=device, resume=resume,
            about={"original": len(original), "synthetic": len(made)}, say=console.print, progress=show,
        )  # fmt: skip
    processes = PartialState()
    if processes.is_main_process:
        console.print(f"model: {out / 'model'}; {time.perf_counter() - start:.1f} s")
    processes.destroy_process_group()  # its threads would outlive Python, and then may abort the process


def need_torch() -> None:
    """Say what to install where the libraries of seq2seq models are missing."""
    from importlib.util import find_spec

    from csl.errors import InputError

    missing = [name for name in ("torch", "transformers", "accelerate", "safetensors") if find_spec(name) is None]
    if missing:
        package = "compositional-structure-learner[seq2seq]"
        raise InputError(f"not installed: {', '.join(missing)}; install them with pip install '{package}'")
