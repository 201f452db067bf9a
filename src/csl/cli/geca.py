"""`csl geca`: new pairs by GECA (Andreas 2020), to compare with those of a grammar."""

import time
from pathlib import Path
from typing import Annotated

import typer

from csl.cli.console import LiveLine, new_console


def geca(
    train: Annotated[Path, typer.Argument(help="Examples: .tsv (input<TAB>output) or .jsonl, or either with .gz.")],
    out: Annotated[Path, typer.Option(help="The .tsv or .jsonl file to write, or either with .gz.")],
    number: Annotated[int, typer.Option("-n", min=1, help="How many pairs, at most.")] = 100_000,
    window: Annotated[int, typer.Option(help="Tokens of a span of a fragment, at most.")] = 4,
    unique: Annotated[bool, typer.Option("--unique", help="Each pair once.")] = False,
    seed: Annotated[int, typer.Option(help="Of the order of swaps.")] = 0,
    merge: Annotated[Path | None, typer.Option(help="Another file, for old and new pairs in equal parts.")] = None,
    weights: Annotated[bool, typer.Option("--weights", help="There, write each pair once, with a weight.")] = False,
    provenance: Annotated[bool, typer.Option("--provenance", help="Add parent example and fragments.")] = False,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Make new pairs from TRAIN by swapping fragments that occur in the same template (GECA, Andreas 2020).

    All pairs are new. The same seed gives the same bytes.
    """
    from csl.baselines.geca import Geca, GecaConfig
    from csl.errors import InputError
    from csl.examples import read_examples
    from csl.files import spare
    from csl.options import changed
    from csl.runs.geca import licence_beside, write_merged, write_swaps

    console, start = new_console(), time.perf_counter()
    options = changed(GecaConfig(), {"window": window, "unique": unique, "seed": seed})
    if weights and not merge:
        raise InputError("--weights is of the merged file; name one with --merge")
    if merge and merge.resolve() == out.resolve():
        raise InputError("--out and --merge are one file; --merge names another, for old and new pairs", merge)
    for path in (out, merge):
        spare(path, train)
    examples = list(read_examples(train, source_field=input_field, target_field=output_field))
    console.print(f"{train}: {len(examples):,} examples, {len(set(examples)):,} distinct")
    with LiveLine(console, "starting (the first run compiles for a while) …", "stopped; nothing was written") as live:
        found = Geca(examples, options, progress=live.update)
        written = write_swaps(
            out, found, number, provenance=provenance, about={"train": str(train), "licence": licence_beside(train)},
            progress=lambda n: live.update(f"{n:,} of {number:,} pairs"),
        )  # fmt: skip
    console.print(f"{found.fragments:,} fragments can be swapped for others: {found.swaps:,} swaps")
    console.print(
        f"{written:,} pairs (window {window}{' unique' * unique}, seed {seed}); {time.perf_counter() - start:.1f} s"
    )
    if found.exhausted:
        console.print(f"fewer than {number:,}: there are no more, or almost none")
    console.print(f"wrote {out}")
    if merge:
        original, copied = write_merged(merge, examples, out, weights).copies
        console.print(
            f"wrote {merge}: {len(examples):,} original pairs × {original:,} and {written:,} new × {copied:,}"
        )
