"""`csl ensemble`: CSL where it gives an output, else the seq2seq model; and how each does."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from csl.cli.console import new_console
from csl.cli.options import Reading, shares_options

if TYPE_CHECKING:
    from csl.examples.score import Breakdown


@shares_options
def ensemble(
    csl: Annotated[Path, typer.Argument(help="Predictions of CSL, as csl parse writes them.")],
    seq2seq: Annotated[Path, typer.Argument(help="Predictions of a seq2seq model, as csl predict writes them.")],
    augmented: Annotated[
        Path | None, typer.Option(help="Predictions of a model trained with synthetic pairs, for the table.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="The correct outputs: print the breakdown. TSV: column 3 is a category.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the ensemble's predictions here.")] = None,
    *,
    reading: Reading,
) -> None:
    """Take CSL's output where there is one, else that of the seq2seq model.

    With --test, print the accuracy of each on inputs that CSL covers, on the others, and on all.
    """
    from csl.errors import InputError
    from csl.examples.score import breakdown
    from csl.files import atomic_write_text, refuse_input_as_output
    from csl.seq2seq.predictions import Predictions
    from csl.seq2seq.predictions import ensemble as combine

    if not (out or test):
        raise InputError("nothing to do: give --out for predictions, --test for the table, or both")
    refuse_input_as_output(out, csl, seq2seq, augmented, test)
    console = new_console()
    ours, theirs = Predictions.read(csl), Predictions.read(seq2seq)
    theirs.check(ours.inputs, csl)
    systems = {"T5": theirs.outputs, "CSL": ours.outputs, "Ens.": combine(ours.outputs, theirs.outputs)}
    if augmented:
        better = Predictions.read(augmented)
        better.check(ours.inputs, csl)
        systems["Aug."] = better.outputs
    if test:
        examples = reading.examples(test)
        ours.check([example.source_text for example in examples], test)
        total, by_category = breakdown(examples, ours.outputs, systems)
        console.print(_table([*by_category.items(), ("all", total)]))
    if out:
        with atomic_write_text(out) as file:
            file.writelines(f"{x}\t{y}\n" for x, y in zip(ours.inputs, systems["Ens."], strict=True))
        console.print(f"{out}: {sum(map(bool, ours.outputs)):,} outputs of CSL, the others of the seq2seq model")


def _table(rows: "list[tuple[str, Breakdown]]") -> Table:
    """Lay rows out as the paper does: covered by CSL, not covered, all."""
    table = Table("", "examples", "covered", box=None)
    columns = [
        (part, system)
        for part in ("covered", "others", "all")
        for system in rows[0][1].all
        if system != "examples" and (part == "all" or system != "Ens.")
    ]
    for part, system in columns:
        table.add_column(f"{system} {part}", justify="right")
    for name, row in rows:
        counts = {part: getattr(row, part) for part in ("covered", "others", "all")}
        examples = row.all["examples"]
        cells = [_share(counts[part][system], counts[part]["examples"]) for part, system in columns]
        covered = _share(row.covered["examples"], examples)
        table.add_row(name, f"{examples:,}", covered, *cells, style="bold" if name == "all" else None)
    return table


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"
