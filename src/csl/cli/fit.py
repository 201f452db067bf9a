"""`csl fit`: from a grammar to a model in the same run folder."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import LiveLine, new_console
from csl.cli.engine import AddressOption, EngineOption, ThreadsOption, engine_of

if TYPE_CHECKING:
    from csl.model.fit import Progress

PLAIN = 500  # steps between lines where there is no terminal


def fit(
    run: Annotated[Path, typer.Argument(help="The run folder with the grammar.")],
    train: Annotated[Path | None, typer.Option(help="Examples; default: those the grammar was induced from.")] = None,
    unlabeled: Annotated[
        Path | None, typer.Option(help="Inputs, one a line, that the model labels itself before a second fit.")
    ] = None,
    ratio: Annotated[float, typer.Option(min=0, max=1000, help="Labelled inputs to examples in the second fit.")] = 1.0,
    preset: Annotated[str, typer.Option(help="auto, scan, cogs, geoquery or smcalflow.")] = "auto",
    config: Annotated[Path | None, typer.Option(help="A TOML file with options, applied over the preset.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option as key=value; may be repeated.")
    ] = None,
    threads: ThreadsOption = 1,
    engine: EngineOption = "threads",
    address: AddressOption = None,
    resume: Annotated[bool, typer.Option(help="Go on with a fit that was stopped, if it is the same.")] = True,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Fit the probabilities of the grammar's rules to examples.

    Writes model.npz to the run folder. Parsing and sampling need it.

    A fit that was stopped goes on where it was when the command is given again.
    """
    from csl.examples import read_examples
    from csl.examples.formats import read_inputs
    from csl.model.config import FitConfig, choose
    from csl.model.config import preset as find_preset
    from csl.options import changed, parse_setting, read_options
    from csl.runs.fitting import fit_into, read_run, training_file

    console, start = new_console(), time.perf_counter()
    options = FitConfig() if preset == "auto" else find_preset(preset)
    given = read_options(config, "fit", options) if config else {}
    given |= map(parse_setting, settings or [])
    options = changed(options, given)
    grammar, _ = read_run(run)
    fields = {"source_field": input_field, "target_field": output_field}
    examples = list(read_examples(train or training_file(run), **fields))
    inputs = [tuple(line.split()) for line in read_inputs(unlabeled, input_field)] if unlabeled else []
    if preset == "auto":
        chosen, reason = choose(len(grammar), len(examples))
        options = changed(chosen, given)
        console.print(f"auto: {reason}", style="dim")

    building = "building the forests of the training pairs (the first run compiles for a while) …"
    stopped = "stopped; the same command goes on from the last report"
    with LiveLine(console, building, stopped) as live, engine_of(threads, engine, address) as opened:

        def show(report: "Progress") -> None:
            line = f"step {report.step:,} of {report.steps:,}: mean log p(x, y) {report.train:.3f}"
            if options.restarts > 1:
                line = f"start {1 + report.seed % options.restarts:,} of {options.restarts:,}, {line}"
            live.update(line, line if report.step % PLAIN == 0 else "")

        fitted = fit_into(
            run, examples, options, unlabelled=[i for i in inputs if i], ratio=ratio, engine=opened,
            resume=resume, say=console.print, progress=show,
        )  # fmt: skip
    if not fitted:
        return
    for example in fitted.left_out[:3]:
        console.print(f"left out: {example.source_text} → {example.target_text}")
    if fitted.left_out:
        console.print(f"{len(fitted.left_out):,} pairs left out: the grammar does not derive them, or in too many ways")
    console.print(
        f"{options.states} states, {fitted.steps:,} steps: mean log p(x, y) {fitted.log_prob:.3f}; "
        f"{time.perf_counter() - start:.1f} s"
    )
    console.print(f"wrote {run / 'model.npz'}")
