"""`csl ensemble`: one system where it gives an output, as CSL, else another, as T5; and how each does."""

from collections.abc import Sequence
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

    With --test, print the accuracy of each on inputs that CSL covers, on the others, and on all. Systems have the names
    of their files.
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
    names = _names([path for path in (csl, seq2seq, augmented) if path])
    both = f"{names[csl]} or {names[seq2seq]}"
    systems = {
        names[seq2seq]: theirs.outputs, names[csl]: ours.outputs, both: combine(ours.outputs, theirs.outputs)
    }  # fmt: skip
    if augmented:
        better = Predictions.read(augmented)
        better.check(ours.inputs, csl)
        systems[names[augmented]] = better.outputs
    if test:
        examples = reading.examples(test)
        ours.check([example.source_text for example in examples], test)
        total, by_category = breakdown(examples, ours.outputs, systems)
        console.print(_table([*by_category.items(), ("all", total)], both))
    if out:
        with atomic_write_text(out) as file:
            file.writelines(f"{x}\t{y}\n" for x, y in zip(ours.inputs, systems[both], strict=True))
        console.print(
            f"{out}: {sum(map(bool, ours.outputs)):,} outputs of {names[csl]}, the others of {names[seq2seq]}"
        )


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """Name systems by their files, without folders and endings where that tells them apart."""
    short = {path: Path(path.name.removesuffix(".gz")).stem for path in paths}
    return short if len({*short.values()}) == len(paths) else {path: str(path) for path in paths}


def _table(rows: "list[tuple[str, Breakdown]]", ensemble: str) -> Table:
    """Lay rows out as the paper does: covered by CSL, not covered, all; the ensemble only there."""
    table = Table("", "examples", "covered", box=None)
    columns = [
        (part, system)
        for part in ("covered", "others", "all")
        for system in rows[0][1].all
        if system != "examples" and (part == "all" or system != ensemble)
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
