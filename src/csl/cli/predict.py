"""`csl predict`: outputs for inputs, by a model that `csl train` wrote."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import CfgJoint, Device, Mask, OutFormat, Reading, TorchThreads, shares_options
from csl.hub import need_torch
from csl.log import Log

log = Log("predict")
INPUTS = "Inputs: one a line, or examples of any format, whose outputs are not needed; -: standard input."


@shares_options
def predict(
    run: Annotated[Path, typer.Argument(help="The run folder of csl train.")],
    inputs: Annotated[Path, typer.Argument(help=INPUTS)],
    out: Annotated[Path | None, typer.Option(help="Write inputs and outputs here; default: standard output.")] = None,
    beams: Annotated[int, typer.Option(min=1, help="Beams of the search; 1: greedy.")] = 1,
    k: Annotated[int, typer.Option("-k", min=1, help="Give so many outputs, the best first; needs as many beams.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Give log p(output | input) after each output.")] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Give the probability that the best output is correct.")
    ] = False,
    abstain_below: Annotated[
        float | None, typer.Option(min=0, max=1, help="Write no output where the confidence is below this.")
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Fit confidences to INPUTS, which have the correct outputs; nothing else."),
    ] = False,
    parser: Annotated[
        Path | None,
        typer.Option(
            help="A run with a grammar, for confidences. Default: that of the model's own run, if it has one."
        ),
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Inputs at a time; default: by their length.")] = None,
    output_cfg: Annotated[
        Path | None,
        typer.Option(
            help="Only write outputs of this CFG, or Lark grammar of csl grammar export. Default: that of the run, if "
            "it has one."
        ),
    ] = None,
    joint: CfgJoint = None,
    mask: Mask = True,
    device: Device = "auto",
    threads: TorchThreads = None,
    format: OutFormat = None,
    *,
    reading: Reading,
) -> None:
    """Predict the output of each input; both are written, in the format of the inputs."""
    from csl.errors import InputError
    from csl.examples import split_tokens
    from csl.examples.formats import write_outputs
    from csl.files import refuse_input_as_output
    from csl.runs.folder import output_cfg_of, preparation_of

    refuse_input_as_output(out, inputs)
    rows = reading.rows(inputs, inputs_only=not calibrate)
    sources = [" ".join(split_tokens(row.input)) for row in rows.rows]
    if mask:
        output_cfg = output_cfg or output_cfg_of(run)
    elif output_cfg:
        raise InputError("--output-cfg and --no-mask exclude each other; leave out one")
    need_torch()
    from csl.cli.confidence import Judge
    from csl.preparing.said import Said
    from csl.seq2seq.mask import OutputMask
    from csl.seq2seq.predictor import Seq2Seq, use_threads

    use_threads(threads)
    judge, judged = Judge.of(run, parser), confidence or abstain_below is not None
    if judged:
        judge.calibration()  # refuses a model without one, before the work
    console, start = new_console(stderr=True), time.perf_counter()
    with Messages("loading …", "nothing was written", stderr=True):
        model = Seq2Seq.load(run, device)
        log.progress(f"predicting {len(sources):,} inputs …")
        found = model.predict(
            sources, beams=beams, k=k, scores=scores or calibrate or judged, batch_size=batch_size,
            mask=OutputMask.read(output_cfg, model.codec, joint) if output_cfg else None,
            progress=lambda done: log.progress(f"predicted {done:,} of {len(sources):,}"),
        )  # fmt: skip
        if mask and (preparation := preparation_of(run)):
            said = Said(preparation)
            found = [
                [replace(p, text=said.mend(row.input, p.text)) for p in outputs]
                for row, outputs in zip(rows.rows, found, strict=True)
            ]
        if calibrate:
            for line in judge.calibrate(rows, found):
                log.info(line)
            return
        sure = judge.confidences(rows, found) if judged else []
    named: list[dict[str, str]] = []
    for place, outputs in enumerate(found):
        columns = numbered([(p.text, p.log_prob if scores else None) for p in outputs], ("output", "log_prob"), k)
        if abstain_below is not None and sure[place] < abstain_below:
            columns |= {name: "" for name in columns if name.startswith("output")}
        named.append(columns | ({"confidence": f"{sure[place]:.3f}"} if confidence else {}))
    written = write_outputs(out or "-", rows, named, format=format)
    if abstain_below is not None:
        few = sum(value < abstain_below for value in sure)
        console.print(f"{few:,} of {written:,} inputs get no output: the confidence is below {abstain_below:g}")
    if out:
        console.print(f"{out}: {written:,} predictions; {time.perf_counter() - start:.1f} s")


def numbered(outputs: Sequence[Sequence[str | float | None]], names: Sequence[str], k: int) -> dict[str, str]:
    """Name the values of up to k outputs: `output`, `log_prob`, `output_2`, …; values that are None have no column."""
    known = [name for name, value in zip(names, outputs[0], strict=True) if value is not None] if outputs else names
    found = {}
    for place in range(k):
        values = dict(zip(names, outputs[place] if place < len(outputs) else [""] * len(names), strict=True))
        for name in known:
            value = values[name]
            found[name if not place else f"{name}_{place + 1}"] = value if isinstance(value, str) else f"{value:.3f}"
    return found
