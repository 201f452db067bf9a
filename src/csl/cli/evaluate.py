"""`csl evaluate`: how good outputs are, of a parser, of a trained seq2seq model, or in a file of predictions."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from csl.cli.console import Messages, new_console
from csl.cli.options import Budget, Device, Fields, InferenceOption, Workers, model_of, shares_options

if TYPE_CHECKING:
    from csl.examples.score import Score


@shares_options
def evaluate(
    what: Annotated[
        Path, typer.Argument(help="A run folder with grammar and model, one of csl train, or a file of predictions.")
    ],
    test: Annotated[
        Path, typer.Argument(help="Examples: TSV or JSON lines, plain or .gz. TSV: column 3 is a category.")
    ],
    errors: Annotated[
        Path | None, typer.Option(help="Write wrong outputs here: input, correct output, output.")
    ] = None,
    device: Device = "auto",
    inference: InferenceOption = None,
    *,
    budget: Budget,
    workers: Workers,
    fields: Fields,
) -> None:
    """Compare outputs for the inputs of TEST with its outputs; white space around punctuation does not count.

    Accuracy counts all examples, precision those that get an output. Log probabilities, of a parser, are means over the
    pairs that the grammar derives.
    """
    from csl.examples import Example, read_examples, write_examples
    from csl.examples.score import same_output, score
    from csl.files import refuse_input_as_output

    refuse_input_as_output(errors, what, test)
    workers.check()
    console = new_console()
    trained = any((what / name).exists() for name in ("model", "codec.json"))
    if what.is_dir() and not trained:
        from csl.model.config import INFERENCE
        from csl.model.evaluate import evaluate as measure
        from csl.parsing.limits import Limits

        limits = Limits.of(budget.max_memory, budget.timeout)
        model = model_of(what, inference)
        examples = list(read_examples(test, columns=("category",), **fields.names))
        with Messages("parsing …", stderr=True), workers.open() as opened:
            found = measure(model, examples, opened, limits)
        outputs = found.outputs
        console.print(score_table(found.groups, found.score))
        console.print(
            f"{found.derivable:,} of {len(examples):,} pairs derivable: "
            f"mean log p(x, y) {found.log_p_xy:.3f}, mean log p(y | x) {found.log_p_y_given_x:.3f}"
        )
        if model.output_cfg:
            console.print(f"coverage is by inference {model.inference}: {INFERENCE[model.inference]}")
        if found.given_up:
            console.print(found.given_up)
    else:
        examples = list(read_examples(test, columns=("category",), **fields.names))
        outputs = _predicted(what, [example.source_text for example in examples], test, device, workers.threads)
        total, groups = score(examples, outputs)
        console.print(score_table(groups, total))
    if errors:
        pairs = zip(examples, outputs, strict=True)
        wrong = [
            Example(e.source, e.target, {"predicted": o}) for e, o in pairs if o and not same_output(o, e.target_text)
        ]
        write_examples(errors, wrong, columns=("predicted",))
        console.print(f"{errors}: {len(wrong):,} wrong outputs")


def _predicted(what: Path, inputs: list[str], test: Path, device: str, threads: int) -> list[str]:
    """Give the outputs of a trained model, or those in a file."""
    if what.is_dir():
        from csl.hub import need_torch

        need_torch()
        from csl.seq2seq.predictor import Seq2Seq, use_threads

        use_threads(threads)
        return [found[0].text for found in Seq2Seq.load(what, device).predict(inputs)]
    from csl.seq2seq.predictions import Predictions

    predictions = Predictions.read(what)
    predictions.check(inputs, test)
    return predictions.outputs


def score_table(groups: "Mapping[str, Score]", total: "Score") -> Table:
    """Lay out the scores of groups of examples and of all."""
    table = Table("", "examples", "accuracy", "coverage", "precision", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, score in [*groups.items(), ("all", total)]:
        shares = (f"{share:.1%}" for share in (score.accuracy, score.coverage, score.precision))
        table.add_row(name, f"{score.examples:,}", *shares, style="bold" if name == "all" else None)
    return table
