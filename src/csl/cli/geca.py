"""`csl geca`: new pairs by GECA (Andreas 2020), to compare with those of a grammar."""

import time
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.options import Reading, TrainFile, shares_options


@shares_options
def geca(
    train: TrainFile,
    out: Annotated[
        Path, typer.Option(help="The .tsv or .jsonl file to write, or either with .gz; -: standard output.")
    ],
    number: Annotated[int, typer.Option("-n", min=1, max=10**12, help="How many pairs, at most.")] = 100_000,
    window: Annotated[int, typer.Option(help="Tokens of a span that is swapped, at most.")] = 4,
    unique: Annotated[bool, typer.Option("--unique", help="Each pair once.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the order of swaps.")] = 0,
    merge: Annotated[Path | None, typer.Option(help="Another file, for old and new pairs together.")] = None,
    weights: Annotated[bool, typer.Option("--weights", help="In --merge, each pair once, with a weight.")] = False,
    provenance: Annotated[bool, typer.Option("--provenance", help="Add parent example and fragments.")] = False,
    *,
    reading: Reading,
) -> None:
    """Make new pairs from TRAIN by swapping fragments that occur in the same template (GECA, Andreas 2020).

    All pairs are new. The same seed gives the same bytes.
    """
    from csl.baselines.config import GecaConfig
    from csl.baselines.geca import Geca
    from csl.errors import InputError
    from csl.files import is_stream, refuse_input_as_output
    from csl.options import changed
    from csl.runs.mixture import Mixture
    from csl.runs.stages.merge import merge as write_merged
    from csl.runs.stages.sample import log, swaps, write_pairs

    console, start = new_console(stderr=True), time.perf_counter()
    options = changed(GecaConfig(), {"window": window, "unique": unique, "seed": seed})
    if weights and not merge:
        raise InputError("--weights requires --merge")
    if merge and merge.resolve() == out.resolve():
        raise InputError("--out and --merge are the same file; choose another for --merge", merge)
    for path in (out, merge):
        refuse_input_as_output(path, train)
    examples = reading.examples(train)
    console.print(f"{train}: {len(examples):,} examples, {len(set(examples)):,} distinct")
    with Messages("starting (the first run compiles for a while) …", "nothing was written", stderr=True):
        found = Geca(examples, options, progress=log.progress)
        written = write_pairs(out, swaps(found, provenance), number, about={"train": str(train)})
        if merge:
            figures = write_merged(merge, Mixture(examples, [s.example for s in found.stream(number)]), weights=weights)
    console.print(f"{found.fragments:,} fragments can be swapped for others: {found.swaps:,} swaps")
    console.print(
        f"{written:,} pairs (window {window}{' unique' * unique}, seed {seed}); {time.perf_counter() - start:.1f} s"
    )
    if found.exhausted:
        console.print(f"fewer than {number:,}: there are no more, or almost none")
    if not is_stream(out):
        console.print(f"wrote {out}")
    if merge:
        old, new = figures["copies"]
        console.print(f"wrote {merge}: {len(examples):,} original pairs × {old:,} and {written:,} new × {new:,}")
