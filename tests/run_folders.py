"""Run folders for tests, made by the stages themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from csl.examples import Example, write_examples
from csl.runs.folder import RunFolder
from csl.runs.recipe import Recipe
from csl.runs.stage import Run, Stage, Work
from csl.runs.stages.registry import DATA, FIT, INDUCE, SAMPLE

QUICK = {"fit.states": 2, "fit.optimizer": "em", "sampling.number": 50, "sampling.max_depth": 4}


def run_of(folder: Path, preset: str = "scan", settings: Mapping[str, object] | None = None, title: str = "") -> Run:
    """Open a run on the files train.tsv and, if it is there, test.tsv beside its folder."""
    files = {f"data.{part}": str(folder.parent / f"{part}.tsv") for part in ("train", "test")}
    known = {key: path for key, path in files.items() if Path(path).exists()}
    recipe = replace(Recipe("test").with_preset(preset), title=title).changed(QUICK | known | dict(settings or {}))
    return Run(Work(RunFolder(folder), recipe))


def make_run(
    folder: Path,
    train: Sequence[Example],
    test: Sequence[Example] = (),
    stages: Sequence[Stage] = (DATA, INDUCE, FIT, SAMPLE),
    **options: str,
) -> Path:
    """Make a run folder; the examples are beside it."""
    write_examples(folder.parent / "train.tsv", train)
    if test:
        write_examples(folder.parent / "test.tsv", test, columns=("category",))
    run_of(folder, **options).do(stages)  # type: ignore[arg-type]
    return folder
