"""`csl evaluate`: how good outputs are, of a parser, of a trained seq2seq model, or in a file of predictions."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer
from rich.table import Table

from csl.cli.console import Messages, new_console
from csl.cli.options import (
    AbstainBelow,
    Abstaining,
    Budget,
    CpuThreads,
    Device,
    InferenceOption,
    Mask,
    Reading,
    parser_of,
    shares_options,
)
from csl.errors import InputError, nearest

if TYPE_CHECKING:
    from csl.examples.score import Score


@shares_options
def evaluate(
    what: Annotated[
        Path, typer.Argument(help="A run folder with grammar and model, one of csl train, or a file of predictions.")
    ],
    test: Annotated[
        Path, typer.Argument(help="Examples, of any format; a column `category`, 3 of a TSV, makes groups.")
    ],
    errors: Annotated[
        Path | None, typer.Option(help="Write wrong outputs here: input, correct output, output.")
    ] = None,
    match: Annotated[
        str, typer.Option(help="language: as the output language compares, JSON as objects, others by tokens; or text.")
    ] = "language",
    device: Device = "auto",
    mask: Mask = True,
    inference: InferenceOption = None,
    abstain_below: AbstainBelow = None,
    *,
    budget: Budget,
    threads: CpuThreads = 1,
    reading: Reading,
) -> None:
    """Compare outputs for the inputs of TEST with its outputs, as their language does; white space does not count.

    Accuracy counts all examples, precision those that get an output. A parser of raw text abstains where it is not
    sure; figures without that are given too. Log probabilities, of a parser, are means over the pairs that the grammar
    derives.
    """
    from csl.examples import Example, write_examples
    from csl.examples.score import Match, correct, score
    from csl.files import refuse_input_as_output

    refuse_input_as_output(errors, what, test)
    if match not in get_args(Match):
        raise InputError(f"--match {match}: no such comparison; {nearest(match, get_args(Match))}")
    how = cast("Match", match)
    console = new_console()
    trained = any((what / name).exists() for name in ("model", "codec.json"))
    if what.is_dir() and not trained:
        from csl.engine import Threads
        from csl.model.config import INFERENCE
        from csl.parsing.limits import Limits
        from csl.preparing.evaluate import evaluate as measure

        limits = Limits.of(budget.max_memory, budget.timeout)
        parser = parser_of(what, inference)
        abstaining = Abstaining.of(what, parser, abstain_below)
        examples = reading.examples(test)
        with Messages("parsing …", stderr=True):
            found = measure(parser, examples, Threads(threads), limits, how, abstaining.sure, abstaining.least)
        outputs = found.outputs
        console.print(score_table(found.groups, found.score))
        if remark := abstaining.remark(found.unsure, len(examples)):
            without = found.always
            shares = f"accuracy {without.accuracy:.1%}, coverage {without.coverage:.1%}"
            console.print(f"{remark}; without abstaining {shares}, precision {without.precision:.1%}")
        console.print(
            f"{found.derivable:,} of {len(examples):,} pairs derivable: "
            f"mean log p(x, y) {found.log_p_xy:.3f}, mean log p(y | x) {found.log_p_y_given_x:.3f}"
        )
        model = parser.model
        if model.output_cfg:
            console.print(f"coverage is by inference {model.inference}: {INFERENCE[model.inference]}")
        if found.given_up:
            console.print(found.given_up)
    else:
        examples = reading.examples(test)
        inputs = [example.source_text for example in examples]
        outputs = _model_outputs(what, inputs, device, threads, mask) if what.is_dir() else _read(what, inputs, test)
        total, groups = score(examples, outputs, how)
        console.print(score_table(groups, total))
    if errors:
        judged = zip(examples, outputs, correct(examples, outputs, how), strict=True)
        wrong = [Example(e.source, e.target, {"predicted": o}) for e, o, right in judged if o and not right]
        write_examples(errors, wrong, columns=("predicted",))
        console.print(f"{errors}: {len(wrong):,} wrong outputs")


def _model_outputs(folder: Path, inputs: list[str], device: str, threads: int, mask: bool) -> list[str]:
    """Give the outputs of a trained model, as `csl predict` does."""
    from csl.hub import need_torch
    from csl.runs.folder import output_cfg_of, preparation_of

    need_torch()
    from csl.preparing.said import Said
    from csl.seq2seq.mask import OutputMask
    from csl.seq2seq.predictor import Seq2Seq, use_threads

    use_threads(threads)
    model, cfg = Seq2Seq.load(folder, device), output_cfg_of(folder) if mask else None
    found = model.predict(inputs, mask=OutputMask.read(cfg, model.codec) if cfg else None)
    best = [outputs[0].text for outputs in found]
    if mask and (preparation := preparation_of(folder)):
        return list(map(Said(preparation).mend, inputs, best))
    return best


def _read(file: Path, inputs: list[str], test: Path) -> list[str]:
    """Give the outputs in a file of predictions, which must be of the same inputs."""
    from csl.seq2seq.predictions import Predictions

    predictions = Predictions.read(file)
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
