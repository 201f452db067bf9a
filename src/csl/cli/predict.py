"""`csl predict`: outputs for inputs, by a model that `csl train` wrote."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import CfgJoint, Device, Mask, TorchThreads
from csl.hub import need_torch
from csl.log import Log

log = Log("predict")


def predict(
    run: Annotated[Path, typer.Argument(help="The run folder of csl train.")],
    inputs: Annotated[
        Path, typer.Argument(help="Inputs, one a line; the first column of .tsv, a field of .jsonl. Plain or .gz.")
    ],
    out: Annotated[Path | None, typer.Option(help="Write input<TAB>output here; default: standard output.")] = None,
    beams: Annotated[int, typer.Option(min=1, help="Beams of the search; 1: greedy.")] = 1,
    k: Annotated[int, typer.Option("-k", min=1, help="Give so many outputs, the best first; needs as many beams.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Give log p(output | input) after each output.")] = False,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Inputs at a time; default: by their length.")] = None,
    output_cfg: Annotated[
        Path | None, typer.Option(help="Only write outputs of this CFG. Default: that of the run, if it has one.")
    ] = None,
    joint: CfgJoint = "space",
    mask: Mask = True,
    device: Device = "auto",
    threads: TorchThreads = None,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
) -> None:
    """Predict the output of each input, written as input<TAB>output."""
    from csl.errors import InputError
    from csl.examples.formats import read_inputs
    from csl.files import atomic_write_text, refuse_input_as_output
    from csl.grammar.output_cfg import OutputCfg
    from csl.runs.folder import output_cfg_of

    refuse_input_as_output(out, inputs)
    sources = read_inputs(inputs, input_field)
    if mask:
        output_cfg = output_cfg or output_cfg_of(run)
    elif output_cfg:
        raise InputError("--output-cfg and --no-mask exclude each other; leave out one")
    cfg = OutputCfg.read(output_cfg) if output_cfg else None
    need_torch()
    from csl.seq2seq.mask import OutputMask
    from csl.seq2seq.predictor import Seq2Seq, use_threads

    use_threads(threads)
    console, start = new_console(stderr=True), time.perf_counter()
    with Messages("loading …", "nothing was written", stderr=True):
        model = Seq2Seq.load(run, device)
        found = model.predict(
            sources, beams=beams, k=k, scores=scores, batch_size=batch_size,
            mask=OutputMask(cfg, model.codec, joint) if cfg else None,
            progress=lambda done: log.progress(f"predicted {done:,} of {len(sources):,}"),
        )  # fmt: skip
    rows = (
        "\t".join([source, *(p.text if p.log_prob is None else f"{p.text}\t{p.log_prob:.3f}" for p in outputs)])
        for source, outputs in zip(sources, found, strict=True)
    )
    if out is None:
        sys.stdout.writelines(row + "\n" for row in rows)
        return
    with atomic_write_text(out) as file:
        file.writelines(row + "\n" for row in rows)
    console.print(f"{out}: {len(sources):,} predictions; {time.perf_counter() - start:.1f} s")
