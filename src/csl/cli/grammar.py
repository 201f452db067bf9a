"""`csl grammar …`: look at grammars, check them, and accept those that were edited."""

from collections.abc import Sized
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from csl.cli.console import Messages, new_console
from csl.cli.induce import OutputCfgFile, new_recipe
from csl.cli.options import CfgJoint, Configured, CpuThreads, Reading, shares_options

if TYPE_CHECKING:
    from csl.grammar import Grammar

app = typer.Typer(help="Look at a grammar, check it, edit it, and see what it covers.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="A grammar file, or a run folder that has a grammar.txt.")]


@app.command()
def show(file: File) -> None:
    """Show the rules, sorted by arity and size (the number of symbols on both sides)."""
    from rich.text import Text

    rules = [(rule.arity, len(rule.source) + len(rule.target), str(rule)) for rule in open_grammar(file)]
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

    Seed rules of a run need no use: they are given, and stay. Exits with 1 if there are others.
    """
    from csl.grammar import OutputCfg, read_grammar
    from csl.grammar.check import faults
    from csl.grammar.notation import grammar_file

    path, seeds = grammar_file(file), file / "seed_rules.txt"
    if output_cfg is None:
        known = (file / folder / "output.cfg" for folder in ("prepared", "data"))
        output_cfg = next((own for own in known if own.is_file()), None)
    cfg = OutputCfg.read(output_cfg) if output_cfg else None
    rules = open_grammar(file)
    given = {*read_grammar(seeds)} if seeds.is_file() else set()
    found = list(faults(path, cfg, given))
    for fault in found:
        new_console().print(f"{path}:{fault.line}: {fault.message}: {fault.rule}")
    if found:
        raise typer.Exit(1)
    valid = f"; {output_cfg} derives every target{', seed rules aside' if given else ''}" if cfg else ""
    new_console().print(f"{path}: {_count(rules)}, each once{valid}")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="An output CFG, or a run folder that has one.")],
    form: Annotated[
        Literal["gbnf", "lark"], typer.Option("--format", help="For llama.cpp and xgrammar, or for llguidance.")
    ],
    out: Annotated[Path, typer.Option(help="Write the grammar here.")],
    joint: CfgJoint = None,
) -> None:
    """Write an output CFG as a grammar that constrained decoders load, without left recursion.

    It accepts exactly the outputs of the CFG, as texts. Of a run on raw text, the categories; what values copy from
    inputs may be any text.
    """
    from csl.errors import InputError
    from csl.files import refuse_input_as_output, write_text
    from csl.grammar import OutputCfg
    from csl.grammar.export import to_gbnf, to_lark
    from csl.preparing.writing import as_written
    from csl.runs.folder import RunFolder

    refuse_input_as_output(out, file)
    cfg, preparation = None, None
    if file.is_dir():
        folder = RunFolder.open(file)
        cfg, preparation = folder.decoding_cfg(), folder.preparation()
        if cfg is None:
            raise InputError("the run has no output CFG; give the file of one", file)
    cfg, write = cfg or OutputCfg.read(file), {"gbnf": to_gbnf, "lark": to_lark}[form]
    if preparation:
        cfg, spelling = as_written(cfg, preparation)
        text = write(cfg, joint or "words", spelling)
    else:
        text = write(cfg, joint or "space")
    write_text(out, text)
    new_console().print(f"{out}: {len(text.splitlines()):,} lines, from {file}")


@app.command()
@shares_options
def accept(
    run: Annotated[Path, typer.Argument(help="The run folder, or a folder with a grammar.txt that you wrote.")],
    train: Annotated[
        Path | None, typer.Option(help="The examples of a grammar that you wrote: .tsv or .jsonl, or either with .gz.")
    ] = None,
    output_cfg: OutputCfgFile = None,
    *,
    threads: CpuThreads = 1,
    reading: Reading,
) -> None:
    """Accept a grammar.txt that was edited or written by hand, so that other commands use it.

    Until then they refuse it, as it may be damaged. Says how many rules it has, and what share of the training examples
    it derives. Fit again afterwards.
    """
    from csl.engine import Threads
    from csl.errors import InputError
    from csl.runs.folder import RunFolder
    from csl.runs.stage import Run, Work
    from csl.runs.stages.accept import accept as accept_grammar

    folder = RunFolder.open(run)
    if folder.is_run and (train or output_cfg):
        raise InputError("is a run and has its data; leave out --train and --output-cfg", run)
    if not folder.is_run and not train:
        raise InputError("is not a run yet; give the examples of the grammar with --train", run)
    recipe = new_recipe(Configured(), train, None, output_cfg, reading) if train else folder.recipe()
    with Messages("starting …", "nothing was accepted"):
        figures = accept_grammar(Run(Work(folder, recipe, engine=Threads(threads))))
    share = figures["derivable"] / figures["examples"]
    console = new_console()
    console.print(f"accepted {run / 'grammar.txt'}: {figures['rules']:,} rules, derive {share:.1%} of the examples")
    if share < 1:
        console.print(f"`csl grammar coverage {run} {run / 'data' / 'train.tsv'} --missing FILE` lists the others")
    if (run / "model.npz").exists():
        console.print(f"model.npz is of another grammar: give `csl fit {run}` again")


def open_grammar(path: Path) -> "Grammar":
    """Read a grammar file, or that of a run folder, which must be as the run has it."""
    from csl.grammar import read_grammar
    from csl.runs.folder import RunFolder

    return RunFolder(path).grammar() if path.is_dir() else read_grammar(path)


def _count(rules: Sized) -> str:
    return f"{len(rules):,} rule{'' if len(rules) == 1 else 's'}"
