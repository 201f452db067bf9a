"""`csl grammar …`: look at grammars and check them."""

from collections.abc import Sized
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import new_console

app = typer.Typer(help="Look at a grammar, check it, and see what it covers.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="A grammar file, or a run folder that has a grammar.txt.")]


@app.command()
def show(file: File) -> None:
    """Show the rules, sorted by arity and size (the number of symbols on both sides)."""
    from rich.text import Text

    from csl.grammar import read_grammar

    rules = [(rule.arity, len(rule.source) + len(rule.target), str(rule)) for rule in read_grammar(file)]
    arities = [arity for arity, _, _ in rules]
    by_arity = ", ".join(f"{arities.count(k):,} of arity {k}" for k in sorted(set(arities)))
    console = new_console()
    console.print(f"{_count(rules)}, {sum(size for _, size, _ in rules):,} symbols{': ' if rules else ''}{by_arity}")
    console.print("arity  size  rule", style="bold")
    for arity, size, rule in sorted(rules):
        line = Text(f"{arity:5}  {size:4}  {rule}")
        line.highlight_regex(r"(?<= )NT_[1-9][0-9]*(?!\S)", "cyan")
        line.highlight_regex(r"(?<= )###(?= )", "bold yellow")
        console.print(line)


@app.command()
def check(
    file: File,
    output_cfg: Annotated[
        Path | None, typer.Option(help="A CFG of valid outputs; that of the run folder if not given.")
    ] = None,
) -> None:
    """Find rules that occur twice and, with an output CFG, rules that no valid output can use.

    Exits with 1 if there are any.
    """
    from csl.grammar import OutputCfg, read_grammar
    from csl.grammar.check import faults
    from csl.grammar.notation import grammar_file

    path = grammar_file(file)
    if output_cfg is None and (file / "output.cfg").is_file():
        output_cfg = file / "output.cfg"
    cfg = OutputCfg.read(output_cfg) if output_cfg else None
    rules = list(read_grammar(path))
    found = list(faults(path, cfg))
    for fault in found:
        new_console().print(f"{path}:{fault.line}: {fault.message}: {fault.rule}")
    if found:
        raise typer.Exit(1)
    valid = f"; {output_cfg} derives every target" if cfg else ""
    new_console().print(f"{path}: {_count(rules)}, each once{valid}")


def _count(rules: Sized) -> str:
    return f"{len(rules):,} rule{'' if len(rules) == 1 else 's'}"
