"""Readers of what csl writes: run folders, models, checkpoints, forests, the cache of stages, reports."""

import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from csl.examples import Example, write_examples
from csl.experiments.experiment import Experiment
from csl.experiments.paper_tables import TABLES as PAPER_TABLES
from csl.experiments.records import read_runs
from csl.experiments.sweep import table as sweep_table
from csl.files import hash_file
from csl.grammar.output_cfg import OutputCfg
from csl.report.page import render
from csl.report.report import make_report
from csl.runs.cache import Cache
from csl.runs.checkpoint import Checkpoint
from csl.runs.folder import Done, RunFolder
from csl.runs.recipe import Recipe, read_recipe
from csl.runs.stage import Run, Work
from csl.runs.stages.registry import DATA, FIT, INDUCE

from .reader import Files, Reader, content_of
from .text_readers import RECIPE

TRAIN = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "walk twice": "WALK WALK", "run twice": "RUN RUN",
    "walk and run": "WALK RUN", "run twice and walk": "RUN RUN WALK",
}  # fmt: skip
TEST = {"jump twice": "JUMP JUMP", "jump and hop": "JUMP HOP"}
EXAMPLES = [Example.of(x, y) for x, y in TRAIN.items()]
RUN_CFG = OutputCfg.parse(["ROOT => ##A", "ROOT => ##ROOT ##A", "A => WALK", "A => RUN", "A => JUMP"])


class _StopError(Exception):
    pass


@cache
def run_files() -> Files:
    """Give the files of a small run of `csl run`."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_examples(folder / "train.tsv", EXAMPLES)
        write_examples(folder / "test.tsv", [Example.of(x, y) for x, y in TEST.items()])
        (folder / "seed_rules.txt").write_text("jump ### JUMP\n")
        (folder / "base.toml").write_text("[induction]\nk_alpha = 1\n")
        (folder / "commands.toml").write_text(RECIPE)
        experiment = Experiment(folder / "runs", "evaluate")
        recipe = read_recipe(str(folder / "commands.toml")).changed({"fit.states": 2})
        return content_of(experiment.run(recipe, {"fit.states": 2}, 0))


def run_in(folder: Path) -> Run:
    """Open a run whose examples and output CFG are beside its folder."""
    write_examples(folder / "examples.tsv", EXAMPLES)
    RUN_CFG.write(folder / "examples.cfg")
    settings = {
        "data.train": str(folder / "examples.tsv"), "data.output_cfg": str(folder / "examples.cfg"), "fit.states": 2,
        "fit.optimizer": "em", "fit.steps": 60,
    }  # fmt: skip
    return Run(Work(RunFolder(folder), Recipe("test").changed(settings)))


def stopped_in(stages: int) -> Files:
    """Give a run folder in which a stage was stopped when it first saved its state."""
    log = Checkpoint.log

    def stop(checkpoint: Checkpoint, line: str) -> None:
        log(checkpoint, line)
        raise _StopError

    with TemporaryDirectory() as name:
        folder = Path(name)
        run_in(folder).do([DATA, INDUCE][:stages])
        Checkpoint.log = stop  # type: ignore[method-assign]
        try:
            with suppress(_StopError):
                run_in(folder).do([(INDUCE, FIT)[stages - 1]])
        finally:
            Checkpoint.log = log  # type: ignore[method-assign]
        return content_of(folder)


@cache
def stopped_induction() -> Files:
    """Give a run folder in which induction was stopped after its first step."""
    return stopped_in(1)


@cache
def stopped_fit() -> Files:
    """Give a run folder in which fitting was stopped."""
    return stopped_in(2)


@cache
def finished_fit() -> Files:
    """Give a run folder with a model."""
    with TemporaryDirectory() as name:
        run_in(Path(name)).do((DATA, INDUCE, FIT))
        return content_of(Path(name))


def check_same_grammar(folder: Path, induced: Any) -> None:
    """A run that goes on after damage ends as if nothing had happened, or says that it is another one."""
    assert (folder / "grammar.txt").read_bytes() == finished_fit()["grammar.txt"]


def resume_inducing(folder: Path) -> Any:
    """Induce, from whatever is in the folder."""
    return run_in(folder).do([INDUCE])


def resume_fitting(folder: Path) -> Any:
    """Fit, from whatever is in the folder."""
    run_in(folder).do([FIT])
    return load_model(folder)


def load_model(folder: Path) -> Any:
    """Read the model of a run folder."""
    return RunFolder.open(folder).model()


def check_same_model(folder: Path, model: Any) -> None:
    """A model that is read is the one that was written."""
    with TemporaryDirectory() as name:
        (Path(name) / "model.npz").write_bytes(finished_fit()["model.npz"])
        (Path(name) / "grammar.txt").write_bytes(finished_fit()["grammar.txt"])
        whole = load_model(Path(name))
    assert np.array_equal(model.theta_rule, whole.theta_rule)
    assert np.array_equal(model.theta_context, whole.theta_context)
    assert model.max_units == whole.max_units


def read_run_folder(folder: Path) -> Any:
    """Read what commands read of a run folder before they do anything."""
    run = RunFolder.open(folder)
    return run.record, run.grammar(), run.examples(), run.output_cfg(), run.licence()


def read_figures(folder: Path) -> Any:
    """Read the figures of a run, as `csl sweep` and `csl table` do."""
    runs = read_runs([folder])
    sweep_table({"": runs})
    return [make(runs) for make in PAPER_TABLES.values()]


def read_report(folder: Path) -> str:
    """Make the report of a run."""
    page = render(make_report(folder))
    page.encode()
    return page


def check_report(folder: Path, page: str) -> None:
    """Nothing of the data is an element."""
    assert len(re.findall("<script", page)) == 1
    assert "onerror=" not in re.sub("&[^;]*;", "", page)


KEY = "0123456789abcdef"


def find_in_cache(folder: Path) -> Any:
    """Find a stage, and say where its files are."""
    found = Cache(folder).find("fit", KEY)
    return [] if found is None else [folder / "fit-0123456789ab" / name for name in found.files]


def check_cached(folder: Path, paths: list[Path]) -> None:
    """Files of a stage are in its folder, and there."""
    for path in paths:
        assert path.is_file()
        assert path.resolve().is_relative_to((folder / "fit-0123456789ab").resolve())


def cache_files() -> Files:
    """Give the files of a cache with one stage."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work"
        write_examples(work / "data" / "x.tsv", EXAMPLES)
        (work / "model.npz").write_bytes(b"model")
        files = {name: hash_file(work / name) for name in ("model.npz", "data/x.tsv")}
        Cache(folder).keep("fit", Done(KEY, 0.1, None, {"states": 2}, files), work)
        return content_of(folder)


REPORTED = (
    "run.json", "metrics/induce.jsonl", "metrics/fit.jsonl", "samples.card.json", "samples.tsv",
    "predictions/csl.tsv", "data/card.json", "data/train.tsv", "data/test.tsv", "recipe.toml", "seed_rules.txt",
)  # fmt: skip
READERS = [
    Reader(
        "run folder, data card", run_files, ("run.json", "grammar.txt", "data/card.json", "data/train.tsv"),
        read_run_folder, weight=0.5, named=False,
    ),
    Reader("run.json, tables", run_files, ("run.json", "recipe.toml"), read_figures, weight=0.3),
    Reader("report of a run folder", run_files, REPORTED, read_report, check_report, weight=0.1),
    Reader("model", finished_fit, ("model.npz", "grammar.txt"), load_model, check_same_model, weight=0.3),
    Reader(
        "checkpoint of induction", stopped_induction,
        ("checkpoints/induce.npz", "run.json", "metrics/induce.jsonl"),
        resume_inducing, check_same_grammar, weight=0.1, writes=True,
    ),
    Reader(
        "checkpoint of a fit", stopped_fit, ("checkpoints/fit-fit-0.npz", "run.json", "metrics/fit.jsonl"),
        resume_fitting, check_same_model, weight=0.1, writes=True,
    ),
    Reader(
        "model, fit again", finished_fit, ("model.npz", "run.json", "metrics/fit.jsonl"),
        resume_fitting, check_same_model, weight=0.1, writes=True,
    ),
    Reader(
        "cache of stages", cache_files, ("fit-0123456789ab/done.json", "fit-0123456789ab/model.npz"),
        find_in_cache, check_cached,
    ),
]  # fmt: skip
