"""Merging: original and synthetic pairs as one training set, in the format of the file that was read."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from csl.examples import Example, write_examples
from csl.examples.formats import Row, layout_for, write_rows
from csl.examples.formats.keeping import load_rows
from csl.examples.formats.row import Layout, Rows
from csl.log import Log
from csl.preparing.preparation import Preparation
from csl.runs.folder import Figures
from csl.runs.mixture import Mixture
from csl.runs.stage import Stage, Work

log = Log("merge")
ENDINGS = {"tsv": "tsv", "csv": "csv", "jsonl": "jsonl", "parquet": "parquet", "dataset": "parquet"}


class Merge(Stage):
    """Write original and synthetic pairs in equal parts."""

    name = "merge"
    reads = ("data/train.tsv", "samples.tsv")
    may_read = ("data/rows.jsonl", "data/rows.parquet", "prepared/")
    artefacts = {
        f"augmented.{ending}": "the augmented training set: original and synthetic pairs in equal parts"
        for ending in dict.fromkeys(ENDINGS.values())
    }

    def options(self, work: Work) -> Any:
        return work.recipe.merge.model_dump()

    def run(self, work: Work) -> Figures:
        options, folder = work.recipe.merge, work.folder
        log.progress("merging original and synthetic pairs …")
        mixture = Mixture(folder.examples(), folder.samples())
        kept = folder.file("data/rows.jsonl")
        if not kept and not options.format:
            return merge(folder.path / "augmented.tsv", mixture, weights=options.weights)
        rows = load_rows(kept) if kept else _plain(mixture.original)
        return merge_rows(folder.path, mixture, rows, options.format, folder.preparation(), weights=options.weights)

    def summary(self, figures: Figures) -> str:
        original, synthetic = figures["copies"]
        return (
            f"{figures['original']:,} original pairs × {original:,} and {figures['synthetic']:,} synthetic pairs × "
            f"{synthetic:,}"
        )


def merge(path: Path, mixture: Mixture, *, weights: bool = False) -> Figures:
    """Write a mixture; with weights each pair once."""
    columns: Sequence[str] = ("weight", "origin") if weights else ()
    pairs: Mixture | Sequence[Example] = list(mixture.weighted()) if weights else mixture
    lines = write_examples(path, pairs, columns=columns)
    return _figures(path, mixture, lines, ["input", "output", *columns])


def merge_rows(
    folder: Path, mixture: Mixture, rows: Rows, format: str, preparation: Preparation | None, *, weights: bool
) -> Figures:
    """Write a mixture in the layout of a file, or in another format; original rows as they were."""
    columns: Sequence[str] = ("weight", "origin") if weights else ()
    layout = layout_for("augmented", format or rows.format, rows.layout)
    path = folder / f"augmented.{ENDINGS[layout.container]}"
    synthetic = list(as_rows(mixture.synthetic, preparation))
    made = _repeated(rows.rows, synthetic, mixture.copies, weights=weights)
    lines = write_rows(path, made, rows.layout, format=layout.format, columns=columns)
    return _figures(path, mixture, lines, [layout.input_column, layout.output_column, *columns])


def _figures(path: Path, mixture: Mixture, lines: int, columns: Sequence[str]) -> Figures:
    return {
        "original": len(mixture.original), "synthetic": len(mixture.synthetic), "copies": list(mixture.copies),
        "lines": lines, "columns": list(columns), "file": path.name,
    }  # fmt: skip


def _plain(pairs: Sequence[Example]) -> Rows:
    return Rows(Layout("tsv"), [Row(pair.source_text, pair.target_text) for pair in pairs], [])


def as_rows(pairs: Iterable[Example], preparation: Preparation | None) -> Iterator[Row]:
    """Give pairs as rows; outputs of raw text, which were kept as tokens, with the white space of training."""
    for pair in pairs:
        output = pair.target_text
        if preparation and not preparation.spacing.is_plain:
            output = preparation.spacing.write(preparation.read(output).tokens)
        yield Row(pair.source_text, output, pair.meta)


def _repeated(
    original: Sequence[Row], synthetic: Sequence[Row], copies: tuple[int, int], *, weights: bool
) -> Iterator[Row]:
    """Give the rows of both as often as they count, or once each with that as a weight."""
    for rows, number, origin in zip((original, synthetic), copies, ("original", "synthetic"), strict=True):
        for _ in range(1 if weights else number):
            for row in rows:
                yield Row(row.input, row.output, {"weight": str(number), "origin": origin}, row.record)
