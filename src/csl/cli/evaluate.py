"""`csl evaluate`: how good the model of a run folder is as a parser."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from csl.cli.console import new_console


def evaluate(
    run: Annotated[Path, typer.Argument(help="The run folder with grammar and model.")],
    test: Annotated[
        Path, typer.Argument(help="Examples: TSV or JSON lines, plain or .gz. TSV: column 3 is a category.")
    ],
    errors: Annotated[Path | None, typer.Option(help="Write wrong outputs here: input, right output, output.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result is the same for any number.")] = 1,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Parse the inputs of TEST and compare with its outputs.

    Accuracy counts all examples, precision those that get an output. Log probabilities are means over the pairs that
    the grammar derives.
    """
    from csl.data import Example, read_examples, write_examples
    from csl.experiment.fitting import load_model
    from csl.model.evaluate import evaluate as measure

    console = new_console()
    model = load_model(run)
    fields = {"columns": ("category",), "source_field": input_field, "target_field": output_field}
    examples = list(read_examples(test, **fields))  # type: ignore[arg-type]
    found = measure(model, examples, threads)
    table = Table("", "examples", "accuracy", "coverage", "precision", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, score in [*found.groups.items(), ("all", found.score)]:
        shares = (f"{share:.1%}" for share in (score.accuracy, score.coverage, score.precision))
        table.add_row(name, f"{score.examples:,}", *shares, style="bold" if name == "all" else None)
    console.print(table)
    console.print(
        f"{found.derivable:,} of {len(examples):,} pairs derivable: "
        f"mean log p(x, y) {found.log_p_xy:.3f}, mean log p(y | x) {found.log_p_y_given_x:.3f}"
    )
    if errors:
        pairs = zip(examples, found.parses, strict=True)
        wrong = [Example(e.source, e.target, {"predicted": p.text}) for e, p in pairs if p and p.target != e.target]
        write_examples(errors, wrong, columns=("predicted",))
        console.print(f"{errors}: {len(wrong):,} wrong outputs")
