"""`csl augment`: from examples to an augmented training set, with no configuration."""

import time
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import LOOKING, LiveLine, new_console
from csl.cli.engine import AddressOption, EngineOption, ThreadsOption, engine_of

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
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any option of sampling as key=value; may be repeated.")
    ] = None,
    weights: Annotated[bool, typer.Option("--weights", help="Write each pair once, with a weight.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of fitting and sampling.")] = 0,
    threads: ThreadsOption = 1,
    engine: EngineOption = "threads",
    address: AddressOption = None,
    resume: Annotated[bool, typer.Option(help="Go on with what the folder holds of this run.")] = True,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Augment TRAIN: induce a grammar, fit a model, sample new pairs, and merge them with the old in equal parts.

    Writes augmented.tsv, and all that was made on the way, to the run folder. Says at each stage what was found, and
    warns when the grammar looks too weak to help.
    """
    from csl.errors import InputError
    from csl.examples import read_examples
    from csl.examples.example import tally
    from csl.files import refuse_input_as_output
    from csl.grammar import Rule
    from csl.grammar.notation import read_rules
    from csl.grammar.output_cfg import OutputCfg
    from csl.induction import auto
    from csl.induction import config as induction
    from csl.options import parse_setting
    from csl.runs.augmenting import FILES, Plan, augment_into
    from csl.sampling.config import preset_with

    console, start = new_console(), time.perf_counter()
    if temperature is not None and strategy not in (None, "tempered"):
        raise InputError(f"--temperature is of strategy tempered, not {strategy}; leave one of them out")
    for name in FILES:
        refuse_input_as_output(out / name, train)
    flags = {
        "strategy": strategy or ("tempered" if temperature is not None else None), "temperature": temperature,
        "unique": unique or None, "new": new or None,
    }  # fmt: skip
    drawing = {key: value for key, value in flags.items() if value is not None}
    drawing |= map(parse_setting, settings or [])
    preset_with(preset, drawing).check()  # a wrong value is refused before anything is done
    inducing = induction.InductionConfig() if preset == "auto" else induction.preset(preset)
    rules = [rule for file in seeds or [] for rule in read_rules(file)]
    cfg = OutputCfg.read(output_cfg) if output_cfg else None
    examples = list(read_examples(train, source_field=input_field, target_field=output_field))
    console.print(f"{train}: {tally(examples)}")
    chosen: list[Rule] = []
    if preset == "auto":
        with LiveLine(console, LOOKING, "stopped; nothing was written"):
            choice = auto.choose(examples, rules, cfg)
        inducing, chosen = choice.config, list(choice.seeds)
        for reason in choice.reasons:
            console.print(f"auto: {reason}", style="dim")
    elif not rules and (missed := auto.missed_by_presets(examples)):
        console.print(missed, style="dim")
    plan = Plan(inducing, number, weights, preset, seed, drawing)
    stopped = "stopped; the same command goes on with what is done"
    with LiveLine(console, "working …", stopped) as live, engine_of(threads, engine, address) as opened:
        warnings = augment_into(
            out, examples, plan, seeds=rules, chosen=chosen, output_cfg=cfg, engine=opened, resume=resume,
            about={"train": str(train), "examples": len(examples)}, say=console.print, progress=live.update,
        )  # fmt: skip
    known, shown = set(examples), 0
    for example in read_examples(out / "samples.tsv") if (out / "samples.tsv").stat().st_size else ():
        if example not in known and shown < SHOWN:
            if not shown:
                console.print("pairs that the training set does not have:")
            known.add(example)
            shown += 1
            console.print(f"  {example.source_text} → {example.target_text}")
    for warning in warnings:
        console.print(f"warning: {warning}", style="yellow")
    console.print(f"training set: {out / 'augmented.tsv'}; {time.perf_counter() - start:.1f} s")
