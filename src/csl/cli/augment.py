"""`csl augment`: from examples to an augmented training set, with no configuration."""

import time
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import LiveLine, new_console

SHOWN = 10  # new pairs shown at the end


def augment(
    train: Annotated[Path, typer.Argument(help="Examples: .tsv (input<TAB>output) or .jsonl, or either with .gz.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    number: Annotated[int, typer.Option("-n", min=1, help="How many synthetic pairs.")] = 100_000,
    preset: Annotated[str, typer.Option(help="auto, scan, cogs, geoquery or smcalflow.")] = "auto",
    seeds: Annotated[list[Path] | None, typer.Option(help="A file of seed rules; may be repeated.")] = None,
    output_cfg: Annotated[Path | None, typer.Option(help="A CFG of valid outputs.")] = None,
    strategy: Annotated[str | None, typer.Option(help="model, tempered, uniform or coverage.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Divides θ of rules; inf: all alike. Means tempered.")
    ] = None,
    unique: Annotated[bool, typer.Option("--unique", help="Each synthetic pair once.")] = False,
    new: Annotated[bool, typer.Option("--new", help="No synthetic pair that is in TRAIN.")] = False,
    weights: Annotated[bool, typer.Option("--weights", help="Write each pair once, with a weight.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of fitting and sampling.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result is the same for any number.")] = 1,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Augment TRAIN: induce a grammar, fit a model, sample new pairs, and merge them with the old in equal parts.

    Writes augmented.tsv, and all that was made on the way, to the run folder. Says at each stage what was found, and
    warns when the grammar looks too weak to help.
    """
    from csl.data import read_examples
    from csl.data.options import changed
    from csl.experiment.augmenting import Plan, augment_into
    from csl.grammar.notation import read_rules
    from csl.grammar.output_cfg import OutputCfg
    from csl.induction import auto
    from csl.induction import config as induction
    from csl.model import config as fitting
    from csl.sampling import config as sampling

    console, start = new_console(), time.perf_counter()
    rules = [rule for file in seeds or [] for rule in read_rules(file)]
    cfg = OutputCfg.read(output_cfg) if output_cfg else None
    examples = list(read_examples(train, source_field=input_field, target_field=output_field))
    console.print(f"{train}: {len(examples):,} examples")
    if preset == "auto":
        choice = auto.choose(examples)
        inducing, rules = choice.config, [*rules, *choice.seeds]
        for reason in choice.reasons:
            console.print(f"auto: {reason}", style="dim")
        small = inducing.max_nonterminals == induction.PRESETS["scan"].max_nonterminals
        fit_options = fitting.choose(0 if small else 1_000, len(examples))[0]
        drawing = sampling.choose(0 if small else 1_000)
    else:
        inducing, fit_options, drawing = induction.preset(preset), fitting.preset(preset), sampling.preset(preset)
    given = {
        "strategy": strategy or ("tempered" if temperature is not None else drawing.strategy),
        "temperature": drawing.temperature if temperature is None else temperature,
        "unique": unique, "new": new, "seed": seed,
    }  # fmt: skip
    plan = Plan(inducing, changed(fit_options, {"seed": seed}), changed(drawing, given), number, weights)
    with LiveLine(console, "working …", "stopped; the same command goes on with what is done") as live:
        warnings = augment_into(
            out, examples, plan, seeds=list(dict.fromkeys(rules)), output_cfg=cfg, threads=threads,
            about={"train": str(train), "examples": len(examples)}, say=console.print, progress=live.update,
        )  # fmt: skip
    known, shown = set(examples), 0
    for example in read_examples(out / "samples.tsv"):
        if example not in known and shown < SHOWN:
            if not shown:
                console.print("pairs that the training set does not have:")
            known.add(example)
            shown += 1
            console.print(f"  {example.source_text} → {example.target_text}")
    for warning in warnings:
        console.print(f"warning: {warning}", style="yellow")
    console.print(f"wrote {out / 'augmented.tsv'}; {time.perf_counter() - start:.1f} s")
