"""`csl errors`: wrong outputs of a system, with the nearest training examples."""

from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from csl.cli.console import new_console

if TYPE_CHECKING:
    from csl.experiments.mistakes import Mistake

COLUMNS = "category", "train input", "train output", "distance", "input", "output", "predicted"


def errors(
    run: Annotated[Path, typer.Argument(help="A run folder of csl run.")],
    system: Annotated[
        str, typer.Option(help="A file in the folder predictions, without .tsv: csl, t5, augmented, …")
    ] = "augmented",
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Errors to show of each category.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the choice.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write them here too, as TSV with a line of names.")] = None,
) -> None:
    """Show wrong outputs for the test set, drawn from each category, and the training example nearest to each.

    Nearest: fewest tokens of the input to insert, delete or replace. What differs between the correct and the predicted
    output is between › and ‹.
    """
    from csl.experiments.mistakes import find_mistakes
    from csl.files import atomic_write_text, refuse_input_as_output
    from csl.runs.folder import RunFolder

    refuse_input_as_output(out, run / "predictions" / f"{system}.tsv")
    found, console = find_mistakes(RunFolder.open(run), system, number, seed), new_console()
    for name, mistakes in found.items():
        counts = f"{mistakes.wrong:,} wrong, {mistakes.abstained:,} without"
        console.print(f"{name}: {mistakes.examples:,} outputs, {counts}; {len(mistakes.some):,} shown", style="bold")
        for mistake in mistakes.some:
            console.print()
            for head, cell in _lines(mistake).items():
                console.print(Text.assemble((f"{head}: ", "bold"), cell))
        console.print()
    if out:
        rows = [(name, *_lines(mistake).values()) for name, mistakes in found.items() for mistake in mistakes.some]
        with atomic_write_text(out) as file:
            file.writelines("\t".join(row) + "\n" for row in (COLUMNS, *rows))


def _lines(mistake: "Mistake") -> dict[str, str]:
    """Give what is shown of a mistake, as the paper has it."""
    correct, predicted = _marked(list(mistake.example.target), mistake.output.split())
    return {
        "Train input": mistake.nearest.source_text,
        "Train output": mistake.nearest.target_text,
        "Tokens to change": str(mistake.distance),
        "Input": mistake.example.source_text,
        "Output": correct,
        "Predicted": predicted,
    }


def _marked(first: list[str], second: list[str]) -> tuple[str, str]:
    """Mark the tokens in which two outputs differ."""
    texts: tuple[list[str], list[str]] = [], []
    for what, i, j, k, m in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        for text, part in zip(texts, (first[i:j], second[k:m]), strict=True):
            text.extend(part if what == "equal" or not part else ["›", *part, "‹"])
    return " ".join(texts[0]), " ".join(texts[1])
