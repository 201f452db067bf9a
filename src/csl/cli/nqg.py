"""`csl nqg`: the predecessor of CSL (Shaw et al. 2021) on the same data and in the same folders."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import LiveLine, new_console

if TYPE_CHECKING:
    from csl.baselines.nqg.induction import Addition

PLAIN = 500  # rules added, or steps, between lines where there is no terminal

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
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Induce a grammar that derives every example of TRAIN, as NQG does: the best rule first, one at a time.

    Writes grammar.txt, config.json and metrics.jsonl to the run folder.
    """
    from csl.baselines.nqg.config import preset as find_preset
    from csl.data import read_examples
    from csl.data.options import changed, parse_setting, read_options
    from csl.experiment.nqg import induce_into
    from csl.grammar.output_cfg import OutputCfg

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
