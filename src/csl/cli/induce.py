"""`csl induce`: from examples to a grammar in a run folder."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
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
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result is the same for any number.")] = 1,
    resume: Annotated[bool, typer.Option(help="Go on with the run in the folder if it is the same.")] = True,
) -> None:
    """Induce a grammar that derives every example of TRAIN.

    Writes grammar.txt, config.json and metrics.jsonl to the run folder. A run that was stopped goes on where it was
    when the same command is given again.
    """
    console = Console(highlight=False)
    from csl.data import read_examples
    from csl.grammar.notation import read_rules
    from csl.grammar.output_cfg import OutputCfg
    from csl.induction.auto import choose
    from csl.induction.config import changed, parse_setting, read_config
    from csl.induction.config import preset as find_preset

    start = time.perf_counter()
    examples = list(read_examples(train))
    console.print(f"{train}: {len(examples):,} examples, {len(set(examples)):,} distinct")
    rules = [rule for file in seeds or [] for rule in read_rules(file)]
    about: dict[str, object] = {"train": str(train), "examples": len(examples)}
    if preset == "auto":
        choice = choose(examples)
        options, rules = choice.config, [*rules, *choice.seeds]
        about["reasons"] = choice.reasons
        for reason in choice.reasons:
            console.print(f"[dim]auto:[/] {reason}", soft_wrap=True)
    else:
        options = find_preset(preset)
    options = changed(options, read_config(config) if config else {})
    options = changed(options, map(parse_setting, settings or []))
    cfg = OutputCfg.read(output_cfg) if output_cfg else None

    with _Progress(console) as progress:
        from csl.experiment.run import induce_into

        induced = induce_into(
            out, examples, options, seeds=rules, output_cfg=cfg, threads=threads, resume=resume, about=about,
            say=lambda line: console.print(line, markup=False), progress=progress.update,
        )  # fmt: skip
    if induced:
        _summary(console, induced, options, time.perf_counter() - start)
        console.print(f"wrote {out / 'grammar.txt'}", markup=False)


class _Progress:
    """One live line at a terminal, one plain line a step otherwise."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(Text("starting (the first run compiles for a while) …"), console=console, transient=True)

    def __enter__(self) -> "_Progress":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, step: "Step", seconds: float) -> None:
        line = (
            f"partition {step.partition}/{step.partitions} step {step.step}: {step.rules:,} rules, "
            f"objective {step.objective:,.0f}, {step.candidates:,} candidates, {step.actions:,} actions, "
            f"{seconds:.2f} s"
        )
        if self._console.is_terminal:
            self._live.update(Text(line))
        else:
            self._console.print(line, soft_wrap=True)


def _summary(console: Console, induced: "Induced", config: "InductionConfig", seconds: float) -> None:
    """Say what was found: sizes, rules by arity, and the rules that save most."""
    arities = [rule.arity for rule in induced.grammar]
    by_arity = ", ".join(f"{arities.count(k):,} with {k}" for k in sorted(set(arities)))
    console.print(
        f"[bold]{len(induced.grammar):,} rules[/] ({by_arity} nonterminals) derive every example; "
        f"objective {induced.size_before:,.0f} → {induced.objective:,.0f}; {seconds:.1f} s",
        soft_wrap=True,
    )
    savings = induced.savings(config)
    table = Table("saves", "examples", "rule", title="The rules that save most", title_justify="left", box=None)
    for column in table.columns[:2]:
        column.justify = "right"
    for rule in sorted(savings, key=lambda rule: -savings[rule])[:10]:
        table.add_row(f"{savings[rule]:,.0f}", f"{induced.uses[rule]:,}", Text(str(rule)))
    console.print(table)
