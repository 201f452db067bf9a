"""`csl types`: what is found in the outputs of a training set, as an output CFG."""

from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import KeepCase, OutputLanguage, Reading, TrainFile, shares_options
from csl.errors import InputError


@shares_options
def types(
    train: TrainFile,
    *,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it here; default: print it.")] = None,
    output_language: OutputLanguage = None,
    keep_case: KeepCase = False,
    reading: Reading,
) -> None:
    """Find the categories and values in the outputs of TRAIN, and write them as an output CFG.

    Comments count the uses of each production and name values of each type. Edit the file, and give it to `csl augment`
    or `csl induce` with --output-cfg.
    """
    from csl.files import refuse_input_as_output, write_text
    from csl.preparing.listing import listing
    from csl.runs.stages.prepare import find_preparation

    refuse_input_as_output(out, train)
    with Messages("reading …", stderr=True):
        found = find_preparation(reading.rows(train).examples(), output_language or "", keep_case=keep_case)
    if found is None:
        raise InputError("the outputs are tokens between spaces: no categories; see --output-language", train)
    if not out:
        typer.echo(listing(found), nl=False)
        return
    write_text(out, listing(found))
    cfg, values = found.categories.cfg, found.preparation.values.entries
    kinds = len({entry.type for entry in values})
    new_console().print(
        f"wrote {out}: {len(cfg.categories):,} categories, {len(values):,} values of {kinds:,} types; "
        "give it back with --output-cfg"
    )
