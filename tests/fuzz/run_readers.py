"""Readers of what csl writes: run folders, models, checkpoints, forests, the cache of stages, reports."""

import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from csl.runs.fitting import fit_into, load_model, read_run, training_file
from csl.runs.pipeline import Pipeline, wanted_stages
from csl.runs.run import induce_into
from csl.runs.runs import read_record
from csl.runs.sampling import source_licence

from csl.examples import Example, write_examples
from csl.experiments.paper_tables import TABLES as PAPER_TABLES
from csl.experiments.records import read_runs
from csl.experiments.sweep import table as sweep_table
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.model.config import FitConfig
from csl.report.page import render
from csl.report.report import make_report
from csl.runs.cache import Cache
from csl.runs.recipe import read_recipe

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


def _stop(*_: object) -> None:
    raise _StopError


@cache
def run_files() -> Files:
    """Give the files of a small run of `csl run`, with its cache beside it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_examples(folder / "train.tsv", EXAMPLES)
        write_examples(folder / "test.tsv", [Example.of(x, y) for x, y in TEST.items()])
        (folder / "seeds.txt").write_text("jump ### JUMP\n")
        (folder / "base.toml").write_text("[induction]\nk_alpha = 1\n")
        (folder / "commands.toml").write_text(RECIPE)
        pipeline = Pipeline(folder / "runs", wanted_stages("evaluate"))
        run = pipeline.run(read_recipe(str(folder / "commands.toml")), {"fit.states": 2}, 0)
        (run / "config.json").write_text(json.dumps(json.loads((run / "config.json").read_text())))
        return content_of(run)


@cache
def stopped_induction() -> Files:
    """Give a run folder in which induction was stopped after its first step."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with suppress(_StopError):
            induce_into(folder, EXAMPLES, InductionConfig(), output_cfg=RUN_CFG, progress=_stop)
        return content_of(folder)


FIT = FitConfig(states=2, optimizer="em", steps=60)


@cache
def stopped_fit() -> Files:
    """Give a run folder in which fitting was stopped."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        induce_into(folder, EXAMPLES, InductionConfig(), output_cfg=RUN_CFG)
        with suppress(_StopError):
            fit_into(folder, EXAMPLES, FIT, progress=_stop)
        return content_of(folder)


@cache
def finished_fit() -> Files:
    """Give a run folder with a model."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in stopped_fit().items():
            (folder / file).write_bytes(content)
        fit_into(folder, EXAMPLES, FIT)
        return content_of(folder)


def check_same_grammar(folder: Path, induced: Any) -> None:
    """A run that goes on after damage ends as if nothing had happened, or says that it is another one."""
    assert (folder / "grammar.txt").read_bytes() == finished_fit()["grammar.txt"]


def go_on_inducing(folder: Path) -> Any:
    """Induce, from whatever is in the folder."""
    return induce_into(folder, EXAMPLES, InductionConfig(), output_cfg=RUN_CFG)


def go_on_fitting(folder: Path) -> Any:
    """Fit, from whatever is in the folder."""
    fit_into(folder, EXAMPLES, FIT)
    return load_model(folder)


def check_same_model(folder: Path, model: Any) -> None:
    """A model that is read is the one that was written."""
    with TemporaryDirectory() as name:
        for file, content in finished_fit().items():
            (Path(name) / file).write_bytes(content)
        whole = load_model(Path(name))
    assert np.array_equal(model.theta_rule, whole.theta_rule)
    assert np.array_equal(model.theta_context, whole.theta_context)
    assert model.max_units == whole.max_units


def read_run_folder(folder: Path) -> Any:
    """Read what commands read of a run folder before they do anything."""
    return read_run(folder), training_file(folder), source_licence(folder)


def read_figures(folder: Path) -> Any:
    """Read the figures of a run, as `csl runs`, `csl sweep` and `csl table` do."""
    record = read_record(folder)
    shares = [record.share(system, what) for system in ("csl", "t5") for what in ("answered", "right")]
    [f"{share:.1%}" for share in shares if share is not None]
    f"{record.rules or 0:,}", " ".join(record.stages), str(record.about.get("title", ""))
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


def find_in_cache(folder: Path) -> Any:
    """Find a stage, and say where its files are."""
    found, why = Cache(folder).find("fit", "0123456789abcdef")
    assert found or why
    return [] if found is None else [found.folder / name for name in found.files]


def check_cached(folder: Path, paths: list[Path]) -> None:
    """Files of a stage are in its folder, and there."""
    for path in paths:
        assert path.is_file()
        assert path.resolve().is_relative_to((folder / "fit-0123456789ab").resolve())


def cache_files() -> Files:
    """Give the files of a cache with one stage."""
    with TemporaryDirectory() as name:
        folder = Path(name)

        def work(place: Path) -> dict[str, Any]:
            (place / "model.npz").write_bytes(b"model")
            (place / "data").mkdir()
            (place / "data" / "x.tsv").write_text("a\tb\n")
            return {"states": 2}

        Cache(folder).do("fit", "0123456789abcdef", work)
        (folder / "outside.txt").write_text("x")
        return content_of(folder)


REPORTED = (
    "config.json", "run.json", "metrics.jsonl", "samples.card.json", "samples.tsv", "predictions/csl.tsv",
    "data/card.json", "data/train.tsv", "data/test.tsv", "recipe.toml", "seeds.txt",
)  # fmt: skip
READERS = [
    Reader(
        "run folder, data card", run_files, ("config.json", "grammar.txt", "data/card.json"), read_run_folder,
        weight=0.5, named=False,
    ),
    Reader("run.json, tables", run_files, ("run.json", "recipe.toml"), read_figures, weight=0.3),
    Reader("report of a run folder", run_files, REPORTED, read_report, check_report, weight=0.1),
    Reader("model", finished_fit, ("model.npz", "grammar.txt"), load_model, check_same_model, weight=0.3),
    Reader(
        "checkpoint of induction", stopped_induction, ("checkpoint.npz", "config.json", "metrics.jsonl"),
        go_on_inducing, check_same_grammar, weight=0.1, writes=True,
    ),
    Reader(
        "checkpoint of a fit, forests", stopped_fit, ("fit-checkpoint.npz", "forests.npz", "metrics.jsonl"),
        go_on_fitting, check_same_model, weight=0.1, writes=True,
    ),
    Reader(
        "model and forests, fit again", finished_fit, ("model.npz", "forests.npz", "metrics.jsonl"),
        go_on_fitting, check_same_model, weight=0.1, writes=True,
    ),
    Reader(
        "cache of stages", cache_files, ("fit-0123456789ab/done.json", "fit-0123456789ab/model.npz"),
        find_in_cache, check_cached,
    ),
]  # fmt: skip
