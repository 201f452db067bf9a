"""`csl nqg`: the predecessor of CSL (Shaw et al. 2021) on the same data and in the same folders."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import LiveLine, new_console

if TYPE_CHECKING:
    from csl.baselines.nqg.fit import NqgProgress
    from csl.baselines.nqg.induction import Addition

PLAIN = 500  # rules added, or steps, between lines where there is no terminal

Run = Annotated[Path, typer.Argument(help="The run folder with the grammar, of csl nqg induce or of csl induce.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of the encoder; default: as torch likes.")]
InputField = Annotated[str, typer.Option(help="JSON lines: the field with the input.")]
OutputField = Annotated[str, typer.Option(help="JSON lines: the field with the output.")]

app = typer.Typer(help="NQG, the predecessor of CSL: induce a grammar, fit its parser, and use it.")


@app.command()
def induce(
    train: Annotated[Path, typer.Argument(help="Examples: .tsv (input<TAB>output) or .jsonl, or either with .gz.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    preset: Annotated[str, typer.Option(help="scan, cogs or geoquery.")] = "cogs",
    config: Annotated[Path | None, typer.Option(help="A TOML file with options, applied over the preset.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option as key=value; may be repeated.")
    ] = None,
    output_cfg: Annotated[Path | None, typer.Option(help="A CFG of valid outputs, for parsing.")] = None,
    input_field: InputField = "input",
    output_field: OutputField = "output",
) -> None:
    """Induce a grammar that derives every example of TRAIN, as NQG does: the best rule first, one at a time.

    Writes grammar.txt, config.json and metrics.jsonl to the run folder.
    """
    from csl.baselines.nqg.config import preset as find_preset
    from csl.examples import read_examples
    from csl.grammar.output_cfg import OutputCfg
    from csl.options import changed, parse_setting, read_options
    from csl.runs.nqg import induce_into

    console, start = new_console(), time.perf_counter()
    options = find_preset(preset)
    given = read_options(config, "nqg_induction", options) if config else {}
    given |= map(parse_setting, settings or [])
    options = changed(options, given)
    cfg = OutputCfg.read(output_cfg) if output_cfg else None
    examples = list(read_examples(train, source_field=input_field, target_field=output_field))
    console.print(f"{train}: {len(examples):,} examples, {len(set(examples)):,} distinct")
    with LiveLine(console, "starting (the first run compiles for a while) …", "stopped; nothing was written") as live:

        def show(added: "Addition") -> None:
            line = f"{added.step:,}: gain {added.gain:,.1f}, {added.rules:,} rules: {added.rule}"
            live.update(line, line if added.step % PLAIN == 0 else "")

        about: dict[str, object] = {"train": str(train), "examples": len(examples)}
        grammar = induce_into(out, examples, options, output_cfg=cfg, about=about, progress=show)
    arities = [rule.arity for rule in grammar]
    by_arity = ", ".join(f"{arities.count(k):,} with {k}" for k in sorted(set(arities)))
    seconds = time.perf_counter() - start
    console.print(
        f"{len(grammar):,} rules ({by_arity} nonterminals) derive every example; {seconds:.1f} s", style="bold"
    )
    console.print(f"wrote {out / 'grammar.txt'}")


@app.command()
def fit(
    run: Run,
    encoder: Annotated[str, typer.Option(help="A Hugging Face encoder or encoder-decoder: a folder, or a name.")],
    train: Annotated[Path | None, typer.Option(help="Examples; default: those the grammar was induced from.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with options.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option as key=value; may be repeated.")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on with a fit that was stopped, if it is the same.")] = True,
    device: Device = "auto",
    threads: Threads = None,
    input_field: InputField = "input",
    output_field: OutputField = "output",
) -> None:
    """Fit NQG's model, a pretrained encoder and scores of rules at spans, to examples.

    Writes the folder nqg in the run folder.
    """
    from csl.baselines.nqg.config import NqgFitConfig
    from csl.examples import read_examples
    from csl.options import changed, parse_setting, read_options
    from csl.runs.fitting import training_file
    from csl.runs.nqg import fit_into

    console, start = new_console(), time.perf_counter()
    given = read_options(config, "nqg_fit", NqgFitConfig()) if config else {}
    given |= map(parse_setting, settings or [])
    options = changed(NqgFitConfig(), given)
    path = train or training_file(run)
    examples = list(read_examples(path, source_field=input_field, target_field=output_field))
    place = _place(device, threads)
    stopped = "stopped; the same command goes on from the last report"
    with LiveLine(console, "loading the encoder, building forests …", stopped) as live:

        def show(report: "NqgProgress") -> None:
            line = f"step {report.step:,} of {report.steps:,}: mean log p(y | x) {report.log_prob:.3f}"
            live.update(line, line if report.step % PLAIN == 0 else "")

        fitted = fit_into(
            run, examples, encoder, options, device=place, resume=resume, say=console.print, progress=show
        )
    if fitted.left_out:
        console.print(f"{len(fitted.left_out):,} pairs left out: the grammar does not derive them")
    seconds = time.perf_counter() - start
    console.print(f"{options.steps:,} steps: mean log p(y | x) {fitted.log_prob:.3f}; {seconds:.1f} s")
    console.print(f"wrote {run / 'nqg'}")


@app.command()
def parse(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="INPUT", help="An input, or a file of inputs, one a line.")],
    scores: Annotated[bool, typer.Option(help="Give log p(derivation | input) too.")] = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Parse an input, or a file of inputs (written as input<TAB>output, for csl ensemble).

    The model abstains where no derivation of the input gives a valid output: the output is then empty, and for a single
    input the exit code is 1.
    """
    from csl.examples import split_tokens
    from csl.examples.formats import read_inputs

    file = os.path.isfile(text)
    inputs = read_inputs(text) if file else [text]
    place = _place(device, threads)
    from csl.runs.nqg import load_model

    parses = load_model(run, place).parse_all([split_tokens(line) for line in inputs])
    for line, found in zip(inputs, parses, strict=True):
        cells = [line] if file else []
        cells.append(found.text if found else "")
        if scores and found:
            cells.append(f"{found.log_prob:.3f}")
        if file or found:
            typer.echo("\t".join(cells))
    missing = sum(found is None for found in parses)
    if missing:
        new_console(stderr=True).print(f"{missing:,} of {len(inputs):,} inputs not covered")
    if missing and not file:
        raise typer.Exit(1)


@app.command()
def evaluate(
    run: Run,
    test: Annotated[
        Path, typer.Argument(help="Examples: TSV or JSON lines, plain or .gz. TSV: column 3 is a category.")
    ],
    device: Device = "auto",
    threads: Threads = None,
    input_field: InputField = "input",
    output_field: OutputField = "output",
) -> None:
    """Compare outputs for the inputs of TEST with its outputs; white space around signs does not count.

    Accuracy counts all examples, precision those that get an output.
    """
    import numpy as np

    from csl.cli.evaluate import score_table
    from csl.examples import read_examples
    from csl.examples.score import score

    fields = {"columns": ("category",), "source_field": input_field, "target_field": output_field}
    examples = list(read_examples(test, **fields))  # type: ignore[arg-type]
    place = _place(device, threads)
    from csl.runs.nqg import load_model

    model, console = load_model(run, place), new_console()
    parses = model.parse_all([example.source for example in examples])
    total, groups = score(examples, [found.text if found else "" for found in parses])
    console.print(score_table(groups, total))
    given = model.log_probs(examples)
    derivable = np.isfinite(given)
    mean = float(given[derivable].mean()) if derivable.any() else float("nan")
    console.print(f"{derivable.sum():,} of {len(examples):,} pairs derivable: mean log p(y | x) {mean:.3f}")


def _place(device: str, threads: int | None) -> str:
    """Say which device a name means, once the libraries are known to be there."""
    from csl.cli.train import need_torch

    need_torch()
    from csl.seq2seq.predictor import choose_device, use_threads

    use_threads(threads)
    return str(choose_device(device))
