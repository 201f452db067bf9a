"""Merging: original and synthetic pairs as one training set."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from csl.examples import Example, write_examples
from csl.runs.folder import Figures
from csl.runs.mixture import Mixture
from csl.runs.stage import Stage, Work


class Merge(Stage):
    """Write original and synthetic pairs in equal parts."""

    name = "merge"
    reads = ("data/train.tsv", "samples.tsv")
    artefacts = {"augmented.tsv": "the augmented training set: original and synthetic pairs in equal parts"}

    def options(self, work: Work) -> Any:
        return work.recipe.merge.model_dump()

    def run(self, work: Work) -> Figures:
        mixture = Mixture(work.folder.examples(), work.folder.samples())
        return merge(work.folder.path / "augmented.tsv", mixture, weights=work.recipe.merge.weights)

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
    return {
        "original": len(mixture.original), "synthetic": len(mixture.synthetic), "copies": list(mixture.copies),
        "lines": lines, "columns": ["input", "output", *columns],
    }  # fmt: skip
