"""`csl induce`: from examples to a grammar in a run folder."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import LOOKING, LiveLine, new_console
from csl.cli.engine import AddressOption, EngineOption, ThreadsOption, engine_of

if TYPE_CHECKING:
    from rich.console import Console

    from csl.induction.config import InductionConfig
    from csl.induction.induce import Induced, Step


def induce(
    train: Annotated[Path, typer.Argument(help="Examples: .tsv (input<TAB>output) or .jsonl, or either with .gz.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    preset: Annotated[str, typer.Option(help="auto, scan, cogs, geoquery or smcalflow.")] = "auto",
    config: Annotated[Path | None, typer.Option(help="A TOML file with options, applied over the preset.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="An option as key=value; may be repeated.")
    ] = None,
    seeds: Annotated[list[Path] | None, typer.Option(help="A file of seed rules; may be repeated.")] = None,
    output_cfg: Annotated[Path | None, typer.Option(help="A CFG of valid outputs.")] = None,
    threads: ThreadsOption = 1,
    engine: EngineOption = "threads",
    address: AddressOption = None,
    resume: Annotated[bool, typer.Option(help="Go on with the run in the folder if it is the same.")] = True,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Induce a grammar that derives every example of TRAIN.

    Writes grammar.txt, config.json and metrics.jsonl to the run folder.

    A run that was stopped goes on where it was when the command is given again.
    """
    from csl.examples import read_examples
    from csl.examples.example import tally
    from csl.grammar.notation import read_rules
    from csl.grammar.output_cfg import OutputCfg
    from csl.induction.auto import choose, missed_by_presets
    from csl.induction.config import InductionConfig, read_config
    from csl.induction.config import preset as find_preset
    from csl.options import changed, parse_setting

    console, start = new_console(), time.perf_counter()
    given = read_config(config) if config else {}
    given |= map(parse_setting, settings or [])
    options = changed(InductionConfig() if preset == "auto" else find_preset(preset), given)
    rules = [rule for file in seeds or [] for rule in read_rules(file)]
    cfg = OutputCfg.read(output_cfg) if output_cfg else None
    examples = list(read_examples(train, source_field=input_field, target_field=output_field))
    console.print(f"{train}: {tally(examples)}")
    about: dict[str, object] = {"train": str(train), "examples": len(examples)}
    if preset == "auto":
        with LiveLine(console, LOOKING, "stopped; nothing was written"):
            choice = choose(examples, rules, cfg)
        options, rules = changed(choice.config, given), [*rules, *choice.seeds]
        about["reasons"] = choice.reasons
        for reason in choice.reasons:
            console.print(f"auto: {reason}", style="dim")
    elif not rules and (missed := missed_by_presets(examples)):
        console.print(missed, style="dim")

    starting = "starting (the first run compiles for a while) …"
    stopped = "stopped; the same command goes on from the last step"
    with LiveLine(console, starting, stopped) as live, engine_of(threads, engine, address) as opened:
        from csl.runs.run import induce_into

        def show(step: "Step", seconds: float) -> None:
            found = f"{step.rules:,} rules, objective {step.objective:,.0f}, {step.candidates:,} candidates"
            place = f"partition {step.partition}/{step.partitions} step {step.step}"
            live.update(
                f"{place.removeprefix('partition 1/1 ')}: {found}, {seconds:.1f} s",
                f"{place}: {found}, {step.actions:,} actions, {seconds:.2f} s",
            )

        induced = induce_into(
            out, examples, options, seeds=list(dict.fromkeys(rules)), output_cfg=cfg, engine=opened, resume=resume,
            about=about, say=console.print, progress=show,
        )  # fmt: skip
    if induced:
        _summary(console, induced, options, time.perf_counter() - start)
        console.print(f"wrote {out / 'grammar.txt'}")


def _summary(console: "Console", induced: "Induced", config: "InductionConfig", seconds: float) -> None:
    """Say what was found: sizes, rules by arity, and the rules that save most."""
    arities = [rule.arity for rule in induced.grammar]
    by_arity = ", ".join(f"{arities.count(k):,} with {k}" for k in sorted(set(arities)))
    console.print(
        f"{len(induced.grammar):,} rules ({by_arity} nonterminals) derive every example; "
        f"objective {induced.size_before:,.0f} → {induced.objective:,.0f}; {seconds:.1f} s",
        style="bold",
    )
    if not any(arities):
        console.print("No rule that other examples could share saves anything: the grammar derives nothing new.")
    savings = induced.savings(config)
    console.print(f"The rules that save most:\n{'saves':>12}  {'examples':>8}  rule")
    for rule in sorted(savings, key=lambda rule: -savings[rule])[:10]:
        console.print(f"{savings[rule]:12,.0f}  {induced.uses[rule]:8,}  {rule}")
