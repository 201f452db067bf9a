"""`csl grammar coverage` and `csl grammar explain`: what a grammar derives, and how."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import CpuThreads, Reading, model_of, shares_options

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.console import Console

    from csl.examples import Example
    from csl.grammar import OutputCfg
    from csl.model.model import Model
    from csl.parsing.derivation import Derivation
    from csl.parsing.deriver import Deriver
    from csl.preparing.preparation import Preparation

MOST_CATEGORIES = 40  # a third column with more values than this is not a category

Run = Annotated[Path, typer.Argument(help="Run folder with a grammar.txt, or a grammar file.")]


@shares_options
def coverage(
    run: Run,
    data: Annotated[
        Path, typer.Argument(help="Examples, of any format; a column `category`, 3 of a TSV, makes groups.")
    ],
    missing: Annotated[
        Path | None, typer.Option(help="Write the examples that are not derivable to this .tsv or .jsonl file.")
    ] = None,
    *,
    threads: CpuThreads = 1,
    reading: Reading,
) -> None:
    """Count the examples that the grammar derives, and the inputs that it derives to any output."""
    from csl.engine import Threads
    from csl.examples import write_examples
    from csl.files import refuse_input_as_output

    refuse_input_as_output(missing, run, data)
    columns = ("category",)
    raw, preparation = reading.examples(data), _preparation(run)
    examples = [
        replace(preparation.example(pair.source_text, pair.target_text), meta=pair.meta) if preparation else pair
        for pair in raw
    ]
    deriver = _deriver(run)
    console = new_console()
    console.print(f"{len(deriver.rules):,} rules, {len(examples):,} examples")
    with Messages("parsing …", stderr=True):
        engine = Threads(threads)
        right = deriver.derivable(examples, engine)
        covered = deriver.covered([example.source for example in examples], engine)
    _print_shares(console, examples, right, covered)
    _print_unknown(console, deriver, examples, covered)
    if missing:
        lost = [example for example, found in zip(raw, right, strict=True) if not found]
        kept = columns if any(example.meta for example in lost) else ()
        write_examples(missing, lost, columns=kept)
        console.print(f"{missing}: {len(lost):,} examples that are not derivable")


def _print_shares(
    console: "Console", examples: "list[Example]", right: "npt.NDArray[np.bool_]", covered: "npt.NDArray[np.bool_]"
) -> None:
    """Print a table: all examples, then those of each category, if there are categories."""
    from rich.table import Table
    from rich.text import Text

    table = Table("", box=None, pad_edge=False)
    for header in ("examples", "correct output", "", "any output", ""):
        table.add_column(header, justify="right", no_wrap=True)
    groups: dict[str, list[int]] = {}
    for place, example in enumerate(examples):
        groups.setdefault(example.meta.get("category", ""), []).append(place)
    rows = {"all": list(range(len(examples)))}
    if 1 < len(groups) <= MOST_CATEGORIES:
        rows |= {f"  {name or '(none)'}": groups[name] for name in sorted(groups)}
    for name, places in rows.items():
        shares = (
            cell
            for found in (right, covered)
            for count in [int(found[places].sum())]
            for cell in (f"{count:,}", _percent(count, len(places)))
        )
        table.add_row(Text(name), f"{len(places):,}", *shares)
    console.print(table)


def _percent(count: int, total: int) -> str:
    """Write a share, rounded down: 100 % means all."""
    return f"{10_000 * count // total / 100:.2f} %"


def _print_unknown(
    console: "Console", deriver: "Deriver", examples: "list[Example]", covered: "npt.NDArray[np.bool_]"
) -> None:
    lost = [example for example, found in zip(examples, covered, strict=True) if not found]
    unknown = [tokens for example in lost if (tokens := deriver.unknown_tokens(example.source))]
    if unknown:
        counts = Counter(token for tokens in unknown for token in tokens)
        most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        shown = ", ".join(f"{token} {count:,}" for token, count in most[:10]) + (", …" if len(most) > 10 else "")
        console.print(f"inputs with a token that no rule knows: {len(unknown):,} ({shown})")


def explain(
    run: Run,
    input: Annotated[str, typer.Argument(help="An input, as one argument: tokens between spaces.")],
    output: Annotated[str | None, typer.Argument(help="The output, if only its derivation is wanted.")] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Derivations to draw, at most; those with other outputs first.")
    ] = 3,
) -> None:
    """Draw how the grammar derives an input (to an output), or show the parts of it that it does derive.

    In a run folder with a model, the parser's own derivation comes first, with the types of an output CFG.

    Exits with 1 if there is no such derivation.
    """
    from csl.errors import InputError
    from csl.examples import Example

    pair = Example.of(input, output or "")
    if not pair.source or (output is not None and not pair.target):
        raise InputError(f"the {'output' if pair.source else 'input'} is empty; give at least one token")
    model = _model(run)
    if preparation := _preparation(run):
        pair = _prepared(preparation, model, input, output)
    deriver = model.deriver if model else _deriver(run)
    console = new_console()
    with Messages("deriving (the first run compiles for a while) …", stderr=True):
        derivation = None if output is None else deriver.derivation(pair)
        analyses = [] if derivation else deriver.analyses(pair.source, limit)
    if derivation:
        _print_derivation(console, derivation, model.output_cfg if model else None)
        return
    if not analyses:
        _print_parts(console, deriver, pair.source)
        raise typer.Exit(1)
    if output is not None:
        console.print("the grammar does not derive this output; the input derives to:")
        for target in dict.fromkeys(analysis.example.target_text for analysis in analyses):
            console.print(f"  {target}")
        raise typer.Exit(1)
    count = deriver.analysis_count(pair.source)
    if model:
        own = _print_parse(console, model, pair.source)
        analyses = [*([own] if own else []), *(analysis for analysis in analyses if analysis != own)][:limit]
    for number, analysis in enumerate(analyses, start=1):
        if number > 1:
            console.print()
        if count > 1:
            console.print(f"derivation {number} of {count:,}")
        _print_derivation(console, analysis, model.output_cfg if model else None)


def _print_parse(console: "Console", model: "Model", source: tuple[str, ...]) -> "Derivation | None":
    """Say what the parser does with an input; return its derivation."""
    from csl.model.config import INFERENCE
    from csl.parsing.limits import Abstained

    (outcome,) = model.outcomes([source])
    if isinstance(outcome, Abstained):
        console.print(f"the parser gives no output: {outcome.value}")
        return None
    how = INFERENCE[model.inference] if model.output_cfg else "the best derivation"
    console.print(f"the parser takes derivation 1, {how}: log p {outcome.log_prob:.3f}")
    return outcome.derivation


def _print_derivation(console: "Console", derivation: "Derivation", cfg: "OutputCfg | None" = None) -> None:
    """Print the derived pair and the tree of rules, with types if there is an output CFG and they fit."""
    from csl.parsing.derivation import types_of
    from csl.parsing.drawing import draw_derivation

    example = derivation.example
    console.print(f"{example.source_text}\n→ {example.target_text}", style="bold")
    console.print(draw_derivation(derivation, types_of(derivation, cfg) if cfg else ()), soft_wrap=False)


def _print_parts(console: "Console", deriver: "Deriver", source: tuple[str, ...]) -> None:
    """Print an input that is not covered: the largest parts that are, and the tokens that no rule knows."""
    from rich.text import Text

    from csl.parsing.drawing import draw_spans

    spans, unknown = deriver.covered_spans(source), deriver.unknown_tokens(source)
    parts = "the largest parts that are stand in brackets" if spans else "no part of it is"
    console.print(f"the grammar does not cover this input; {parts}:")
    for line in draw_spans(source, spans, unknown):
        console.print(Text("  ") + line)
    if unknown:
        console.print(f"tokens that no rule knows: {' '.join(unknown)}")


def _preparation(run: Path) -> "Preparation | None":
    """Open what a run folder knows of raw text, if it has learnt from such."""
    from csl.runs.folder import RunFolder

    return RunFolder(run).preparation() if run.is_dir() else None


def _prepared(preparation: "Preparation", model: "Model | None", input: str, output: str | None) -> "Example":
    """Give raw text as the grammar knows it; an input alone is read as the parser reads it."""
    from csl.examples import Example
    from csl.preparing.parser import Answer, Parser

    if output is not None:
        return preparation.example(input, output)
    (answer,) = Parser(model, preparation).answers([input]) if model else (None,)
    reading = answer.reading if isinstance(answer, Answer) else preparation.readings(input)[0]
    return Example(reading.source, ())


def _model(run: Path) -> "Model | None":
    """Open the model of a run folder, if it has one."""
    return model_of(run) if (run / "model.npz").exists() else None


def _deriver(run: Path) -> "Deriver":
    from csl.cli.grammar import open_grammar
    from csl.parsing.deriver import Deriver

    return Deriver(open_grammar(run))
